"""Whose requests are taken where an app is installed in several workspaces: those of the token's own."""

from typing import Any

import pytest

from interlock.desk.signoff import signing
from interlock.integrations.slack.app import Installation
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.controls import Mode
from interlock.testing import slack_payloads as payloads
from tests.integration.slack.stage import Stage

OTHER = "T0OTHER"
THEIRS: dict[str, Any] = {
    "team_id": OTHER, "team": {"id": OTHER, "domain": "other"},
    "authorizations": [{"enterprise_id": None, "team_id": OTHER, "user_id": "U1", "is_bot": True}],
}  # fmt: skip


async def test_what_another_workspace_with_the_same_app_sends_is_acknowledged_and_nothing_else(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    card, question = await stage.held()
    form = payloads.sent_form(await stage.form("Deny", card), "no")
    await stage.slack.introduce()
    for given in (
        stage.command("stop"), stage.tap("Approve", card), payloads.mention("stop"), payloads.direct("stop"),
        payloads.home_opened(), {**form, "view": {**form["view"], "app_installed_team_id": OTHER}},
    ):  # fmt: skip
        answer = await stage.post({**given, **{key: value for key, value in THEIRS.items() if key in given}})
        assert (answer.status, answer.body) == (200, b"")
    await stage.idle()
    assert caplog.text.count(f"a request from another Slack workspace, `{OTHER}`, was ignored") == 6
    assert stage.api.homes == {}
    assert await stage.box.runtime.store.read(controls.mode) is Mode.RUNNING
    assert (await signing.approval(stage.box.runtime, question["id"]))["status"] == "pending"
    assert (await stage.post(stage.tap("Approve", card))).status == 200
    await stage.settled(question["id"], "used")


@pytest.mark.parametrize("is_org_wide", [True, False], ids=["in a whole organisation", "in one workspace of it"])
def test_an_installation_knows_its_own(is_org_wide: bool) -> None:
    told = {"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": is_org_wide}
    installed = Installation.of(told)
    assert installed.has("T1", "E1")
    assert installed.has(None, None), "a question of Slack's own, such as whether the address is right"
    assert installed.has("T2", "E1") == is_org_wide
    assert not installed.has("T2", "E2")
