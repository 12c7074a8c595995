"""LangGraph's checkpoints in our tables, as JSON only: written at once, or buffered for a transaction of our own.

The coordinator decides when a thread's step is committed.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.types import Interrupt

from interlock.core.clock import Clock
from interlock.core.errors import InterlockError
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.work import checkpoints
from interlock.store.work.checkpoints import Place, Saved, SavedWrite

MARK = "$interrupt"


class NotJson(InterlockError):
    """A node put a value into the graph's state that is not JSON."""

    def __init__(self, where: str, kind: str) -> None:
        self.where, self.kind = where, kind
        super().__init__(f"`{where}` of the graph's state is a {kind}: it holds JSON only")


class StoreSaver(BaseCheckpointSaver[int]):
    """Checkpoints in the store, each write in a transaction of its own; asynchronous only."""

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__()
        self.store, self.clock = store, clock

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names; without one, the latest of its thread."""
        return await self.store.read(_read, *_thread(config), get_checkpoint_id(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The matching checkpoints, newest first."""
        wanted = config["configurable"] if config else {}
        found = await self.store.read(
            _list,
            thread_id=wanted.get("thread_id"),
            namespace=wanted.get("checkpoint_ns"),
            checkpoint_id=wanted.get("checkpoint_id"),
            before_id=get_checkpoint_id(before) if before else None,
        )
        matching = [
            each for each in found if all(each.metadata.get(k) == v for k, v in (filter or {}).items())
        ]  # fmt: skip
        for each in matching[:limit]:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint. Raises NotJson."""
        saved = _saved(config, checkpoint, metadata)
        await self._keep(saved)
        return _config(saved.place)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores pending writes of a checkpoint. Raises NotJson."""
        place = Place(*_thread(config), config["configurable"]["checkpoint_id"])
        await self._keep_writes(
            [
                SavedWrite(
                    place, task_id, WRITES_IDX_MAP.get(channel, i), channel, to_json(value, channel), task_path
                )
                for i, (channel, value) in enumerate(writes)
            ]
        )  # fmt: skip

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread."""
        await self.store.write(checkpoints.forget, thread_id)

    async def _keep(self, saved: Saved) -> None:
        await self.store.write(checkpoints.put, saved, self.clock.now())

    async def _keep_writes(self, writes: list[SavedWrite]) -> None:
        await self.store.write(checkpoints.put_writes, writes)


class BufferedSaver(StoreSaver):
    """Reads from the store and writes nothing: what a graph puts is buffered until a unit of the store takes it.

    For one step of one thread; `anew` starts the thread as if nothing were stored of it.
    """

    def __init__(self, store: Store, clock: Clock, *, anew: bool = False) -> None:
        super().__init__(store, clock)
        self.anew = anew
        self.saved: Saved | None = None
        self.writes: list[SavedWrite] = []

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The stored checkpoint; none if the thread starts anew."""
        return None if self.anew else await super().aget_tuple(config)

    def commit(self, tx: Tx) -> None:
        """Stores the buffered writes in the caller's transaction. Raises Conflict if the thread has advanced."""
        if self.saved is not None:
            if self.anew:
                checkpoints.forget(tx, self.saved.place.thread_id)
            pending = [write for write in self.writes if write.place == self.saved.place]
            checkpoints.move_on(tx, self.saved, pending, self.clock.now())

    async def _keep(self, saved: Saved) -> None:
        parent = saved.parent_id if self.saved is None else self.saved.parent_id
        self.saved = Saved(saved.place, parent, saved.data, saved.details)

    async def _keep_writes(self, writes: list[SavedWrite]) -> None:
        self.writes.extend(writes)


def to_json(value: Any, where: str) -> Any:
    """The value as JSON; interrupts, the only objects that LangGraph itself writes, become marked dicts.

    Raises NotJson for anything that could not be restored exactly.
    """
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and value - value == 0):
        return value
    if isinstance(value, Interrupt):
        return {MARK: {"id": value.id, "value": to_json(value.value, where)}}
    if isinstance(value, list) or (isinstance(value, tuple) and all(isinstance(v, Interrupt) for v in value)):
        return [to_json(each, where) for each in value]
    if isinstance(value, dict) and MARK not in value and all(isinstance(key, str) for key in value):
        return {key: to_json(each, f"{where}.{key}") for key, each in value.items()}
    raise NotJson(where, type(value).__name__)


def from_json(value: Any) -> Any:
    """The inverse of `to_json`."""
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if isinstance(value, dict):
        if MARK in value:
            return Interrupt(value=from_json(value[MARK]["value"]), id=value[MARK]["id"])
        return {key: from_json(each) for key, each in value.items()}
    return value


def _thread(config: RunnableConfig) -> tuple[str, str]:
    return config["configurable"]["thread_id"], config["configurable"].get("checkpoint_ns", "")


def _config(place: Place) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": place.thread_id, "checkpoint_ns": place.namespace, "checkpoint_id": place.id,
        }
    }  # fmt: skip


def _saved(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> Saved:
    thread_id, namespace = _thread(config)
    return Saved(
        Place(thread_id, namespace, checkpoint["id"]),
        get_checkpoint_id(config),
        to_json(dict(checkpoint), "checkpoint"),
        to_json(dict(get_checkpoint_metadata(config, metadata)), "metadata"),
    )


def _read(tx: Tx, thread_id: str, namespace: str, checkpoint_id: str | None) -> CheckpointTuple | None:
    row = checkpoints.get(tx, thread_id, namespace, checkpoint_id)
    return None if row is None else _tuple(tx, row)


def _list(tx: Tx, /, **wanted: Any) -> list[CheckpointTuple]:
    return [_tuple(tx, row) for row in checkpoints.listed(tx, **wanted)]


def _tuple(tx: Tx, row: Any) -> CheckpointTuple:
    place = Place(row.thread_id, row.namespace, row.id)
    return CheckpointTuple(
        config=_config(place),
        checkpoint=cast(Checkpoint, from_json(row.data)),
        metadata=cast(CheckpointMetadata, from_json(row.details)),
        parent_config=_config(Place(row.thread_id, row.namespace, row.parent_id)) if row.parent_id else None,
        pending_writes=[(w.task_id, w.channel, from_json(w.value)) for w in checkpoints.pending(tx, place)],
    )
