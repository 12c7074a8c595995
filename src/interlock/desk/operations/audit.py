"""The audit log: browsing, verifying, exporting, sealing.

The chain is built and verified in `oversight`. Source: row I4.
"""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from interlock.core.clock import moment_of
from interlock.core.errors import InterlockError, Refused, UsageError
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.identities import visibility
from interlock.desk.identities.people import find_person
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View, view, views
from interlock.oversight import audit_keys, audit_sources, sealing
from interlock.oversight import heads as published
from interlock.oversight.audit_findings import Report
from interlock.oversight.audit_keys import AuditKeyError
from interlock.oversight.verification import verify as verified
from interlock.settings import Settings
from interlock.store.auditing import audit as store
from interlock.store.auditing import seals
from interlock.store.auditing.chain import Keyring
from interlock.store.tx import Tx

__all__ = ["Report", "activities", "anew", "export", "heads", "seal", "standing", "verify", "verify_export"]
MOST = 100
_AGO = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def standing(settings: Settings) -> tuple[bool, str]:
    """Whether the log can be sealed, and with which key, in words. Blocking I/O."""
    try:
        keys = audit_keys.keyring(settings)
    except AuditKeyError as error:
        return False, str(error)
    home = audit_keys.default_path(settings)
    if settings.audit.key_file is not None:
        sealing = f"sealed with key {_id(keys)} of {settings.audit.key_file}"
    elif settings.audit.key is not None:
        sealing = f"sealed with key {_id(keys)} of the settings"
    elif keys.current is not None:
        sealing = f"sealed with key {_id(keys)}, which was made in {home}: keep a copy, or set `audit.key_file`"
    else:
        sealing = f"a key is made in {home} at the first start, unless `audit.key_file` names one"
    published = settings.audit.heads_file
    return (
        True,
        f"{sealing}; heads {f'go to {published}' if published else 'are not published: set `audit.heads_file`'}",
    )


def _id(keys: Keyring) -> str:
    return keys.current.id if keys.current is not None else "none"


async def activities(
    context: DeskContext,
    *,
    mission: str | None = None,
    task: str | None = None,
    run: str | None = None,
    actor: str | None = None,
    action: str | None = None,
    since: str | None = None,
    after: int | None = None,
    most: int = MOST,
    reader: Person | None = None,
) -> list[View]:
    """Activities in order: those after an id, or else the newest.

    `actor` is an id, a person's name, or human, agent or system; `since` is `2h`, `3d` or a date. With a `reader`,
    each has `withheld`: whether its details are removed because they are from private channels or chats.

    Raises Unknown for unknown ids, UsageError for an invalid time.
    """
    moment = since_of(since, context.clock.now()) if since else None

    def look(tx: Tx) -> list[View]:
        rows = store.activities(
            tx,
            mission_id=find(tx, "mission", mission) if mission else None,
            task_id=find(tx, "task", task) if task else None,
            run_id=find(tx, "run", run) if run else None,
            actor=_actor(tx, actor) if actor else None,
            action=action.upper() if action else None,
            since=moment,
            after=after or 0,
            most=most,
            newest=after is None,
        )
        return views(rows) if reader is None else visibility.visible_activities(tx, reader, views(rows))

    return await context.store.read(look)


def _actor(tx: Tx, given: str) -> str:
    if given in ("human", "agent", "system") or ":" in given or given.startswith(("agt_", "per_")):
        return given
    with contextlib.suppress(InterlockError):
        return str(find_person(tx, given).id)
    return given


def since_of(text: str, now: datetime) -> datetime:
    """The moment that `2h`, `3d` or an ISO date or time means.

    Raises UsageError.
    """
    try:
        if match := _AGO.fullmatch(text.strip()):
            return now - timedelta(seconds=int(match[1]) * _UNITS[match[2]])
        return moment_of(text, UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"`{text}` is not a time: write `2h`, `3d`, or a date such as `2026-11-22`") from error


async def verify(context: DeskContext, *, heads: Path | None = None, key_file: Path | None = None) -> Report:
    """Verifies the log of this database, including against published heads.

    Raises UsageError, and AuditKeyError if there is neither a key nor a head.
    """
    keys, published_heads, remarks = await asyncio.to_thread(_anchors, context.settings, heads, key_file)
    report = await context.store.read(lambda tx: verified(audit_sources.DatabaseSource(tx), keys, published_heads))
    report.remarks += remarks
    return report


