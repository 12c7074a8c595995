"""The home on this machine: its folder, its database, and the person who sits here; nothing that executes."""

import asyncio
import contextlib
import os
import pwd
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.core.clock import Clock, SystemClock
from interlock.core.errors import InterlockError
from interlock.core.telemetry import SILENT, Telemetry
from interlock.desk.context import Person
from interlock.desk.identities.people import unmistakable
from interlock.settings import Settings
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from interlock.worker.home import HomeLock

if TYPE_CHECKING:
    from interlock.policy.rules import Policy


@dataclass(frozen=True, slots=True)
class LocalDesk:
    """The desk without the parts that execute runs: enough to look, answer and cancel."""

    settings: Settings
    clock: Clock
    store: Store

    @property
    def policy(self) -> "Policy":
        """The policy as its file is now; read only if a call is decided again.

        Raises ConfigError with all faults of the file.
        """
        from interlock.app.config import load_policy

        return load_policy(self.settings.policy)


@contextlib.asynccontextmanager
async def open_desk(settings: Settings, *, surface: str, anew: bool = False) -> AsyncIterator[tuple[LocalDesk, Person]]:
    """The desk over an existing database, or with `anew` over one that is made, and the person at this machine.

    Raises InterlockError if the home has no database yet, and what opening a store raises.
    """
    if not anew and not is_there(settings):
        where, variable = settings.home, "INTERLOCK_HOME"
        if database_file(settings).parent != settings.home:
            where, variable = database_file(settings), "INTERLOCK_DATABASE_URL"
        raise InterlockError(
            f"there is nothing at `{where}` yet: start a mission with `interlock run`, or set {variable}"
        )
    async with open_store(settings) as store:
        clock = SystemClock()
        yield LocalDesk(settings, clock, store), await local_person(settings, store, clock, surface)


def is_there(settings: Settings) -> bool:
    """Whether the home has a database already; a server's counts as there."""
    return not settings.is_embedded or database_file(settings).exists()


def database_file(settings: Settings) -> Path:
    """The file of an embedded database."""
    return Path(settings.database_url.removeprefix("sqlite:///"))


def home_lock(settings: Settings) -> HomeLock:
    """The lock held by the one process that executes the runs of an embedded database."""
    return HomeLock(settings.home, database_file(settings) if settings.is_embedded else None)


def what_is_executed(settings: Settings) -> str:
    """What `home_lock` protects, for messages."""
    home, file = settings.home, database_file(settings)
    elsewhere = settings.is_embedded and file.resolve().parent != home.resolve()
    return f"the home `{home}`" + (f", or its database `{file}` for another home," if elsewhere else "")


def directly(settings: Settings) -> tuple[str, bool]:
    """The URL for work that takes its time, past the pooler where there is a way; and whether it leads to one."""
    direct = settings.database_direct_url
    return direct or settings.database_url, settings.database_pooler and direct is None


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """The migrated database of the settings, its home made where there is none; watched where telemetry is set up.

    Raises StoreError, ConfigError, and InterlockError if the home cannot be made.
    """
    make_home(settings.home)
    url, pooled = directly(settings)
    await migrate.upgrade(url, pooled=pooled)
    telemetry = await telemetry_of(settings)
    direct, pooled = settings.database_direct_url, settings.database_pooler
    try:
        async with Store(settings.database_url, telemetry, pooled=pooled, direct_url=direct) as store:
            yield store
    finally:
        if telemetry.listens:
            await asyncio.to_thread(telemetry.close)


async def telemetry_of(settings: Settings) -> Telemetry:
    """Sentry if a DSN is set, else telemetry that ignores everything; without a DSN, nothing of Sentry is loaded.

    Raises ConfigError for what is no DSN.
    """
    if settings.sentry.dsn is None or not settings.sentry.dsn.get_secret_value():
        return SILENT

    def loaded() -> Telemetry:
        from interlock.integrations.sentry.telemetry import Sentry

        return Sentry(settings.sentry)

    return await asyncio.to_thread(loaded)


def make_home(home: Path) -> None:
    """Creates the home, readable by its owner alone and ignored by git.

    Raises InterlockError if that cannot be done.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = home / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InterlockError(
            f"cannot use the home `{home}`: {problem}: set INTERLOCK_HOME to another folder"
        ) from error


async def local_person(settings: Settings, store: Store, clock: Clock, surface: str) -> Person:
    """The person whose account runs this process: admin of a home that they own, else operator.

    A role that was given to them before stays.
    """
    uid = os.getuid()
    role = "admin" if settings.home.stat().st_uid == uid else "operator"
    row = await store.write(_entered, uid, role, clock.now())
    return Person(id=row.id, name=row.name, role=row.role, surface=surface)


def _entered(tx: Tx, uid: int, role: str, now: datetime) -> Any:
    identity = f"local:{uid}"
    if (known := squad.person(tx, identity)) is not None:
        return known
    name = _account_name(uid)
    return squad.ensure_person(tx, identity, unmistakable(tx, name, f"{name} (uid {uid})"), role, now)


def _account_name(uid: int) -> str:
    """The name of an account as the system has it, whatever the environment says."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return f"uid {uid}"
