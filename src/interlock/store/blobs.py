"""Content-addressed blobs, and the versions of a project's files that refer to them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.ids import new_id
from interlock.core.values import digest
from interlock.store.schema import Blob, Project, WorkspaceFile, table
from interlock.store.tx import Tx

BLOBS, FILES, PROJECTS = table(Blob), table(WorkspaceFile), table(Project)
_b, _f = BLOBS.c, FILES.c
FRESH = timedelta(days=1)
"""Days less than the age at which unreferenced blobs are pruned (`pruning.UNUSED_BLOBS`)."""
_HAS = sa.select(_b.created_at).where(_b.hash == b("hash_"))
_PUT = sa.text(
    "INSERT INTO blobs (hash, size, data, created_at) VALUES (:hash_, :bytes_, :data_, :now)"
    " ON CONFLICT (hash) DO UPDATE SET created_at = excluded.created_at"
).bindparams(b("data_", type_=_b.data.type), b("now", type_=_b.created_at.type))
_LOCK = sa.select(PROJECTS.c.id).where(PROJECTS.c.id == b("project")).with_for_update(key_share=True)
_DATA = sa.select(_b.data).where(_b.hash == b("hash_"))
_LATEST = (
    sa.select(FILES).where(_f.project_id == b("project"), _f.path == b("name")).order_by(_f.version.desc()).limit(1)
)
_AS_OF = (
    sa.select(FILES)
    .where(_f.project_id == b("project"), _f.path == b("name"), _f.created_at <= b("moment", type_=_f.created_at.type))
    .order_by(_f.version.desc())
    .limit(1)
)
_LAST_OF_EACH = (
    sa.select(_f.project_id, _f.path, sa.func.max(_f.version).label("version"))
    .group_by(_f.project_id, _f.path)
    .subquery()
)
_SIZES = (
    sa.select(
        _f.project_id,
        sa.func.count().label("count"),
        sa.cast(sa.func.sum(_b.size), sa.BigInteger).label("bytes"),
    )
    .join_from(
        FILES,
        _LAST_OF_EACH,
        sa.and_(
            _f.project_id == _LAST_OF_EACH.c.project_id,
            _f.path == _LAST_OF_EACH.c.path,
            _f.version == _LAST_OF_EACH.c.version,
        ),
    )
    .join(BLOBS, _b.hash == _f.blob)
    .group_by(_f.project_id)
    .order_by(_f.project_id)
)
_NEWEST = (
    sa.select(_f.path, sa.func.max(_f.version).label("version"))
    .where(_f.project_id == b("project"))
    .group_by(_f.path)
    .subquery()
)
_MANIFEST = (
    sa.select(_f.path, _f.version, _f.blob, _f.labels, _b.size)
    .join_from(FILES, _NEWEST, sa.and_(_f.path == _NEWEST.c.path, _f.version == _NEWEST.c.version))
    .join(BLOBS, _b.hash == _f.blob)
    .where(_f.project_id == b("project"))
    .order_by(_f.path)
)


def put(tx: Tx, data: bytes, now: datetime) -> str:
    """Stores bytes once; returns their SHA-256, in hex.

    INVARIANT: storing a blob again refreshes its age and locks its row, so that it is referenced before it can be
    pruned.
    """
    name = digest(data)
    known = tx.one(_HAS, {"hash_": name})
    if known is None or now - known.created_at > FRESH:
        tx.run(_PUT, {"hash_": name, "bytes_": len(data), "data_": data, "now": now})
    return name


def get(tx: Tx, name: str) -> bytes | None:
    """The bytes with a digest; None if there are none."""
    row = tx.one(_DATA, {"hash_": name})
    return None if row is None else bytes(row.data)


def contents(tx: Tx, names: Sequence[str]) -> dict[str, bytes]:
    """The bytes of digests, as far as they are there."""
    found = tx.ones(_DATA, [{"hash_": name} for name in dict.fromkeys(names)])
    return {name: bytes(row.data) for name, row in zip(dict.fromkeys(names), found, strict=True) if row is not None}


def manifest(tx: Tx, project_id: str) -> list[Any]:
    """The current files of a project: path, version, blob, labels, size."""
    return tx.rows(_MANIFEST, {"project": project_id})


def sizes(tx: Tx) -> list[Any]:
    """How many current files each project has, and how many bytes they are: project_id, count, bytes."""
    return tx.rows(_SIZES)


def latest(tx: Tx, project_id: str, path: str) -> Any | None:
    """The newest version of one file; its blob is None if it was removed."""
    return tx.one(_LATEST, {"project": project_id, "name": path})


def as_of(tx: Tx, project_id: str, path: str, moment: datetime) -> Any | None:
    """The version of a file that was current at a given time."""
    return tx.one(_AS_OF, {"project": project_id, "name": path, "moment": moment})


def write_file(
    tx: Tx,
    project_id: str,
    path: str,
    data: bytes | None,
    now: datetime,
    *,
    base_version: int,
    run_id: str | None,
    labels: Sequence[str] = (),
) -> tuple[int, bool]:
    """Adds a version of a file (None removes it); returns its number, and whether it conflicts with another writer's.

    Version numbers of a project are assigned one at a time: its row is locked until the commit.
    """
    tx.one(_LOCK, {"project": project_id})
    newest = latest(tx, project_id, path)
    version = 1 if newest is None else newest.version + 1
    tx.add(
        WorkspaceFile,
        id=new_id("fil"),
        project_id=project_id,
        path=path,
        version=version,
        blob=None if data is None else put(tx, data, now),
        base_version=base_version,
        run_id=run_id,
        labels=list(labels),
        created_at=now,
    )
    return version, base_version != version - 1
