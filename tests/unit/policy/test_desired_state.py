"""What calls ask of tools that are called after things: who says what a thing shall be, acts; who asks, does not."""

from typing import Any

import pytest

from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Risk, Trust
from interlock.policy.rules import Policy

LEAD = Caller(agent_name="a", trust=Trust.LEAD)


def risk(tool: str, args: dict[str, Any], description: str = "") -> Risk:
    return decide(Call(tool=tool, args=args, description=description), LEAD, Policy.builtin()).risk


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("hall_lamp", {"state": "off"}),
        ("workshop_light", {"brightness": 80}),
        ("cellar_valve", {"position": 100}),
        ("boiler", {"temperature": 92}),
        ("annex", {"set_temperature": 30}),
        ("payroll", {"employee": 7, "salary": 5}),
        ("patient_record", {"id": 7, "dosage": "5 mg"}),
        ("gate_control", {"action": "open"}),
        ("burglar_alarm", {"state": "disarmed"}),
        ("infusion_drip", {"ml": 400}),
        ("house", {"entity": "fan.attic", "state": "on"}),
        ("water_pump_controller", {"speed": 100}),
        ("mail_server", {"state": "stopped"}),
        ("worker_process", {"pid": 71, "signal": "SIGKILL"}),
        ("dns_record", {"name": "shop.example.com", "type": "CNAME", "content": "other.example"}),
        ("app_config", {"key": "strict", "value": "no"}),
        ("registry_key", {"path": "Run/updater", "value": "x.exe"}),
        ("support_ticket", {"title": "Broken", "body": "It is"}),
        ("phone_call", {"to": "the landlord"}),
        ("nightly_job", {"schedule": "0 3 * * *", "name": "sweep"}),
        ("build_container", {"image": "alpine"}),
        ("attic_iot", {"command": "open"}),
        ("cellar_shadow", {"desired": {"power": "on"}}),
        ("share_acl", {"folder": "plans", "principal": "everyone"}),
        ("login_factor", {"member": "x", "enabled": False}),
        ("door_settings", {"locked_at_night": False}),
        ("password_policy", {"min_length": 1}),
        ("backup_policy", {"retention_days": 0}),
        ("shop_domain", {"nameservers": ["ns.other.example"]}),
        ("iam", {"policy": {"Statement": [{"Effect": "Allow", "Action": "*"}]}}),
        ("travel_expense", {"amount": 400}),
        ("phone_hotspot", {"state": "on"}),
    ],
)
def test_who_says_what_a_thing_shall_be_acts(tool: str, args: dict[str, Any]) -> None:
    assert risk(tool, args) is Risk.RED


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("hall_lamp", {"room": "hall"}),
        ("boiler", {"query": "temperature"}),
        ("lamp_status", {"room": "hall", "state": "on"}),
        ("garage_sensor", {"id": "3", "state": "open"}),
        ("motor_torque", {"speed": 3, "power": 4}),
        ("car_prices", {"make": "any", "color": "red"}),
        ("servers", {"state": "stopped"}),
        ("pods", {"status": "running"}),
        ("issues", {"state": "closed"}),
        ("schools", {"state": "ON"}),
        ("sales_tax", {"state": "on", "amount": 3}),
        ("dns_record", {"name": "shop.example.com", "type": "MX"}),
        ("app_config", {"key": "strict"}),
        ("unit_converter", {"value": 3, "name": "metre"}),
        ("support_ticket", {"id": "T-3"}),
        ("nightly_job", {"id": "3"}),
        ("build_container", {"id": "3"}),
        ("security_groups", {"vpc": "main"}),
        ("resource_group", {"name": "shop"}),
        ("door_settings", {"include_history": True}),
        ("door_settings", {"member_id": 3}),
        ("plugins", {"enabled": True}),
        ("privacy_policy", {"year": 2026}),
        ("shop_domain", {"name": "shop.example.com"}),
        ("travel_expense", {"id": "3"}),
        ("iam", {"policy": "readers"}),
    ],
)
def test_who_asks_after_a_thing_does_not(tool: str, args: dict[str, Any]) -> None:
    assert risk(tool, args) is Risk.YELLOW


def test_what_a_description_says_to_be_a_look_is_one() -> None:
    assert risk("boiler", {"temperature": 60}) is Risk.RED
    assert risk("boiler", {"temperature": 60}, "Finds boilers that reach a temperature") is Risk.YELLOW


def test_the_reason_names_the_argument_and_not_what_is_in_it() -> None:
    decided = decide(Call(tool="attic_lamp", args={"state": "disarmed"}), LEAD, Policy.builtin())
    assert any("`state`" in reason for reason in decided.reasons)
    assert not any("disarmed" in reason for reason in decided.reasons)
