"""What the command line says beside a list that is full: in words and with `--json` alike."""

import asyncio
import json

import pytest

from interlock.core.values import SYSTEM
from interlock.desk.agents import lessons
from interlock.desk.chats import outgoing
from interlock.desk.operations import queues
from interlock.desk.reading import listings
from interlock.desk.signoff import grants
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.knowledge import lessons as lesson_store
from interlock.store.mailboxes import mailbox
from interlock.store.messages import conversations, outbox
from interlock.store.schema import Grant
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0, after, message
from tests.integration.cli_process import Cli

LISTS = [
    (("outbox",), f"these are the oldest {outgoing.MOST}: there may be more\n"),
    (("lessons",), f"these are the best {lessons.MOST}: there may be more\n"),
    (("grants", "--all"), f"these are the newest {grants.MOST}: there may be more\n"),
    (("queue", "coder"), f"these are the first {queues.MOST_LANES} mailboxes: there may be more\n"),
    (("alerts",), f"these are the newest {listings.MOST_ALERTS}: there may be more\n"),
    (("audit", "list", "--limit", "2"), "these are the newest 2: there may be more\n"),
    (("audit", "list", "--limit", "2", "--after", "1"), "these are the first 2: there may be more\n"),
]


def fill(tx: Tx) -> None:
    """As many of each as one list has."""
    conversations.room(tx, "slack", "C1", PROJECT, T0)
    for n in range(outgoing.MOST):
        outbox.enqueue(tx, "slack:C1", {"card": {"title": f"{n}"}}, f"{n}", T0)
    for n in range(lessons.MOST):
        rule = {"id": f"les_{n}", "rule": f"rule {n}", "rule_digest": f"{n}", "kind": "HEURISTIC", "evidence": []}
        lesson_store.add(tx, {**rule, "confidence": 0.5, "labels": []}, SYSTEM, "because", T0)
    for n in range(grants.MOST):
        given = {"tool": "file_write", "tool_digest": "d", "scope": "hour", "persona": "coder", "given_by": "ada"}
        tx.add(Grant, id=f"gra_{n}", project_id=PROJECT, approval_id="apr", created_at=T0, expires_at=after(9), **given)
    for n in range(listings.MOST_ALERTS):
        audit.alert(tx, T0, project_id=PROJECT, severity="info", kind="TEST", key=f"{n}", text=f"alert {n}")
    squad.ensure_project(tx, "default", "UTC", T0)
    for n in range(queues.MOST_LANES):
        agent = squad.ensure_agent(tx, Descriptor("think", "default", "coder", {"name": f"{n}"}), {}, "specialist", T0)
        mailbox.post(tx, message(str(agent.id), f"run {n}"), T0)
    for _ in range(3):
        audit.note(tx, "TESTED", SYSTEM, T0, project_id=PROJECT)


async def _fill(url: str) -> None:
    async with Store(url) as store:
        await store.write(fill)


@pytest.fixture
def full(cli: Cli) -> Cli:
    assert cli("people", "list").code == 0
    asyncio.run(_fill(f"sqlite:///{cli.folder / '.interlock' / 'interlock.db'}"))
    return cli


def test_list_that_is_full_says_so_in_words_and_beside_json(full: Cli) -> None:
    for args, said in LISTS:
        shown, data = full(*args), full(*args, "--json")
        assert (shown.code, said in shown.err) == (0, True), (args, shown.err)
        assert (data.code, data.err) == (0, said), args
        assert json.loads(data.out), args
