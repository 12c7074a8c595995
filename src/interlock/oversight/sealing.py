"""Sealing the audit log: batches of activities are chained and signed, and the newest head is published.

Runs beside the work: what is sealed is read beside the writer, and each link is one small row. The arithmetic is the
store's, checking is `verification`'s. Source: row I4.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from interlock.core.clock import Clock
from interlock.core.errors import Conflict, InterlockError
from interlock.core.text import amount
from interlock.oversight import audit_keys, heads
from interlock.oversight.audit_keys import AuditKeyError
from interlock.settings import Settings
from interlock.store import audit, chain, seals
from interlock.store.chain import ANEW, BATCH, Key, Keyring
from interlock.store.engine import Store
from interlock.store.leaders import LeadershipLost
from interlock.store.retention import TAMPERED
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.context import Runtime

EVERY_S = 60.0
LOOK_S = 5.0
"""How often it is looked whether a batch is full before its time."""
MOST_BATCHES = 200
"""Of one sweep; what is left is the next one's."""
TRIES = 5
KEY_ALERT, HEAD_ALERT = "AUDIT_KEY", "AUDIT_HEAD"
_log = logging.getLogger("interlock.audit")


class Place(Protocol):
    """What sealing needs; a runtime is one, and the desk's counter."""

    @property
    def settings(self) -> Settings: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def store(self) -> Store: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a round of sealing came to."""

    batches: int
    activities: int
    head: Any | None
    """The newest link."""


class Sealer:
    """The job of whoever leads: a batch each minute, or as soon as a thousand activities wait."""

    def __init__(self) -> None:
        self._sealed_at: float | None = None

    async def sweep(self, runtime: "Runtime") -> str:
        """Seals where it is time to.

        Raises StoreError; a key that is missing is an alert.
        """
        now = runtime.clock.monotonic()
        is_due = self._sealed_at is None or now - self._sealed_at >= EVERY_S
        if not is_due and (await runtime.store.read(seals.behind))[1] < seals.AT_ONCE:
            return "nothing to seal yet"
        try:
            found = await seal(runtime, late=is_due)
        except AuditKeyError as error:
            await runtime.store.write(_tell_key, str(error), runtime.settings.project, runtime.clock.now())
            self._sealed_at = now
            return f"nothing is sealed: {error}"
        if is_due:
            self._sealed_at = now
        batches = amount(found.batches, "batch", "batches")
        return f"{amount(found.activities, 'activity', 'activities')} sealed in {batches}"


async def seal(place: Place, *, late: bool = True) -> Sealed:
    """Seals what there is, in batches, and publishes the newest head.

    Any process may at any time: of two at once, one finds the other's link and looks again.

    Raises AuditKeyError if there is no key to go on with, StoreError.
    """
    store = place.store
    keys, _ = await _ready(place)
    assert keys.current is not None
    batches = activities = misses = 0
    while batches < MOST_BATCHES and misses < TRIES:
        now = place.clock.now()
        found = await store.read(seals.unsealed, now, late=late)
        if not found.ids:
            break
        values = chain.link(keys.current, found.last, BATCH, found.ids, found.leaves, now, floor=found.floor)
        try:
            await store.write(seals.put, values["number"] - 1, {**values, "horizon": found.horizon})
        except LeadershipLost:
            raise
        except Conflict:
            misses += 1
            continue
        batches, activities = batches + 1, activities + len(found.ids)
    newest = await store.read(seals.last)
    if await store.read(audit.count_open, KEY_ALERT):
        await store.write(audit.settle, KEY_ALERT, KEY_ALERT, place.clock.now())
    await _publish(place, newest)
    return Sealed(batches, activities, newest)


async def _ready(place: Place) -> tuple[Keyring, Any | None]:
    """The keys, one of which seals; made in the home where none was ever used.

    Raises AuditKeyError.
    """
    settings = place.settings
    newest = await place.store.read(seals.last)
    keys = await asyncio.to_thread(audit_keys.keyring, settings)
    if keys.current is None:
        if newest is not None:
            raise AuditKeyError(
                f"the audit log is sealed with key `{newest.key_id}`, which is not here: set INTERLOCK_AUDIT__KEY or"
                f" bring back `{audit_keys.home_file(settings)}`; if the key is lost, `interlock audit anew`"
            )
        keys = Keyring.of(await asyncio.to_thread(audit_keys.make, audit_keys.home_file(settings)), keys.known.values())
    if newest is not None and newest.key_id not in keys.known:
        raise AuditKeyError(
            f"the audit log is sealed with key `{newest.key_id}`, which is none of yours: name its file in"
            " `audit.old_key_files`; if it is lost, `interlock audit anew`"
        )
    if newest is not None and not chain.is_sealed(newest, keys):
        await place.store.write(
            _tell_tampered, f"batch {newest.number} of the audit log is not as it was sealed", newest.number,
            settings.project, place.clock.now(),
        )  # fmt: skip
    return keys, newest


async def begin_anew(place: Place, note: Any) -> Any:
    """Goes on with a key that the chain does not know, since the one before is lost; `note(tx, link, now)` tells of it.

    Raises AuditKeyError if there is no key, and Conflict if the chain knows it: then nothing is lost.
    """
    newest = await place.store.read(seals.last)
    keys = await asyncio.to_thread(audit_keys.keyring, place.settings)
    if newest is None or newest.key_id in keys.known:
        raise Conflict("the audit log goes on with the keys there are: nothing has to begin anew")
    if keys.current is None:
        made = await asyncio.to_thread(audit_keys.make, audit_keys.home_file(place.settings))
        keys = Keyring.of(made, keys.known.values())
    assert keys.current is not None
    await place.store.write(_anew, keys.current, note, place.clock.now())
    return (await seal(place)).head


def _anew(tx: Tx, key: Key, note: Any, now: datetime) -> None:
    note(tx, seals.last(tx), now)
    seals.mark(tx, key, ANEW, now)


async def _publish(place: Place, newest: Any | None) -> None:
    """Tells the newest head where it was not told yet: to the log, the file, and once a day as an alert."""
    path, settings = place.settings.audit.heads_file, place.settings
    if newest is None:
        return
    try:
        told = await asyncio.to_thread(heads.newest, path) if path is not None else None
        if told is not None and not await _is_there(place, told):
            await place.store.write(
                _tell_tampered, f"head {told.number} of the audit log, which was published, is not in the database",
                told.number, settings.project, place.clock.now(),
            )  # fmt: skip
        if told is None or told.head != newest.head:
            _log.info("audit head %s of epoch %s: %s (key %s)", newest.number, newest.epoch, newest.head, newest.key_id)
            if path is not None:
                await asyncio.to_thread(heads.append, path, newest)
    except OSError as error:
        _log.warning("the audit head cannot be written to `%s`: %s", path, error.strerror or error)
    if settings.audit.announce:
        await place.store.write(_announce, newest, settings.project, place.clock.now())


async def _is_there(place: Place, told: heads.Head) -> bool:
    """Whether a published head is in the chain, or was before a restore of which the chain knows."""

    def look(tx: Tx) -> bool:
        found = next(seals.links(tx, told.number - 1), None)
        if found is not None and found.number == told.number and found.head == told.head:
            return True
        newest = seals.last(tx)
        return newest is not None and newest.epoch > told.epoch

    return await place.store.read(look)


def _tell_key(tx: Tx, why: str, project: str, now: datetime) -> None:
    audit.alert(
        tx, now, project_id=project, severity="critical", kind=KEY_ALERT, subject=KEY_ALERT,
        text=f"the audit log is not sealed any more: {why}", key="audit-key",
    )  # fmt: skip


def _tell_tampered(tx: Tx, what: str, number: int, project: str, now: datetime) -> None:
    audit.alert(
        tx, now, project_id=project, severity="critical", kind=TAMPERED,
        text=f"{what}: look with `interlock audit verify`", key=f"audit-link:{number}",
    )  # fmt: skip


def _announce(tx: Tx, newest: Any, project: str, now: datetime) -> None:
    if audit.was_raised(tx, HEAD_ALERT, now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)):
        return
    audit.settle(tx, HEAD_ALERT, HEAD_ALERT, now)
    audit.alert(
        tx, now, project_id=project, severity="info", kind=HEAD_ALERT, subject=HEAD_ALERT,
        text=f"audit head {newest.number} of epoch {newest.epoch}: {newest.head} (key {newest.key_id})",
        key=f"audit-head:{now:%Y-%m-%d}",
    )  # fmt: skip


async def at_the_end(place: Place) -> None:
    """Seals what is left when a process ends; what stands in the way is told by the next sweep."""
    try:
        async with asyncio.timeout(1.0):
            await seal(place)
    except (InterlockError, TimeoutError) as error:
        _log.info("the audit log could not be sealed at the end: %s", error)
