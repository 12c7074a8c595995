"""Fills a database as a release would have left it in the middle of its work; run under that release's own sources.

`PYTHONPATH=<its src> python filling.py <home>`; the rows are then kept with `interlock db backup` of this version as
`releases/<revision>.rows`. No test is here.
"""

import asyncio
import os
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

from interlock.app.box import Interlock
from interlock.desk.signoff import signing
from interlock.desk.work import controls
from interlock.store.mailboxes import leases, mailbox
from interlock.store.money import ledger

GOAL = "Compare three session stores for a web shop and e-mail the recommendation to board@example.com"
MODEL = "rehearsal/offline"
NOW = datetime.now(UTC)


async def fill(home: Path) -> None:
    async with Interlock.open(cwd=home, env={}, home=home, model=MODEL) as box:
        await box.chat("research", "What is a session store?")
        done = await box.submit(GOAL)
        await box.start()
        async for found in box.follow(done):
            if found.status == "DONE":
                break
            for ident in found.approvals:
                await signing.approve(box.runtime, box.person, ident, note="signed at the time")
        half = (await box.run(GOAL, idempotency_key="half")).mission_id
        canceled = (await box.run(GOAL, idempotency_key="canceled")).mission_id
        await controls.cancel(box.runtime, box.person, canceled)
        await box.settled(canceled)
    async with Interlock.open(cwd=home, env={}, home=home, model=MODEL) as box:
        store = box.runtime.store
        running = await box.submit(GOAL, idempotency_key="running")
        await store.write(leases.register, "wrk_gone", "a machine", 4_000_000, "1", NOW)
        claims = await store.write(mailbox.claim, "wrk_gone", 16, NOW)
        (claim,) = [each for each in claims if each.run.mission_id == running]
        await store.write(_spend, claim, NOW)
        created = await box.submit(GOAL, idempotency_key="created")
    print({"done": done, "half": half, "canceled": canceled, "running": running, "created": created})


def _spend(tx: object, claim: mailbox.Claim, now: datetime) -> None:
    run = claim.run
    spender = ledger.Spender(run.id, run.agent_id, None, run.mission_id, run.project_id, (f"mission:{run.mission_id}",))
    ledger.reserve(tx, spender, step=1, attempt=1, model=MODEL, worst_microusd=70_000, now=now)  # type: ignore[arg-type]


def enrich(home: Path) -> None:
    """What takes long to come about by itself, by SQL."""
    with sqlite3.connect(home / "interlock.db") as db:
        now = NOW.strftime("%Y-%m-%d %H:%M:%S.%f")
        db.execute(
            "UPDATE runs SET status = 'failed', stop_reason = 'error', error = 'no answer' WHERE id ="
            " (SELECT min(id) FROM runs WHERE status = 'completed' AND kind = 'chat')"
        )
        db.execute(
            "INSERT INTO alerts VALUES"
            " ('alt_1', 'default', 'warning', 'BUDGET', 'x', 'a\u00fcber \U0001f600 text', 'k', ?, NULL, NULL)",
            [now],
        )
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "outbox" in tables:
            _chats(db, now)
        if "schedules" in tables:
            _fleet(db, now)
        if "memories" in tables:
            _assured(db, now)
            _minded(db, now)


def _chats(db: sqlite3.Connection, now: str) -> None:
    room = ["slack:C1", "slack", "room", "C1", "{}", "default", None, now]
    db.execute(f"INSERT INTO conversations VALUES ({', '.join('?' * len(room))})", room)
    for number, status in enumerate(("delivered", "pending", "sending", "dead"), 1):
        db.execute(
            "INSERT INTO outbox (key, surface, conversation_id, kind, subject, payload, revision, delivered, status,"
            " attempts, holder, created_at)"
            " VALUES (?, 'slack', 'slack:C1', 'alert', 'alert:alt_1', '{}', 1, ?, ?, 1, ?, ?)",
            [f"k{number}", int(status == "delivered"), status, "p" if status == "sending" else None, now],
        )
    for key, status in (("slack:1", "done"), ("slack:2", "new")):
        db.execute(
            "INSERT INTO inbox (key, surface, identity, payload, status, created_at)"
            " VALUES (?, 'slack', 'slack:U1', ?, ?, ?)",
            [key, '{"text": "status", "identity": "slack:U1"}', status, now],
        )
    db.execute("INSERT INTO controls VALUES ('squad', 'running', 3, 'a test', NULL, ?)", [now])


def _fleet(db: sqlite3.Connection, now: str) -> None:
    for name, state, due in (("weekly", "active", "2000-01-03 08:00:00.000000"), ("later", "paused", None)):
        schedule = [
            f"sch_{name}", "default", name, "chat", "research", "What is new?", "0 9 * * 1", None, "Europe/Berlin",
            now, "{}", state, None if due else "a test", due, None, None, 1, "a test", now, now,
        ]  # fmt: skip
        db.execute(f"INSERT INTO schedules VALUES ({', '.join('?' * len(schedule))})", schedule)
    db.execute("INSERT INTO capabilities VALUES ('gpu', (SELECT max(bit) + 1 FROM capabilities))")
    db.execute(
        "UPDATE runs SET status = 'failed', stop_reason = 'dead_letter', error = 'its workers died', crashes = 3"
        " WHERE id = (SELECT min(id) FROM runs WHERE status = 'completed' AND kind = 'task')"
    )


def _assured(db: sqlite3.Connection, now: str) -> None:
    for table, row in (
        ("grants", ["gra_1", "default", "send_email", "d1", "task", "storyteller", "tsk_1", None, 0, "often", "apr_1",
                    "per_1", 2, now, now, None, None, None]),
        ("known_tools", ["default", "send_email", "d1", "known", "{}", None, now]),
        ("votes", ["vot_1", "approval:apr_1", 0, MODEL, None, None, "", 0, now, None]),
        ("incidents", ["inc_1", "LOOP", "default", None, None, None, None, "a test", "{}", now]),
    ):  # fmt: skip
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _minded(db: sqlite3.Connection, now: str) -> None:
    (person,) = db.execute("SELECT min(id) FROM people").fetchone()
    for table, row in (
        ("channels", ["chn_1", "default", "room", "general", "general", "", "per_1", now, None, 1]),
        ("channel_members", ["chn_1", "agent", "research", now]),
        ("chat_messages", ["msg_1", 1, "chn_1", None, "person", "per_1", "Which store?", None, 0, "[]", "k1", now,
                           None]),
        ("chat_reactions", ["msg_1", "person", "per_1", ":+1:", now]),
        ("memories", ["mem_1", "default", "research", "persona:research", None, "fact", "Stores cost money", 3, 0.5,
                      0.1, "d1", "[]", None, 1, 0, now, now, now, None]),
        ("memory_words", ["default", "persona:research", "stores", "mem_1", 1]),
        ("memory_versions", ["mem_1", 1, "{}", "agent", "research", "a test", now]),
        ("memory_blocks", ["blk_1", "default", "notes", "Be short", 1, "[]", now, now]),
        ("block_holders", ["blk_1", "research", "default", "notes", 1]),
        ("api_tokens", ["tok_1", person, "ci", "d1", "viewer", None, now, None, None, None]),
    ):  # fmt: skip
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    asyncio.run(fill(folder))
    enrich(folder)
