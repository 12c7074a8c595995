"""Mailboxes from the command line: what waits, dead letters, trying them again, rejecting what is pending."""

import asyncio

from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import leases, mailbox
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, message
from tests.integration.cli_process import Cli


def fill(tx: Tx) -> str:
    """A mailbox with a dead letter and two messages behind it."""
    squad.ensure_project(tx, "default", "UTC", T0)
    agent = squad.ensure_agent(tx, Descriptor("think", "default", "coder", {"name": "one"}), {}, "specialist", T0)
    for key in ("poison", "next", "last"):
        mailbox.post(tx, message(str(agent.id), key, project_id="default"), T0)
    mailbox.claim(tx, "dead", 1, T0)
    leases.take_back(tx, "dead", T0, crash_limit=0)
    return str(agent.id)


def test_dead_letter_is_seen_and_tried_again_and_what_is_pending_is_rejected(cli: Cli) -> None:
    assert cli("people", "list").code == 0
    agent = asyncio.run(_fill(f"sqlite:///{cli.folder / '.interlock' / 'interlock.db'}"))
    dead = cli("runs", "--status", "dead_letter")
    assert dead.err == "a dead letter is tried again with `interlock runs requeue poison`\n"
    assert pending(cli) == ["next", "last"]
    assert cli("runs", "requeue", "poison").out == f"run poison is back at its place in the mailbox of {agent}\n"
    assert pending(cli) == ["poison", "next", "last"]
    again = cli("runs", "requeue", "poison")
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert "run `poison` is created: only a dead letter can be tried again" in again.err
    assert cli("queue", "coder", "clear", "--reason", "not wanted").out == "3 pending runs of coder rejected\n"
    assert cli("queue", "coder").out == "nothing waits for coder\n"
    ended = {run["id"]: (run["status"], run["stop_reason"]) for run in cli("runs", "--json").json()}
    assert ended == dict.fromkeys(("poison", "next", "last"), ("cancelled", "cleared"))


def pending(cli: Cli) -> list[str]:
    """What waits, in order."""
    return [run["id"] for lane in cli("queue", "coder", "--json").json()["lanes"] for run in lane["runs"]]


async def _fill(url: str) -> str:
    async with Store(url) as store:
        return await store.write(fill)
