"""Checkpoints of graph threads and their pending writes, as JSON.

Converting them to LangGraph's objects is up to `graph.checkpointer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.errors import Conflict
from interlock.store.schema import Checkpoint, CheckpointWrite, table
from interlock.store.tx import Tx

CHECKPOINTS, WRITES = table(Checkpoint), table(CheckpointWrite)
_c, _w = CHECKPOINTS.c, WRITES.c
_OF_THREAD = sa.and_(_c.thread_id == b("thread"), _c.namespace == b("space"))
_WRITES_OF_THREAD = sa.and_(_w.thread_id == b("thread"), _w.namespace == b("space"))
_ONE = sa.select(CHECKPOINTS).where(_OF_THREAD, _c.id == b("checkpoint"))
_LATEST = sa.select(CHECKPOINTS).where(_OF_THREAD).order_by(_c.id.desc()).limit(1)
_PENDING = (
    sa.select(WRITES)
    .where(_WRITES_OF_THREAD, _w.checkpoint_id == b("checkpoint"))
    .order_by(_w.task_path, _w.task_id, _w.idx)
)
_DROP_ONE = sa.delete(CHECKPOINTS).where(_OF_THREAD, _c.id == b("checkpoint"))
_DROP_WRITE = sa.delete(WRITES).where(
    _WRITES_OF_THREAD, _w.checkpoint_id == b("checkpoint"), _w.task_id == b("task"), _w.idx == b("position")
)
_DROP_WRITES = sa.delete(WRITES).where(_WRITES_OF_THREAD, _w.checkpoint_id == b("checkpoint"))
_FORGET = sa.delete(CHECKPOINTS).where(_c.thread_id == b("thread"))
_FORGET_WRITES = sa.delete(WRITES).where(_w.thread_id == b("thread"))


@dataclass(frozen=True, slots=True)
class Place:
    """The address of a checkpoint: its thread, its namespace (empty except for subgraphs) and its id."""

    thread_id: str
    namespace: str
    id: str

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the statements."""
        return {"thread": self.thread_id, "space": self.namespace, "checkpoint": self.id}


@dataclass(frozen=True, slots=True)
class Saved:
    """A stored checkpoint. `data` is the state, `details` its metadata; ids are ordered by time."""

    place: Place
    parent_id: str | None
    data: dict[str, Any]
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SavedWrite:
    """A pending write of a checkpoint; one with a negative `idx` replaces an earlier one."""

    place: Place
    task_id: str
    idx: int
    channel: str
    value: Any
    task_path: str


def get(tx: Tx, thread_id: str, namespace: str, checkpoint_id: str | None = None) -> Any | None:
    """A checkpoint's row; the latest one if no id is given."""
    params = {"thread": thread_id, "space": namespace, "checkpoint": checkpoint_id}
    return tx.one(_LATEST if checkpoint_id is None else _ONE, params)


def pending(tx: Tx, place: Place) -> list[Any]:
    """The pending writes of a checkpoint, in the order in which they apply."""
    return tx.rows(_PENDING, place.params)


def listed(
    tx: Tx,
    *,
    thread_id: str | None = None,
    namespace: str | None = None,
    checkpoint_id: str | None = None,
    before_id: str | None = None,
) -> list[Any]:
    """The matching checkpoints, newest first within each thread."""
    query = sa.select(CHECKPOINTS).order_by(_c.thread_id, _c.namespace, _c.id.desc())
    for column, wanted in ((_c.thread_id, thread_id), (_c.namespace, namespace), (_c.id, checkpoint_id)):
        if wanted is not None:
            query = query.where(column == wanted)
    return tx.rows(query if before_id is None else query.where(_c.id < before_id))


def put(tx: Tx, saved: Saved, now: datetime) -> None:
    """Stores a checkpoint; replaces one with the same id."""
    place = saved.place
    tx.run(_DROP_ONE, place.params)
    tx.add(
        Checkpoint, thread_id=place.thread_id, namespace=place.namespace, id=place.id, parent_id=saved.parent_id,
        data=saved.data, details=saved.details, created_at=now,
    )  # fmt: skip


def put_writes(tx: Tx, writes: Sequence[SavedWrite]) -> None:
    """Stores pending writes; a regular one that already exists is left unchanged."""
    for write in writes:
        place = write.place
        known = any(row.task_id == write.task_id and row.idx == write.idx for row in pending(tx, place))
        if known and write.idx >= 0:
            continue
        tx.run(_DROP_WRITE, {**place.params, "task": write.task_id, "position": write.idx})
        tx.add(
            CheckpointWrite, thread_id=place.thread_id, namespace=place.namespace, checkpoint_id=place.id,
            task_id=write.task_id, idx=write.idx, channel=write.channel, value=write.value, task_path=write.task_path,
        )  # fmt: skip


def move_on(tx: Tx, saved: Saved, writes: Sequence[SavedWrite], now: datetime) -> None:
    """Replaces a thread's checkpoint with its successor.

    INVARIANT: a thread has one checkpoint, so if two processes continue from the same one, the second fails.

    Raises Conflict.
    """
    place = saved.place
    lost = Conflict(f"thread `{place.thread_id}` has gone on from where this step began: look again")
    if saved.parent_id is None:
        if get(tx, place.thread_id, place.namespace) is not None:
            raise lost
    else:
        seen = Place(place.thread_id, place.namespace, saved.parent_id)
        tx.must(_DROP_ONE, seen.params, 1, lost)
        tx.run(_DROP_WRITES, seen.params)
    put(tx, saved, now)
    put_writes(tx, writes)


def forget(tx: Tx, thread_id: str) -> None:
    """Deletes a thread."""
    tx.run(_FORGET_WRITES, {"thread": thread_id})
    tx.run(_FORGET, {"thread": thread_id})
