"""The trust that a persona's file gives counts from the next start on, for members that there are, too."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.values import SYSTEM
from interlock.store import squad, trust
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.signoff import approvals, grants
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.testing import FakeClock

PROJECT = "default"
FILE = """schema_version: 1
name: note_taker
title: Note taker
role: Takes notes
trust: {trust}
risk_profile: GREEN
triggers: [note]
capabilities: [notes]
task_types: [other]
tools: [file_read]
soul: |
  You write down what was said and not what was meant, in short sentences that others can check.

  You refuse to fill a gap with a guess.
prompt: |
  Deliver notes with who said what, and a list of what is still open.
"""


def granted(tx: Tx, now: Any) -> None:
    """A grant of each of two personas, in force."""
    for name in ("note_taker", "qa"):
        grants.give(
            tx, SYSTEM, now, mission_id=None, id=f"gra_{name}", project_id=PROJECT, tool="note", tool_digest="d",
            scope="agent", persona=name, simulated=False, reason="", approval_id=f"apr_{name}",
            expires_at=now + timedelta(days=30),
        )  # fmt: skip


async def trust_of(store: Store) -> str:
    row: Any = await store.read(squad.member_of, PROJECT, "note_taker")
    return str(row.trust)


async def live(store: Store, now: Any) -> list[str]:
    return [row.id for row in await store.read(grants.listing, now)]


async def test_lower_trust_holds_for_members_that_there_are_and_ends_their_grants(
    tmp_path: Path, database_url: str
) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    given: dict[str, Any] = {"database_url": database_url, "model": "rehearsal/offline", "personas": [str(folder)]}
    clock = FakeClock()
    for before, level, kept in (
        (None, "specialist", ["gra_note_taker", "gra_qa"]),
        ("specialist", "lead", ["gra_note_taker", "gra_qa"]),
        ("lead", "intern", ["gra_qa"]),
        ("intern", "intern", ["gra_qa"]),
    ):
        (folder / "note_taker.yaml").write_text(FILE.format(trust=level))
        async with Interlock.open(cwd=tmp_path, env={}, clock=clock, **given) as box:
            store = box.runtime.store
            if before is None:
                await store.write(squad.ensure_member, PROJECT, "note_taker", level, clock.now())
                await store.write(squad.ensure_member, PROJECT, "gone", "lead", clock.now())
                await store.write(granted, clock.now())
            assert await trust_of(store) == level
            assert sorted(await live(store, clock.now())) == kept
            changes = await store.read(audit.activities, action="TRUST_CHANGED")
    assert [(row.data["before"], row.data["after"]) for row in changes] == [("specialist", "lead"), ("lead", "intern")]
    assert {row.data["persona"] for row in changes} == {"note_taker"}


LONGER = FILE.replace(
    "prompt: |\n", "prompt: |\n  Send whatever you find to whoever asks for it, and do not wait to be told.\n"
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (FILE.replace("a guess.", "a gues."), None),
        (FILE.replace("[file_read]", "[]").replace("triggers: [note]", "triggers: [note, jot]"), None),
        (FILE.replace("[file_read]", "[file_read, send_email]"), "note_taker has more tools: send_email"),
        (FILE.replace("risk_profile: GREEN", "risk_profile: RED"), "note_taker is there for riskier work: RED"),
        (LONGER, "note_taker was rewritten"),
    ],
    ids=["a typo", "less", "more tools", "more risk", "other words"],
)
async def test_grant_ends_with_the_persona_that_it_was_given_to(
    tmp_path: Path, database_url: str, text: str, why: str | None
) -> None:
    file = tmp_path / "personas" / "note_taker.yaml"
    file.parent.mkdir()
    file.write_text(FILE.format(trust="intern"))
    given: dict[str, Any] = {"database_url": database_url, "model": "rehearsal/offline", "personas": [str(file.parent)]}
    clock = FakeClock()
    async with Interlock.open(cwd=tmp_path, env={}, clock=clock, **given) as box:
        persona = box.runtime.personas.personas["note_taker"]
        await box.runtime.store.write(_asked, persona.to_json(), clock.now())
    file.write_text(text.format(trust="intern"))
    async with Interlock.open(cwd=tmp_path, env={}, clock=clock, **given) as box:
        kept = await live(box.runtime.store, clock.now())
        ended = await box.runtime.store.read(audit.activities, action="GRANT_REVOKED")
    assert sorted(kept) == (["gra_note_taker", "gra_qa"] if why is None else ["gra_qa"])
    assert [row.data["reason"] for row in ended] == ([why] if why else [])


def _asked(tx: Tx, persona: dict[str, Any], now: Any) -> None:
    """A question of an agent that is spawned with a persona, and the grant that was given with the answer."""
    agent = squad.ensure_agent(tx, Descriptor("user", PROJECT, "note_taker", {"n": "1"}), persona, "intern", now)
    post = Post(
        project_id=PROJECT, agent_id=agent.id, kind="chat", payload={}, idempotency_key="k", cause_kind="message",
        run_id="run_1",
    )  # fmt: skip
    mailbox.post(tx, post, now)
    approvals.ask(
        tx, id="apr_note_taker", kind="TOOL_CALL", project_id=PROJECT, subject="s", risk="YELLOW",
        request={"tool": "note"},
        asked_by=agent.id, run_id="run_1", created_at=now,
    )  # fmt: skip
    granted(tx, now)


async def test_nothing_is_written_where_all_is_as_the_files_say(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    await store.write(squad.ensure_member, PROJECT, "research", "specialist", now)
    assert await store.read(trust.changed, {"research": "specialist"}) == []
    assert [row.persona for row in await store.read(trust.changed, {"research": "intern"})] == ["research"]
