"""Retention jobs: delete ended runs and activities by kind and age, and operational records that are no longer needed.

What each batch deletes is in `store.upkeep.retention`; when the jobs run is up to the scheduler. Source: row L6.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Concatenate, ParamSpec, TypeVar

from interlock.agents.runtime import Runtime
from interlock.oversight import audit_keys
from interlock.oversight.audit_keys import AuditKeyError
from interlock.store.auditing.chain import Keyring
from interlock.store.duties.leaders import LeadershipLost
from interlock.store.tx import Tx
from interlock.store.upkeep import partitions, pruning, retention
from interlock.store.upkeep.pruning import Kind
from interlock.store.upkeep.retention import Cut

P = ParamSpec("P")
T = TypeVar("T")
TARGET_S = 0.02
"""How long one batch may hold the writer; batches are made smaller or larger accordingly."""
PAGE = 200
WORKING_DAYS = 7
"""Answered requests and replies to them: much longer than any service keeps redelivering a request."""
CARD_DAYS = 30
"""Cards, alerts, e-mails and the threads of missions, once nothing about them changes any more."""
RECORD_DAYS = 90
"""Refusals, repeated incidents, scored uses of lessons, acknowledged alerts, archived memories."""
MACHINE_DAYS = 2
"""Workers that are gone, events that coordinators have consumed."""
BLOB_DAYS = 7
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class BatchSizer:
    """Adapts the size of a transaction to how long the previous ones took."""

    most: int
    size: int = 20
    longest_s: float = 0.0

    async def write(
        self, runtime: Runtime, unit: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs a unit in a transaction of its own, then leaves the writer free for as long as that took."""
        began = runtime.clock.monotonic()
        result = await runtime.store.write(unit, *args, **kwargs)
        took_s = runtime.clock.monotonic() - began
        self.longest_s = max(self.longest_s, took_s)
        if took_s > TARGET_S:
            self.size = max(self.size // 2, 1)
        elif took_s < TARGET_S / 4:
            self.size = min(self.size * 2, self.most)
        await asyncio.sleep(took_s)
        return result


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a sweep deleted: the numbers of runs and activities, and the monthly partitions dropped."""

    runs: int = 0
    activities: int = 0
    months: tuple[str, ...] = ()
    longest_s: float = 0.0
    """The longest time that one batch took, including its commit and the wait for the writer."""


async def sweep(runtime: Runtime) -> Forgotten:
    """Deletes runs and activities that are older than the settings allow, unless they are still open. The daily job.

    On PostgreSQL it also creates the partitions of the coming months, and drops old ones in which nothing is kept.
    """
    now, keep = runtime.clock.now(), runtime.settings.keep
    await _by_month(runtime, partitions.ensure, now)
    batches = BatchSizer(most=500)
    runs = activities = 0
    months: list[str] = []
    cut = cut_of(runtime, now)
    if cut is not None:
        runs = await _mark_runs(runtime, cut, batches)
        months += await _by_month(runtime, retention.drop_month, max(cut.before, cut.before_chat))
        await _empty_runs(runtime, batches)
    if keep.activities_days is not None:
        before = now - timedelta(days=keep.activities_days)
        activities = await _forget_activities(runtime, before, batches)
        months += await _by_month(runtime, retention.drop_month, before)
    return Forgotten(runs, activities, tuple(months), batches.longest_s)


async def _by_month(
    runtime: Runtime, unit: Callable[Concatenate[Tx, P], str | None], *args: P.args, **kwargs: P.kwargs
) -> list[str]:
    """Creates or drops monthly partitions one by one; one that is locked by a reader is left to the next day's job."""
    done: list[str] = []
    try:
        while (name := await runtime.store.write(unit, *args, **kwargs)) is not None:
            done.append(name)
    except LeadershipLost:
        raise
    except Exception as error:  # noqa: BLE001 (whatever stands in the way, tomorrow is early enough)
        _log.info("the months of the record stay as they are today: %s: %s", type(error).__name__, error)
    return done


def cut_of(runtime: Runtime, now: datetime) -> Cut | None:
    """The times before which runs are deleted; None if never. For chats, the shorter of two periods counts."""
    keep = runtime.settings.keep
    never = now - timedelta(days=36_500)
    runs = never if keep.runs_days is None else now - timedelta(days=keep.runs_days)
    chats = never if keep.messages_days is None else now - timedelta(days=keep.messages_days)
    return None if runs == chats == never else Cut(runs, max(runs, chats))


async def _pages(runtime: Runtime, sift: Callable[[Tx, Sequence[str]], list[str]], after: str) -> tuple[list[str], str]:
    def look(tx: Tx) -> tuple[list[str], str]:
        found = retention.candidates(tx, after, PAGE)
        return sift(tx, found), found[-1] if found else ""

    return await runtime.store.read(look)


async def _mark_runs(runtime: Runtime, cut: Cut, batches: BatchSizer) -> int:
    marked, after = 0, ""
    while True:
        found, after = await _pages(runtime, lambda tx, ids: retention.may_go(tx, ids, cut), after)
        for ident in found:
            while not await batches.write(runtime, retention.mark, ident, cut, batches.size, runtime.clock.now()):
                continue
            marked += 1
        if not after:
            return marked


async def _empty_runs(runtime: Runtime, batches: BatchSizer) -> None:
    after = ""
    while True:
        found, after = await _pages(runtime, retention.is_marked, after)
        while found:
            size = batches.size
            if await batches.write(runtime, _empty_some, found[:size], size) < size:
                del found[:size]
        if not after:
            return


def _empty_some(tx: Tx, run_ids: Sequence[str], most: int) -> int:
    gone = 0
    for ident in run_ids:
        if gone < most:
            gone += retention.empty(tx, ident, most - gone)
    return gone


async def _forget_activities(runtime: Runtime, before: datetime, batches: BatchSizer) -> int:
    gone, after, store = 0, 0, runtime.store
    keys = await asyncio.to_thread(_keys, runtime)
    while found := await store.read(retention.old_activities, after, before, PAGE):
        after = found[-1]
        while found:
            some = found[: batches.size]
            gone += await batches.write(
                runtime, retention.forget_activities, some[0], some[-1], before, runtime.settings.project,
                runtime.clock.now(), keys,
            )  # fmt: skip
            del found[: len(some)]
    return gone


def _keys(runtime: Runtime) -> Keyring | None:
    """The key that seals the deletion of activities; if it is missing, the sealing job raises the alert."""
    try:
        return audit_keys.keyring(runtime.settings)
    except AuditKeyError:
        return None


def kinds(runtime: Runtime) -> tuple[tuple[Kind, int], ...]:
    """The kinds of operational records, and for how many days each is kept."""
    said = runtime.settings.keep.messages_days
    working, cards = (WORKING_DAYS, CARD_DAYS) if said is None else (said, said)
    files = runtime.settings.keep.runs_days
    always = (
        (pruning.REPLIES, working), (pruning.REQUESTS, working), (pruning.CARDS, cards), (pruning.LETTERS, cards),
        (pruning.THREADS, cards), (pruning.SEEN_ALERTS, RECORD_DAYS), (pruning.STRANGERS, RECORD_DAYS),
        (pruning.REPEATED_INCIDENTS, RECORD_DAYS),
        (pruning.DECIDED_USES, RECORD_DAYS), (pruning.GONE_WORKERS, MACHINE_DAYS),
        (pruning.MISSION_EVENTS, MACHINE_DAYS), (pruning.OLD_CHECKPOINTS, MACHINE_DAYS),
        (pruning.CHECKPOINT_WRITES, MACHINE_DAYS), (pruning.PUT_AWAY_MEMORIES, RECORD_DAYS),
        (pruning.PLACES, WORKING_DAYS),
    )  # fmt: skip
    in_rooms = () if said is None else ((pruning.ROOM_MESSAGES, said), (pruning.CONVERSATIONS_KEPT, said))
    of_runs = (pruning.FILE_VERSIONS, pruning.EARLIER_CHECKS, pruning.WORDS_OF_CHECKS)
    versions = () if files is None else tuple((kind, files) for kind in of_runs)
    return (*always, *in_rooms, *versions, (pruning.UNUSED_BLOBS, BLOB_DAYS))


async def prune(runtime: Runtime) -> dict[str, int]:
    """Deletes operational records past their retention; returns how many of each kind. The hourly job."""
    now, forgotten = runtime.clock.now(), {}
    for kind, days in kinds(runtime):
        gone = await _prune(runtime, kind, now - timedelta(days=days))
        if gone:
            forgotten[kind.what] = gone
    return forgotten


async def _prune(runtime: Runtime, kind: Kind, before: datetime) -> int:
    """Deletes a thousand records of a kind at most; the next hour's job continues."""
    keys, gone = await runtime.store.read(pruning.found, kind, before), 0
    batches = BatchSizer(most=kind.most, size=min(kind.most, 20))
    while keys:
        some = keys[: batches.size]
        gone += await batches.write(runtime, pruning.drop, kind, some, before)
        del keys[: len(some)]
    return gone
