"""Persona files that mean harm: each is refused with file, line and reason, the others load, nothing is widened."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import COORDINATOR, Persona, PersonaSet, load_personas
from interlock.agents.persona_schema import PersonaFields
from interlock.agents.tool_names import COMMON_TOOLS, COORDINATION_TOOLS, FIXED_TOOLS
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Trust
from interlock.policy.rules import Policy
from interlock.settings import load_settings
from interlock.tools.builtin import builtin_tools

TOOLS = frozenset(tool.name for tool in builtin_tools())
GOOD = """\
schema_version: 1
name: {name}
title: Tester
role: Tries things
trust: intern
risk_profile: GREEN
tools: [file_read]
soul: You try things.
"""
ONE = GOOD.format(name="one")
HOSTILE: dict[str, tuple[bytes, str]] = {
    "alias-bomb": (
        b"a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nname: *c\n", ":1: anchor `&a`"
    ),
    "tag": (b"soul: !!python/object/apply:os.system ['id']\n", ":1: tag `"),
    "tag-on-key": (b"!!python/name:os.system name: x\n", ":1: "),
    "merge": (b"<<: {trust: lead}\n", ":1: merge key"),
    "directive": (b"%YAML 1.1\n---\nname: x\n", ":1: directives"),
    "second": (ONE.encode() + b"---\ntrust: lead\n", ":9: a second document"),
    "twice": (ONE.encode() + b"trust: lead\n", ":9: key `trust` is already on line 5"),
    "deep": (b"soul: " + b"[" * 5_000, ":1: nested deeper"),
    "deep-flow-keys": (b"{" * 5_000, ":1: "),
    "huge": (b"soul: " + b"x" * 1_200_000, ":1: larger than 1 MiB"),
    "long-number": (ONE.encode() + b"max_tokens: " + b"9" * 5_000 + b"\n", ":9: number of 5000 characters"),
    "not-utf8": (b"name: \xff\xfe\n", ":1: not UTF-8"),
    "nul": (b"name: x\x00y\n", ":1: control character U+0000"),
    "escape": (ONE.replace("soul: You try things.", 'soul: "\\e[31mYou"').encode(), ":8: `soul` has the invisible"),
    "bidi": (ONE.replace("You try", "You \u202ereally try").encode(), ":8: `soul` has the invisible character U+202E"),
    "zero-width": (ONE.replace("You try", "You\u200b try").encode(), ":8: `soul` has the invisible character U+200B"),
    "tag-letters": (ONE.replace("You try", "You \U000e0041").encode(), ":8: `soul` has the invisible character U+E00"),
    "title-bidi": (ONE.replace("Tester", '"Te\u202ester"').encode(), ":3: `title` must be one line of text"),
    "homoglyph": (ONE.replace("name: one", "name: с\u043eder").encode(), ":2: `name` is"),
    "path": (ONE.replace("name: one", "name: ../../one").encode(), ":2: `name` is `../../one`"),
    "upper": (ONE.replace("name: one", "name: ONE").encode(), ":2: `name` is `ONE`"),
    "every-tool": (ONE.replace("[file_read]", "['*']").encode(), ":7: `tools[0]` is `*`: write the name of a tool"),
    "no-such-tool": (ONE.replace("[file_read]", "[sudo]").encode(), ":7: `tools` names no tool by `sudo`"),
    "tools-of-text": (ONE.replace("[file_read]", "file_read").encode(), ":7: `tools` must be a list, not text"),
    "trust": (ONE.replace("intern", "root").encode(), ":5: `trust` is `root`"),
    "risk": (ONE.replace("GREEN", "NONE").encode(), ":6: `risk_profile` is `NONE`"),
    "money": (ONE.encode() + b"budget: {daily_usd: 1e300}\n", ":9: `budget.daily_usd` is"),
    "nan": (ONE.encode() + b"budget: {daily_usd: .nan}\n", ":9: `.nan` is not a finite number"),
    "negative": (ONE.encode() + b"limits: {max_turns: -1}\n", ":9: `limits.max_turns` is `-1`"),
    "secret-key": (ONE.encode() + b"prompt: use {{secret:TOKEN}}\n", ":9: `prompt` has no value for `{{secret:TOK"),
    "code-in-prompt": (ONE.encode() + b"prompt: '{{name.__class__}}'\n", ":9: `prompt` has no value for"),
    "extra": (ONE.encode() + b"on_start: rm -rf /\n", ":9: unknown key `on_start`"),
    "needs": (ONE.encode() + b"needs: [sandbox]\n", ":9: unknown key `needs`"),
    "list": (b"- name: x\n", ":1: a persona is a mapping"),
    "nothing": (b"", ":1: a persona is a mapping"),
    "version": (ONE.replace("schema_version: 1", "schema_version: 99").encode(), ":1: `schema_version` 99 is newer"),
    "coordinator-tools": (
        GOOD.format(name=COORDINATOR).replace("[file_read]", "[file_read, code_exec]").encode(),
        ":7: `tools` gives the coordinator `code_exec`",
    ),
    "coordinator-work": (
        GOOD.format(name=COORDINATOR).encode() + b"task_types: [engineering]\n",
        ":9: `task_types` gives the coordinator work",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PersonaSet]:
    """A folder of all of them at once, with two that mean no harm, and what comes of loading it."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, (content, _) in HOSTILE.items():
        (folder / f"{name}.yaml").write_bytes(content)
    for name in ("aaa", "zzz"):
        (folder / f"{name}.yaml").write_text(GOOD.format(name=name), encoding="utf-8")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "device.yaml").symlink_to("/dev/zero")
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "nowhere.yaml").symlink_to(folder / "gone.yaml")
    (folder / ".#editing.yaml").symlink_to("somebody@machine:1")
    return folder, load_personas(True, [folder], known_tools=TOOLS)


