"""Seals the audit log: activities are hashed into a chain in batches, signed, and the newest head is published.

Does not slow other work: activities are read without occupying the writer, and each link is one small row. The chain's
format is in `store.auditing.chain`, verification in `verification`. Source: row I4.
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
from interlock.store.auditing import audit, chain, seals
from interlock.store.auditing.chain import ANEW, BATCH, Key, Keyring
from interlock.store.duties.leaders import LeadershipLost
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep.retention import TAMPERED

if TYPE_CHECKING:
    from interlock.agents.runtime import Runtime

EVERY_S = 60.0
LOOK_S = 5.0
"""How often to check whether a full batch is waiting before `EVERY_S` is over."""
MOST_BATCHES = 200
"""Most batches of one sweep; the next one continues."""
TRIES = 5
KEY_ALERT, HEAD_ALERT = "AUDIT_KEY", "AUDIT_HEAD"
_log = logging.getLogger("interlock.audit")


class SealingContext(Protocol):
    """The dependencies of sealing; a `Runtime` is one, and so is the desk's `DeskContext`."""

    @property
    def settings(self) -> Settings: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def store(self) -> Store: ...


@dataclass(frozen=True, slots=True)
class Sealed:
    """The result of a round of sealing."""

    batches: int
    activities: int
    head: Any | None
    """The newest link."""


class Sealer:
    """The leader's job: seals a batch each minute, or as soon as a thousand activities wait."""

    def __init__(self) -> None:
        self._sealed_at: float | None = None

    async def sweep(self, runtime: "Runtime") -> str:
        """Seals if it is due. A missing key raises an alert.

        Raises StoreError.
        """
        now = runtime.clock.monotonic()
        is_due = self._sealed_at is None or now - self._sealed_at >= EVERY_S
        if not is_due and (await runtime.store.read(seals.behind))[1] < seals.AT_ONCE:
            return "nothing to seal yet"
        try:
            found = await seal(runtime, late=is_due)
        except AuditKeyError as error:
            await runtime.store.write(_alert_key, str(error), runtime.settings.project, runtime.clock.now())
            self._sealed_at = now
            return f"nothing is sealed: {error}"
        if is_due:
            self._sealed_at = now
        batches = amount(found.batches, "batch", "batches")
        return f"{amount(found.activities, 'activity', 'activities')} sealed in {batches}"


async def seal(context: SealingContext, *, late: bool = True) -> Sealed:
    """Seals all unsealed activities, in batches, and publishes the newest head.

    Any process may call this at any time: if two race, one gets a conflict and retries after the other's link.

    Raises AuditKeyError if there is no usable key, StoreError.
    """
    store = context.store
    keys, _ = await _ready(context)
    assert keys.current is not None
    batches = activities = misses = 0
    while batches < MOST_BATCHES and misses < TRIES:
        now = context.clock.now()
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
        await store.write(audit.settle, KEY_ALERT, KEY_ALERT, context.clock.now())
    await _publish(context, newest)
    return Sealed(batches, activities, newest)


async def _ready(context: SealingContext) -> tuple[Keyring, Any | None]:
    """The keys, with a current one; it is generated in the home if the log has never been sealed.

    Raises AuditKeyError.
    """
    settings = context.settings
    newest = await context.store.read(seals.last)
    keys = await asyncio.to_thread(audit_keys.keyring, settings)
    if keys.current is None:
        if newest is not None:
            raise AuditKeyError(
                f"the audit log is sealed with key `{newest.key_id}`, which is not here: set INTERLOCK_AUDIT__KEY or"
                f" bring back `{audit_keys.default_path(settings)}`; if the key is lost, `interlock audit anew`"
            )
        keys = Keyring.of(
            await asyncio.to_thread(audit_keys.make, audit_keys.default_path(settings)), keys.known.values()
        )
    if newest is not None and newest.key_id not in keys.known:
        raise AuditKeyError(
            f"the audit log is sealed with key `{newest.key_id}`, which is none of yours: name its file in"
            " `audit.old_key_files`; if it is lost, `interlock audit anew`"
        )
    if newest is not None and not chain.is_sealed(newest, keys):
        await context.store.write(
            _alert_tampered, f"batch {newest.number} of the audit log is not as it was sealed", newest.number,
            settings.project, context.clock.now(),
        )  # fmt: skip
    return keys, newest


async def begin_anew(context: SealingContext, note: Any) -> Any:
    """Continues the chain with a new key after the previous one was lost; `note(tx, link, now)` records that.

    Raises AuditKeyError if there is no key, and Conflict if the previous key is still available.
    """
    newest = await context.store.read(seals.last)
    keys = await asyncio.to_thread(audit_keys.keyring, context.settings)
    if newest is None or newest.key_id in keys.known:
        raise Conflict("the audit log goes on with the keys there are: nothing has to begin anew")
    if keys.current is None:
        made = await asyncio.to_thread(audit_keys.make, audit_keys.default_path(context.settings))
        keys = Keyring.of(made, keys.known.values())
    assert keys.current is not None
    await context.store.write(_anew, keys.current, note, context.clock.now())
    return (await seal(context)).head


def _anew(tx: Tx, key: Key, note: Any, now: datetime) -> None:
    note(tx, seals.last(tx), now)
    seals.mark(tx, key, ANEW, now)


async def _publish(context: SealingContext, newest: Any | None) -> None:
    """Publishes the newest head if it has not been yet: in the log, in the file, and once a day as an alert."""
    path, settings = context.settings.audit.heads_file, context.settings
    if newest is None:
        return
    try:
        head = await asyncio.to_thread(heads.newest, path) if path is not None else None
        if head is not None and not await _is_in_chain(context, head):
            await context.store.write(
                _alert_tampered, f"head {head.number} of the audit log, which was published, is not in the database",
                head.number, settings.project, context.clock.now(),
            )  # fmt: skip
        if head is None or head.head != newest.head:
            _log.info("audit head %s of epoch %s: %s (key %s)", newest.number, newest.epoch, newest.head, newest.key_id)
            if path is not None:
                await asyncio.to_thread(heads.append, path, newest)
    except OSError as error:
        _log.warning("the audit head cannot be written to `%s`: %s", path, error.strerror or error)
    if settings.audit.announce:
        await context.store.write(_announce, newest, settings.project, context.clock.now())


async def _is_in_chain(context: SealingContext, head: heads.Head) -> bool:
    """Whether a published head is in the chain, or precedes a restore that the chain records."""

    def look(tx: Tx) -> bool:
        found = next(seals.links(tx, head.number - 1), None)
        if found is not None and found.number == head.number and found.head == head.head:
            return True
        newest = seals.last(tx)
        return newest is not None and newest.epoch > head.epoch

    return await context.store.read(look)


def _alert_key(tx: Tx, why: str, project: str, now: datetime) -> None:
    audit.alert(
        tx, now, project_id=project, severity="critical", kind=KEY_ALERT, subject=KEY_ALERT,
        text=f"the audit log is not sealed any more: {why}", key="audit-key",
    )  # fmt: skip


def _alert_tampered(tx: Tx, what: str, number: int, project: str, now: datetime) -> None:
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


async def seal_on_exit(context: SealingContext) -> None:
    """Seals what is left when a process ends; a failure is reported by the next sweep."""
    try:
        async with asyncio.timeout(1.0):
            await seal(context)
    except (InterlockError, TimeoutError) as error:
        _log.info("the audit log could not be sealed at the end: %s", error)
