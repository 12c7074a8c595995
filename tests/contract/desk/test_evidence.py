"""Checks as people write them at a terminal, and a whole rehearsal that is held to them and to three models."""

import json
from pathlib import Path

import pytest

from interlock.app.box import Interlock
from interlock.cli.main import run as command
from interlock.core.errors import UsageError
from interlock.desk.reading.details import task
from interlock.desk.signoff import evidence, signing
from interlock.policy.checks import BadCheck

POLICY = """\
version: 1
rules:
  - {id: agree-first, tools: [send_email], risk: RED, consensus: true}
checks:
  mission: [{kind: contains, text: Rehearsal}]
"""


def test_check_is_written_with_or_without_braces_in_yaml_or_json(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object"}')
    listed = tmp_path / "checks.yaml"
    listed.write_text("checks:\n  - {kind: contains, text: b}\n")
    texts = [
        "kind: file_exists, path: a.csv",
        '{"kind": "command", "argv": ["pytest", "-q"]}',
        "kind: contains\ntext: a",
        f"kind: json_schema, schema: {schema}",
    ]
    found = evidence.parse(texts, listed)
    assert [each["kind"] for each in found] == ["file_exists", "command", "contains", "json_schema", "contains"]
    assert found[3]["schema"] == {"type": "object"}
    assert evidence.parse() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: command, argv: pytest -q", "no shell reads it"),
        ("{kind: ", "--check:1"),
        ("kind: json_schema, schema: nowhere.json", "nowhere.json: cannot be read: no such file"),
        ("contains: a", "`kind` is missing"),
    ],
)
def test_what_is_no_check_is_said_in_a_line(text: str, message: str) -> None:
    with pytest.raises((UsageError, BadCheck), match=message) as told:
        evidence.parse([text])
    assert "\n" not in str(told.value)


async def test_rehearsal_is_held_to_checks_and_asks_its_own_model_for_votes(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    models = {"models": ["anthropic/claude-a", "anthropic/claude-b", "anthropic/claude-c"]}
    checks = [{"kind": "contains", "text": "tea"}]
    async with Interlock.open(
        cwd=tmp_path, env={}, model="rehearsal/offline", consensus=models, home=tmp_path / "home"
    ) as box:
        result = await box.run("E-mail a note about tea to ann@example.com", checks=checks)
        (card,) = await signing.approvals(box.runtime)
        assert (card["tool"], [vote["verdict"] for vote in card["votes"]]) == ("send_email", ["yes"] * 3)
        assert {vote["model"] for vote in card["votes"]} == {"rehearsal/offline"}
        found = await box.settled(result.mission_id)
        while waiting := await signing.approvals(box.runtime):
            for each in waiting:
                await signing.approve(box.runtime, box.person, each["id"])
            found = await box.settled(result.mission_id)
        shown = await task(box.runtime, result.mission_id)
        assert str(found.standing) == "done"
        assert [(c["name"], c["state"]) for c in shown["checks"]] == [
            ("contains “Rehearsal”", "passed"), ("contains “tea”", "passed")
        ]  # fmt: skip


def test_command_line_sets_shows_and_waives_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INTERLOCK_MODEL", "rehearsal/offline")
    monkeypatch.delenv("INTERLOCK_DATABASE_URL", raising=False)
    assert command(["run", "Write a note", "--no-wait", "--json", "--check", "kind: contains, text: never there"]) == 0
    mission = json.loads(capsys.readouterr().out)["mission_id"]
    assert command(["task", mission, "--check", "kind: file_exists, path: note.md"]) == 0
    said = capsys.readouterr().out
    assert "contains “never there”" in said
    assert "file `note.md` exists" in said
    assert command(["task", mission, "--waive", "1"]) == 2
    assert "needs a reason" in capsys.readouterr().err
    assert command(["task", mission, "--note", "because"]) == 2
    assert "`--waive`" in capsys.readouterr().err
    assert command(["task", mission, "--waive", "1", "--note", "it was a joke", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["checks"]
    assert [(each["number"], each["state"]) for each in shown] == [(1, "waived"), (2, "not run")]
    assert "it was a joke" in shown[0]["detail"]
    assert command(["task", mission, "--check", "kind: verdict"]) == 2
    assert "nobody reviews" in capsys.readouterr().err
