"""Signing off and controlling from the command line, in this process: what is printed, and the exit codes."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock
from interlock.cli.main import run
from interlock.store.auditing import audit
from interlock.store.signoff import approvals
from interlock.store.tx import Tx

GOAL = "Compare A and B and e-mail the result to board@example.com"


async def _home() -> None:
    """A home with a letter that waits in a mission, five notes of one kind that wait, and an alert."""
    async with Interlock.open(model="rehearsal/offline") as box:
        await box.run(GOAL)
        now = box.runtime.clock.now()

        def fill(tx: Tx) -> None:
            for number in range(1, 6):
                request = {
                    "tool": "note", "args": {"path": f"{number}.md"}, "summary": "wants to call note",
                    "tool_digest": "d", "persona": "coder", "grantable": True,
                }  # fmt: skip
                approvals.ask(
                    tx, id=f"apr_{number}", kind="TOOL_CALL", project_id="default", subject=f"s{number}", risk="YELLOW",
                    asked_by="system:test", created_at=now + timedelta(seconds=number), request=request,
                    alike="first" if number < 3 else "second",
                )  # fmt: skip
            audit.alert(tx, now, project_id="default", severity="warning", kind="TEST", key="k", text="look at this")

        await box.runtime.store.write(fill)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    asyncio.run(_home())
    return tmp_path


def test_every_way_to_answer_and_to_control(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(code: int, *args: str) -> str:
        capsys.readouterr()
        assert run(args) == code, args
        said = capsys.readouterr()
        return said.out + said.err

    def listed(*args: str) -> list[dict[str, Any]]:
        return list(json.loads(told(0, *args, "--json")))

    together = told(0, "approve", "apr_1", "--alike")
    assert ("apr_1 approved" in together, "apr_2 approved" in together, "apr_3" in together) == (True, True, False)
    assert "already approved by" in told(1, "approve", "apr_2")
    assert "granted until" in told(0, "approve", "apr_3", "--grant", "hour", "--narrow")
    assert "apr_5 denied" in told(0, "deny", "apr_4", "--alike", "--reason", "not now")
    assert "hour, same targets" in told(0, "grants")
    (grant,) = listed("grants")
    assert [told(0, "grants", "revoke", grant["id"]) for _ in range(2)] == [
        f"{grant['id']} revoked\n", f"{grant['id']} was revoked before\n",
    ]  # fmt: skip
    assert (listed("grants"), len(listed("grants", "--all"))) == ([], 1)
    (letter,) = listed("approvals")
    args = {**letter["args"], "to": ["ana@example.com"]}
    assert "approved: send an e-mail to ana@example.com" in told(0, "approve", letter["id"], "--args", json.dumps(args))
    (alert,) = [each["id"] for each in listed("alerts") if each["kind"] == "TEST"]
    assert [told(0, "alerts", "ack", alert) for _ in range(2)] == [
        f"{alert} acknowledged\n", f"{alert} was acknowledged before\n",
    ]  # fmt: skip
    for word, said in (("drain", "finishes what runs"), ("pause", "is paused"), ("resume", "works")):
        assert told(0, word).startswith(f"the squad {said}\n")