@pytest.mark.parametrize("name", HOSTILE)
def test_each_is_refused_with_file_line_and_reason(loaded: tuple[Path, PersonaSet], name: str) -> None:
    folder, found = loaded
    own = [fault for fault in found.faults if fault.startswith(f"{folder / name}.yaml:")]
    assert any(fault.startswith(f"{folder / name}.yaml{HOSTILE[name][1]}") for fault in own), own


@pytest.mark.parametrize("name", ["pipe", "device", "loop", "folder", "nowhere"])
def test_what_is_no_file_is_refused_instead_of_passed_over(loaded: tuple[Path, PersonaSet], name: str) -> None:
    folder, found = loaded
    assert [fault for fault in found.faults if fault.startswith(f"{folder / name}.yaml:1: cannot be read: ")]
    assert name in found.refused
    assert not any("editing" in other for other in found.faults)


def test_the_others_still_load_and_no_name_is_taken(loaded: tuple[Path, PersonaSet]) -> None:
    folder, found = loaded
    mine = {name for name, source in found.sources.items() if source.startswith(str(folder))}
    assert mine == {"aaa", "zzz"}
    assert set(found.personas) == {*load_personas(True, [], known_tools=TOOLS).personas, "aaa", "zzz"} - {COORDINATOR}
    assert all("\x1b" not in fault and "\u202e" not in fault for fault in found.faults)


KEYS = st.sampled_from(list(PersonaFields.model_fields)) | st.text(max_size=12)
NAMES = st.sampled_from(sorted(FIXED_TOOLS))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_content_breaks_the_loader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    folder.mkdir(exist_ok=True)
    (folder / "any.yaml").write_bytes(content)
    found = load_personas(False, [folder], known_tools=TOOLS)
    assert found.personas == {}
    assert found.faults
    assert all(fault.startswith(f"{folder / 'any.yaml'}:") for fault in found.faults)


@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_no_values_give_a_persona_what_the_schema_does_not(data: dict[str, Any]) -> None:
    base = {"schema_version": 1, "name": "one", "title": "T", "role": "R", "trust": "intern", "risk_profile": "GREEN",
            "soul": "S"}  # fmt: skip
    try:
        persona = Persona.model_validate({**base, **data}, context={"known_tools": TOOLS})
    except ValueError:
        return
    assert set(persona.tools) <= TOOLS | FIXED_TOOLS
    assert persona.trust in ("intern", "specialist", "lead")
    assert 0 < persona.budget.run_usd <= persona.budget.daily_usd <= 100_000


def coordinator(**changes: Any) -> Persona:
    """The coordinator as it was stored by somebody who wanted more of it."""
    own = load_personas(True, [], known_tools=TOOLS).personas[COORDINATOR].to_json()
    return Persona.from_json({**own, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": sorted(TOOLS | FIXED_TOOLS)},
        {"tools": ["code_exec", "file_write", "send_email"]},
        {"trust": "lead", "task_types": ["engineering", "other"], "tools": ["browser"]},
    ],
)
def test_the_coordinator_is_offered_nothing_but_coordination_whatever_is_stored(changes: dict[str, Any]) -> None:
    found = coordinator(**changes)
    assert found.offered_tools <= COMMON_TOOLS | COORDINATION_TOOLS
    assert not found.takes_tasks


def test_coordination_is_four_tools_of_tasks_reading_and_notification() -> None:
    tasks = {"create_task", "update_task", "list_tasks", "get_task"}
    assert tasks | {"file_read", "database", "notification"} == COORDINATION_TOOLS


def test_no_setting_widens_what_the_coordinator_may_have(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    for number, tools in enumerate(("[code_exec]", "[file_write]", "[file_read, browser]")):
        (folder / f"c{number}.yaml").write_text(
            GOOD.format(name=COORDINATOR).replace("[file_read]", tools), encoding="utf-8"
        )
    settings = load_settings(tmp_path, {"INTERLOCK_PERSONAS": str(folder)}, {})
    found = load_personas(True, settings.personas, known_tools=TOOLS | {"create_order"})
    assert COORDINATOR not in found.personas
    assert len(found.faults) == 3


@pytest.mark.parametrize(
    ("args", "effect"),
    [
        ({"action": "query", "sql": "SELECT name FROM customers"}, Effect.ALLOW),
        ({"action": "query", "sql": "DELETE FROM customers"}, Effect.DENY),
        ({"action": "query", "sql": "UPDATE customers SET name = 'x'"}, Effect.DENY),
        ({"action": "query", "sql": "SELECT 1; DROP TABLE customers"}, Effect.DENY),
        ({"action": "insert", "row": {"name": "x"}}, Effect.DENY),
    ],
)
def test_the_coordinator_only_reads_the_database(args: dict[str, Any], effect: Effect) -> None:
    call = Call(tool="database", args=args, is_builtin=True)
    who = Caller(agent_name="a", persona=COORDINATOR, trust=Trust.LEAD, project="default")
    assert decide(call, who, Policy.builtin()).effect is effect
    coder = Caller(agent_name="a", persona="coder", trust=Trust.LEAD, project="default")
    assert decide(call, coder, Policy.builtin()).effect is not Effect.DENY
