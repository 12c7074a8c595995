"""Keeping the database: upgrading it, backing it up while it is used, restoring it from a backup.

How rows are written down and taken back is in `store`.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from interlock.app.local import database_file, directly, home_lock, make_home, what_is_executed
from interlock.core.clock import Clock, SystemClock
from interlock.core.errors import Conflict, InterlockError, Refused, UsageError
from interlock.core.values import Actor, ActorKind
from interlock.oversight import audit_keys
from interlock.settings import Settings
from interlock.store.drivers.postgres import CommitUnknown
from interlock.store.errors import StoreError, StoreTooNew, StoreUnavailable
from interlock.store.upkeep import archive, exchange, migrate, restore, snapshots
from interlock.store.upkeep.archive import Archive, BadArchive, Manifest
from interlock.store.upkeep.epochs import Beginning, Uncertain


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The revisions of a database before and after an upgrade; None if there was no database."""

    found: str | None
    now: str


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore put in place, which effects are uncertain, and where the previous content is kept."""

    manifest: Manifest
    uncertain: Uncertain
    replaced: Path | None


async def revisions(settings: Settings) -> Upgraded:
    """The revision of a database, and the one to which this version would upgrade it. Changes nothing.

    Raises StoreError.
    """
    url, pooled = directly(settings)
    found = await asyncio.to_thread(migrate.revision, url, pooled=pooled)
    is_newer = found is not None and found not in migrate.KNOWN
    return Upgraded(found, found if is_newer and found is not None else migrate.HEAD)


async def upgrade(settings: Settings) -> Upgraded:
    """Upgrades a database to this version's revision, or creates it; executing processes may go on meanwhile.

    Raises StoreError, and InterlockError if the home cannot be made.
    """
    make_home(settings.home)
    planned = await revisions(settings)
    url, pooled = directly(settings)
    await migrate.upgrade(url, pooled=pooled)
    return planned


async def back_up(settings: Settings, path: Path, clock: Clock | None = None) -> Manifest:
    """Writes a snapshot of the whole state to a file, without stopping anything. Source: row L5.

    Raises UsageError, Refused for who is no admin here, StoreError, and InterlockError if the disk is full.
    """
    await asyncio.to_thread(_require_admin, settings, "back the database up")
    await asyncio.to_thread(_refuse_other_files, path)
    now = (clock or SystemClock()).now()
    return await asyncio.to_thread(_backed_up, settings, path, now)


async def begin_anew(
    settings: Settings, path: Path, *, force: bool, paused: bool, keep: bool, clock: Clock | None = None
) -> Restored:
    """Replaces the database's content by a backup; the previous content is kept as a backup of its own.

    `force` shuts out workers that are at work on PostgreSQL; with `paused` nothing starts until `resume`.
    Source: row L5.

    Raises UsageError, Refused, Conflict if somebody executes, BadArchive, StoreError, and InterlockError if the
    disk is full; the database is then as it was.
    """
    make_home(settings.home)
    await asyncio.to_thread(_require_admin, settings, "restore the database")
    now = (clock or SystemClock()).now()
    key = (await asyncio.to_thread(audit_keys.keyring, settings)).current

    def start(manifest: Manifest) -> Beginning:
        actor = Actor(ActorKind.HUMAN, f"local:{os.getuid()}")
        return Beginning(now, manifest.taken_at, actor, settings.project, paused, key)

    with _alone(settings):
        await asyncio.to_thread(_readable, path)
        kept = await asyncio.to_thread(_kept, settings, now) if keep else None
        folder = database_file(settings).parent if settings.is_embedded else settings.home
        url, pooled = directly(settings)
        put = partial(restore.restore, silent_s=None if force else settings.times.reassign_s, pooled=pooled)
        try:
            manifest, uncertain = await asyncio.to_thread(put, url, path, folder, start)
        except CommitUnknown as error:
            was = f"; what was there before is in `{kept}`" if kept is not None else ""
            raise StoreUnavailable(f"{error}{was}") from error
        except InterlockError:
            if kept is not None:
                await asyncio.to_thread(kept.unlink, missing_ok=True)
            raise
    return Restored(manifest, uncertain, kept)


def _backed_up(settings: Settings, path: Path, now: datetime) -> Manifest:
    url, pooled = directly(settings)
    return archive.back_up(url, path, version("interlock"), now, pooled=pooled)


def _kept(settings: Settings, now: datetime) -> Path | None:
    """A backup of what is there now; None if nothing is, or it is damaged and kept as a file.

    Raises Conflict if there is something that cannot be backed up, such as a database of a newer version, which has to
    do so itself.
    """
    url, pooled = directly(settings)
    kept = settings.home / f"replaced-{now:%Y%m%dT%H%M%S}.backup"
    try:
        _backed_up(settings, kept, now)
    except StoreTooNew as error:
        raise Conflict(f"{error}; to replace it without keeping it, give `--no-keep`") from error
    except StoreError as error:
        if exchange.holds_something(url, pooled=pooled):
            problem = f"what is there now cannot be backed up: {error}"
            raise Conflict(f"{problem}; to replace it without keeping it, give `--no-keep`") from error
        return None
    return kept


@contextlib.contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Nobody executes an embedded home meanwhile."""
    lock = home_lock(settings)
    if settings.is_embedded and not lock.acquire():
        holder = lock.holder()
        who = f"process {holder}" if holder else "another process"
        raise Conflict(f"{who} executes {what_is_executed(settings)}: stop it first, then restore")
    with lock:
        yield


def _readable(path: Path) -> None:
    Archive(path).__exit__()


def _refuse_other_files(path: Path) -> None:
    """Only a backup may be replaced by a backup."""
    if not path.exists() or path.is_dir():
        return
    try:
        _readable(path)
    except BadArchive as error:
        raise UsageError(f"`{path}` exists already and is not a backup: name another file") from error


def _require_admin(settings: Settings, what: str) -> None:
    """Lets the person through whose account this is, if they are an admin: of a home that they own, who was never made
    anything else.

    Raises Refused.
    """
    uid, (url, pooled) = os.getuid(), directly(settings)
    try:
        role = snapshots.role_of(url, f"local:{uid}", pooled=pooled)
    except StoreError:
        role = None
    is_owner = not settings.home.exists() or settings.home.stat().st_uid == uid
    if (role or ("admin" if is_owner else "operator")) != "admin":
        raise Refused(f"only an admin may {what}: ask one, or who owns `{settings.home}`")