def verify_export(settings: Settings, path: Path, *, heads: Path | None = None, key_file: Path | None = None) -> Report:
    """Verifies a file written by `export`; needs no database. Blocking I/O.

    Raises UsageError, AuditKeyError.
    """
    source = audit_sources.ExportSource(path)
    keys, published_heads, remarks = _anchors(settings, heads, key_file)
    report = verified(source, keys, published_heads)
    report.remarks += remarks
    if not source.is_whole:
        where = f"at line {source.damaged}" if source.damaged is not None else "before its end"
        report.add("export_damaged", f"`{path}` is damaged or cut off {where}")
    return report


def _anchors(
    settings: Settings, heads: Path | None, key_file: Path | None
) -> tuple[Keyring | None, list[published.Head], list[str]]:
    """The keys and published heads for a verification, and remarks about them."""
    remarks: list[str] = []
    published_heads: list[published.Head] = []
    given = heads or settings.audit.heads_file
    if given is not None and (heads is not None or given.exists()):
        published_heads, strange = published.read(given)
        if strange:
            remarks.append(f"{strange} lines of `{given}` are no heads")
        if not published_heads and heads is not None:
            raise UsageError(f"there is no published head in `{given}`: name the file that `audit.heads_file` names")
        if not published_heads:
            remarks.append(f"there is no head in `{given}` yet: without one, a log that was cut off looks whole")
    elif given is not None:
        remarks.append(f"there is no file `{given}` of published heads: without it, a log that was cut off looks whole")
    keys: Keyring | None = audit_keys.keyring(settings, key_file=key_file)
    if keys is None or not keys.known:
        if not published_heads:
            raise AuditKeyError(
                "there is no audit key here to verify with: set INTERLOCK_AUDIT__KEY, or give --key-file or --heads"
            )
        remarks.append("no seal was checked, as no key is here: only what the published heads pin is certain")
        keys = None
    return keys, published_heads, remarks


async def export(context: DeskContext, person: Person, path: Path | None) -> View:
    """Writes the whole log with its links as JSON lines, to a file of mode 0600 or to standard output.

    Raises Refused for a viewer, UsageError if the file cannot be written.
    """
    require_operator(person, "export the audit log")
    now = context.clock.now()
    await context.store.write(
        store.note, "AUDIT_EXPORTED", person.actor, now, project_id=context.settings.project, surface=person.surface
    )

    def write(tx: Tx) -> tuple[int, int]:
        with _opened(path) as file:
            return audit_sources.export(tx, file, now)

    links, rows = await context.store.read(write)
    return {"file": str(path) if path is not None else None, "links": links, "activities": rows}


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(path)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise UsageError(f"`{path}` cannot be written: {problem}: choose another place") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


async def heads(context: DeskContext, *, most: int = 20) -> list[View]:
    """The newest links of the chain, oldest first: number, epoch, kind, count, head, key_id, sealed_at."""

    def look(tx: Tx) -> list[Any]:
        newest = seals.last(tx)
        return [] if newest is None else list(seals.links(tx, max(0, newest.number - most)))

    rows = await context.store.read(look)
    return [view(row, "number", "epoch", "kind", "count", "head", "key_id", sealed_at=row.created_at) for row in rows]


async def seal(context: DeskContext, person: Person) -> View:
    """Seals unsealed activities at once; returns the numbers of `activities` and `batches`, and the `head`.

    Raises Refused for a viewer, AuditKeyError.
    """
    require_operator(person, "seal the audit log")
    found = await sealing.seal(context)
    return {"activities": found.activities, "batches": found.batches, "head": _head(found.head)}


async def anew(context: DeskContext, person: Person) -> View:
    """Continues sealing with a new key after the previous one was lost; its seals can no longer be verified.

    Raises Refused unless the person is an admin, Conflict if the key is not lost, AuditKeyError.
    """
    if person.role != "admin":
        raise Refused("only an admin may begin the audit log anew: ask one")
    project = context.settings.project

    def note(tx: Tx, lost: Any, now: datetime) -> None:
        store.note(
            tx, "AUDIT_KEY_LOST", person.actor, now, project_id=project, surface=person.surface, key_id=lost.key_id,
            link=lost.number, name=person.name,
        )  # fmt: skip

    return {"head": _head(await sealing.begin_anew(context, note))}


def _head(link: Any | None) -> View | None:
    return view(link, "number", "epoch", "head", "key_id", sealed_at=link.created_at) if link is not None else None
