"""Records that nothing needs any more go, each kind after its time; what an edit, a repeat or a reader needs stays."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock.core.values import digest
from interlock.oversight import retention as job
from interlock.store import blobs
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.messages import conversations, dispatch, inbox, outbox
from interlock.store.messages.conversations import Origin
from interlock.store.schema import (
    Alert,
    Approval,
    Blob,
    Checkpoint,
    CheckpointWrite,
    Conversation,
    Incident,
    Incoming,
    Lesson,
    LessonUse,
    MissionEvent,
    Outgoing,
    Worker,
    WorkspaceFile,
    table,
)
from interlock.store.tx import Tx
from interlock.store.work import missions
from tests.contract.oversight.test_retention import end_mission, runtime_of
from tests.contract.store.furniture import PROJECT, T0, ask, claimed
from tests.contract.store.furniture import job as mission_of

LATER = T0 + timedelta(days=200)
Furnish = Callable[[Tx], None]


def deliver_all(tx: Tx) -> None:
    while taken := dispatch.take(tx, "slack", "me", T0, 9):
        for row in taken:
            dispatch.delivered(tx, row.id, "me", row.revision, f"ts{row.id}", T0, rest_until=None)


def room(tx: Tx) -> None:
    conversations.room(tx, "slack", "C1", PROJECT, T0)


def alerts(tx: Tx) -> None:
    """One that was seen, and one that nobody has seen yet."""
    room(tx)
    for key in ("seen", "open"):
        audit.alert(tx, T0, project_id=PROJECT, severity="warning", kind="TEST", text=key, key=key)
    row = tx.rows(table(Alert).select().where(table(Alert).c.text == "seen"))[0]
    audit.acknowledge(tx, row.id, "ada", T0)
    deliver_all(tx)


def questions(tx: Tx) -> None:
    """One that was answered for good, one that was taken back, and one that waits."""
    room(tx)
    for ident in ("apr_old", "apr_void", "apr_open"):
        ask(tx, ident)
    deliver_all(tx)
    approvals = table(Approval)
    tx.run(approvals.update().where(approvals.c.id == "apr_void").values(status="void"))
    tx.run(approvals.update().where(approvals.c.id == "apr_old").values(status="denied", answered_at=T0))


def thread(tx: Tx, *, is_over: bool) -> str:
    made = mission_of(tx)
    place = conversations.of_mission(tx, made.mission_id, Origin("slack", "C1"), PROJECT, T0)
    outbox.notify(tx, "mission", f"mission:{made.mission_id}", T0, project_id=PROJECT, mission_id=made.mission_id)
    deliver_all(tx)
    if is_over:
        end_mission(tx, made.mission_id)
    return place


def letter(tx: Tx) -> None:
    outbox.letter(tx, "token", {"to": ["a@b.co"]}, T0, PROJECT)
    outgoing = table(Outgoing)
    tx.run(outgoing.update().values(status="delivered", delivered_at=T0))


def strangers(tx: Tx) -> None:
    inbox.record_refusal(tx, "slack:UOLD", "slack", T0)
    inbox.record_refusal(tx, "slack:UNEW", "slack", LATER)


def workers(tx: Tx) -> None:
    """One that is gone, one that is gone and holds a lane still, and one that works."""
    mission = mission_of(tx)
    claimed(tx, mission.worker.id, "run_1", "wrk_holds")
    for ident, state in (("wrk_gone", "gone"), ("wrk_holds", "gone"), ("wrk_works", "running")):
        tx.add(Worker, id=ident, host="h", pid=1, process_started="1", state=state, started_at=T0, beat_at=T0)


def events(tx: Tx) -> None:
    """Taken up in an open mission, taken up in one that has ended, and still to be taken up there."""
    for is_over in (False, True):
        made = mission_of(tx)
        missions.notify(tx, made.mission_id, "over" if is_over else "open", {}, T0)
        missions.consume(tx, [row.id for row in missions.pending(tx, made.mission_id)], T0)
        if is_over:
            missions.notify(tx, made.mission_id, "pending", {}, T0)
            end_mission(tx, made.mission_id)


def checkpoints(tx: Tx) -> None:
    made = mission_of(tx)
    where: dict[str, Any] = {"thread_id": made.mission_id, "namespace": ""}
    for ident in ("1", "2"):
        tx.add(Checkpoint, **where, id=ident, data={}, details={}, created_at=T0)
        tx.add(CheckpointWrite, **where, checkpoint_id=ident, task_id="t", idx=0, channel="c", value=1)
    end_mission(tx, made.mission_id)


def incidents(tx: Tx) -> None:
    for number, kind in enumerate(("LOOP", "LOOP", "BREAKER")):
        tx.add(
            Incident, id=f"inc_{number}", kind=kind, project_id=PROJECT, text="x", data={},
            created_at=T0 + timedelta(seconds=number),
        )  # fmt: skip


def uses(tx: Tx) -> None:
    tx.add(
        Lesson, id="les_1", kind="rule", rule="r", rule_digest="d", confidence=0.5, evidence=[], created_at=T0,
        updated_at=T0,
    )  # fmt: skip
    for number in range(203):
        at = T0 + timedelta(seconds=number)
        tx.add(LessonUse, lesson_id="les_1", run_id=f"{number:03}", outcome="helped", shown_at=at, decided_at=at)


def only(count: int) -> Callable[[list[Any]], bool]:
    return lambda rows: len(rows) == count


@pytest.mark.parametrize(
    ("furnish", "model", "kept"),
    [
        (alerts, Outgoing, only(1)),
        (alerts, Alert, lambda rows: [row.text for row in rows] == ["open"]),
        (questions, Outgoing, lambda rows: [row.subject for row in rows] == ["approval:apr_open"]),
        (letter, Outgoing, only(0)),
        (strangers, Incoming, lambda rows: [row.identity for row in rows] == ["slack:UNEW"]),
        (workers, Worker, lambda rows: {row.id for row in rows} == {"wrk_holds", "wrk_works"}),
        (events, MissionEvent, lambda rows: {row.kind for row in rows} == {"open", "pending"}),
        (checkpoints, Checkpoint, lambda rows: [row.id for row in rows] == ["2"]),
        (checkpoints, CheckpointWrite, lambda rows: [row.checkpoint_id for row in rows] == ["2"]),
        (incidents, Incident, lambda rows: {row.id for row in rows} == {"inc_1", "inc_2"}),
        (uses, LessonUse, only(200)),
    ],
)
async def test_what_nothing_needs_goes_and_what_something_needs_stays(
    store: Store, tmp_path: Path, furnish: Furnish, model: type[SQLModel], kept: Callable[[list[Any]], bool]
) -> None:
    await store.write(furnish)
    before = await store.read(lambda tx: tx.rows(sa.select(table(model))))
    assert await job.prune(runtime_of(store, tmp_path, T0 + timedelta(days=1))) == {}
    await job.prune(runtime_of(store, tmp_path, LATER))
    found = await store.read(lambda tx: tx.rows(sa.select(table(model))))
    assert kept(found), found
    assert len(found) < len(before)


async def test_the_thread_of_a_mission_goes_once_it_has_long_ended_and_nothing_more_is_said_of_it(
    store: Store, tmp_path: Path
) -> None:
    over = await store.write(lambda tx: thread(tx, is_over=True))
    going_on = await store.write(lambda tx: thread(tx, is_over=False))
    await job.prune(runtime_of(store, tmp_path, LATER))
    left = await store.read(lambda tx: {row.id for row in tx.rows(table(Conversation).select())})
    assert (over in left, going_on in left) == (False, True)
    mission_id = over.partition("/")[2]
    about: dict[str, Any] = {"now": T0, "project_id": PROJECT, "mission_id": mission_id}
    await store.write(lambda tx: outbox.notify(tx, "mission", f"mission:{mission_id}", **about))
    said = await store.read(lambda tx: [row.conversation_id for row in tx.rows(table(Outgoing).select())])
    assert said == [going_on]


async def test_contents_go_when_nothing_refers_to_them_and_stay_when_they_are_put_again(
    store: Store, tmp_path: Path
) -> None:
    def furnish(tx: Tx) -> None:
        mission_of(tx)
        for version in (b"one", b"two"):
            blobs.write_file(tx, PROJECT, "a.txt", version, T0, base_version=0, run_id=None)
        for loose in (b"loose", b"again", b"attached"):
            blobs.put(tx, loose, T0)
        blobs.put(tx, b"again", LATER)
        outbox.letter(tx, "t", {"attachments": [{"blob": digest(b"attached")}]}, T0, PROJECT)

    await store.write(furnish)
    await job.prune(runtime_of(store, tmp_path, LATER))
    left = await store.read(lambda tx: {bytes(row.data) for row in tx.rows(table(Blob).select())})
    assert left == {b"one", b"two", b"again", b"attached"}


async def test_replaced_versions_of_files_go_with_runs_but_not_since_an_open_mission_began(
    store: Store, tmp_path: Path
) -> None:
    def furnish(tx: Tx) -> str:
        mission_id = mission_of(tx).mission_id
        for number, version in enumerate((b"one", b"two", b"three")):
            moment = T0 + timedelta(seconds=number)
            blobs.write_file(tx, PROJECT, "a.txt", version, moment, base_version=number, run_id=None)
        return mission_id

    def versions(tx: Tx) -> list[int]:
        return [row.version for row in tx.rows(table(WorkspaceFile).select())]

    mission_id = await store.write(furnish)
    await job.prune(runtime_of(store, tmp_path, LATER, runs_days=30))
    assert await store.read(versions) == [1, 2, 3]
    await store.write(end_mission, mission_id)
    await job.prune(runtime_of(store, tmp_path, LATER))
    assert await store.read(versions) == [1, 2, 3]
    await job.prune(runtime_of(store, tmp_path, LATER, runs_days=30))
    assert await store.read(versions) == [3]
