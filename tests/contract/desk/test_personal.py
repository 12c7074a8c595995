"""A person's data on request: all of it in one export, and none of it left once it is erased, but what was decided."""

import json
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock import Interlock
from interlock.core.errors import Refused
from interlock.core.values import Actor, ActorKind
from interlock.desk.context import Person
from interlock.desk.identities import people, personal
from interlock.desk.identities.people import LastAdmin
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities.personal import ERASED, REDACTED
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.messages import conversations, inbox, outbox
from interlock.store.runs import traces
from interlock.store.schema import TaskMessage
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.upkeep import retention
from tests.contract.store.furniture import T0, ask, in_progress

ANN, SLACK = "Ann Zweig", "slack:UANNZ"
OWN_WORDS = ("please hurry", "because of my illness", "my own comment", "my reply to a card", "my private chat")
TABLES = [sa.select(each) for each in SQLModel.metadata.sorted_tables]
"""Made once: each statement is compiled once for as long as it is kept."""


async def furnished(box: Interlock) -> Person:
    """Somebody who has done everything that a person can do."""
    found = await people.add(box.runtime, box.person, ANN)
    await people.link(box.runtime, box.person, ANN, SLACK)
    await box.runtime.store.write(_act, found["id"])
    return Person(id=found["id"], name=ANN, role="operator", surface="slack")


def _act(tx: Tx, ident: str) -> None:
    made, actor = in_progress(tx), Actor(ActorKind.HUMAN, ident)
    ask(tx, "apr_1", run_id=None, mission_id=made.mission_id)
    given = approvals.Answer(
        approval_id="apr_1", person_id=ident, name=ANN, verdict="deny", note="because of my illness", role="operator",
        surface="slack",
    )  # fmt: skip
    approvals.answer(tx, given, T0)
    tx.add(
        TaskMessage, id="tms_1", task_id=made.task_id, kind="COMMENT", author_kind="human", author_id=ident,
        text="my own comment", created_at=T0,
    )  # fmt: skip
    payload = {"identity": SLACK, "name": ANN, "words": "please hurry"}
    inbox.accept(tx, "slack:1", "slack", payload, T0)
    place = conversations.reply_place(tx, "slack", "C1", "UANNZ", None, made_project(), T0)
    outbox.enqueue(tx, place, {"card": {"title": "my reply to a card"}}, "reply:1", T0)
    audit.note(tx, "SQUAD_PAUSED", actor, T0, project_id=made_project(), by=ANN, reason="please hurry")
    agent = squad.ensure_agent(
        tx, Descriptor("user", made_project(), "coder", {"connector": "slack", "user": ident}), {}, "specialist", T0
    )
    for number in (1, 2):
        mailbox.post(
            tx,
            Post(
                project_id=made_project(), agent_id=agent.id, kind="chat", idempotency_key=f"chat {number}",
                payload={"text": "my private chat", "from": ANN}, cause_kind="message", cause_id=ident,
                run_id=f"run_{number}",
            ),
            T0,
        )  # fmt: skip
        [claim] = [each for each in mailbox.claim(tx, "w", 9, T0) if each.run.id == f"run_{number}"]
        traces.add_message(tx, claim.run.id, 0, "user_message", "my private chat", T0, blocks=["my private chat"])
        if number == 1:
            mailbox.finish(tx, claim, "completed", "end_turn", T0, result="about my private chat", error=None)


def made_project() -> str:
    return "demo"


async def everything(box: Interlock) -> str:
    """All rows of all tables, as one text."""

    def read(tx: Tx) -> str:
        return "\n".join(repr(row) for each in TABLES for row in tx.rows(each))

    return await box.runtime.store.read(read)


async def end_chat(box: Interlock) -> None:
    def end(tx: Tx) -> None:
        tx.run(mailbox.RUNS.update().where(mailbox.RUNS.c.id == "run_2").values(status="completed", completed_at=T0))

    await box.runtime.store.write(end)


async def test_export_has_all_that_somebody_said_decided_and_was_told(box: Interlock) -> None:
    ann = await furnished(box)
    found = json.loads(json.dumps(await personal.export(box.runtime, box.person, "ann zweig"), default=str))
    assert (found["person"]["id"], found["person"]["identities"]) == (ann.id, [SLACK])
    text = json.dumps(found)
    assert [words for words in OWN_WORDS if words not in text] == []
    assert [(each["verdict"], each["note"]) for each in found["answers"]] == [("deny", "because of my illness")]
    assert len(found["chats"]) == 2


async def test_erased_person_is_nowhere_but_what_they_decided_stays_under_their_id(box: Interlock) -> None:
    ann = await furnished(box)
    await end_chat(box)
    done = await personal.erase(box.runtime, box.person, SLACK)
    assert (done["id"], done["chats"], done["open_chats"]) == (ann.id, 2, [])
    text = await everything(box)
    assert [words for words in (ANN, SLACK, *OWN_WORDS) if words in text] == []
    approval: Any = await box.runtime.store.read(approvals.approval, "apr_1")
    assert (approval.status, approval.decided_by, approval.note) == ("denied", ann.id, ERASED)
    [found] = [p for p in await people.people(box.runtime) if p["id"] == ann.id]
    assert (found["name"], found["role"], found["identities"]) == (done["name"], "viewer", [])


async def test_changed_activities_are_told_of_with_their_digests(box: Interlock) -> None:
    await furnished(box)
    before = {row.id: row for row in await box.runtime.store.read(audit.activities)}
    await personal.erase(box.runtime, box.person, ANN)
    rows = {row.id: row for row in await box.runtime.store.read(audit.activities)}
    marks = [row for row in rows.values() if row.action == REDACTED]
    changed = [ident for mark in marks for ident in mark.data["activities"]]
    assert sorted(changed) == [ident for ident in before if before[ident] != rows[ident]]
    for mark in marks:
        ids = mark.data["activities"]
        assert mark.data["sha256_before"] == retention.digest_of([before[ident] for ident in ids])
        assert mark.data["sha256_after"] == retention.digest_of([rows[ident] for ident in ids])


async def test_chat_that_is_being_worked_on_goes_on_and_is_erased_when_it_has_ended(box: Interlock) -> None:
    ann = await furnished(box)
    first = await personal.erase(box.runtime, box.person, ANN)
    assert (first["chats"], first["open_chats"]) == (1, ["run_2"])
    await end_chat(box)
    assert (await personal.erase(box.runtime, box.person, ann.id))["chats"] == 1
    assert "my private chat" not in await everything(box)


async def test_only_admins_export_and_erase_and_the_last_one_stays(box: Interlock) -> None:
    ann = await furnished(box)
    for work in (personal.export, personal.erase, personal.known):
        with pytest.raises(Refused, match="ask an admin"):
            await work(box.runtime, replace(box.person, role="operator"), ann.id)
    with pytest.raises(LastAdmin):
        await personal.erase(box.runtime, box.person, box.person.id)
    roles = {each["id"]: each["role"] for each in await people.people(box.runtime)}
    assert roles[box.person.id] == "admin"
