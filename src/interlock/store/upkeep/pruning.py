"""Prunes operational records that are no longer needed: found by reads, deleted by id in small batches.

Messages of people and agents are in `retention`; how long each kind is kept, in `oversight.retention`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import OPEN_RUNS
from interlock.store.blobs import BLOBS, FILES
from interlock.store.knowledge.incidents import INCIDENTS
from interlock.store.knowledge.lesson_uses import USES
from interlock.store.knowledge.memories import MEMORIES
from interlock.store.knowledge.memory_versions import VERSIONS
from interlock.store.mailboxes.leases import WORKERS
from interlock.store.messages.conversations import CONVERSATIONS, IS_UNUSED
from interlock.store.messages.inbox import INBOX, SEEN
from interlock.store.messages.outbox import OUTBOX
from interlock.store.schema import (
    Alert,
    Approval,
    ChatMessage,
    ChatRound,
    CheckResult,
    Deliverable,
    Lane,
    Run,
    Task,
    table,
)
from interlock.store.tx import Tx
from interlock.store.upkeep.retention import OVER, mission_is_over
from interlock.store.work.checkpoints import CHECKPOINTS, WRITES
from interlock.store.work.missions import EVENTS

LANES, RUNS, TASKS, DELIVERABLES = table(Lane), table(Run), table(Task), table(Deliverable)
ALERTS, APPROVALS, SAID = table(Alert), table(Approval), table(ChatMessage)
RESULTS = table(CheckResult)
_sd, _cr = SAID.c, RESULTS.c
_TIME = UTCDateTime()
_BEFORE = b("before", type_=_TIME)
_o, _c, _i, _w, _bl, _f, _t = OUTBOX.c, CONVERSATIONS.c, INBOX.c, WORKERS.c, BLOBS.c, FILES.c, TASKS.c
_ev, _cp, _wr, _in, _u, _d = EVENTS.c, CHECKPOINTS.c, WRITES.c, INCIDENTS.c, USES.c, DELIVERABLES.c
_al, _ap = ALERTS.c, APPROVALS.c


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record. `find` selects the keys of those that may be deleted; `drop` deletes one if that still holds:
    its dependants first, then the record itself.
    """

    what: str
    """A short description, in the plural."""
    find: sa.Select[Any]
    drop: tuple[sa.Executable, ...]
    most: int = 200
    """The maximum per batch."""


def found(tx: Tx, kind: Kind, before: datetime) -> list[dict[str, Any]]:
    """Keys of up to a thousand records from before a time that may be deleted."""
    return [row._asdict() for row in tx.rows(kind.find, {"before": before, "most": 1_000})]


def drop(tx: Tx, kind: Kind, keys: Sequence[dict[str, Any]], before: datetime) -> int:
    """Deletes those of the records that may still be deleted; returns how many."""
    gone = 0
    for key in keys:
        given = {**{f"key_{name}": value for name, value in key.items()}, "before": before, "most": 1}
        for beside in kind.drop[:-1]:
            tx.run(beside, given)
        gone += tx.count(kind.drop[-1], given)
    return gone


def _kind(what: str, source: sa.Table, keys: Sequence[str], may_go: sa.ColumnElement[bool], most: int = 200) -> Kind:
    """Records of one table that are deleted if `may_go`."""
    columns = [source.c[name] for name in keys]
    these = [column == b(f"key_{column.name}", type_=column.type) for column in columns]
    find = sa.select(*columns).where(may_go).order_by(*columns).limit(b("most"))
    return Kind(what, find, (sa.delete(source).where(*these, may_go),), most)


def _is_run(status: str) -> sa.ColumnElement[bool]:
    """Worded exactly as in the partial indexes, so that ended runs are not scanned."""
    return RUNS.c.status == sa.text(f"'{status}'")


def _about(prefix: str, ident: Any) -> Any:
    return sa.literal(prefix, sa.String()) + ident


def _whom(prefix: str) -> Any:
    """The subject of a card, looked up by key, to avoid a join of all cards with all alerts or questions."""
    return sa.func.substr(_o.subject, len(prefix) + 1)


_IS_DELIVERED = sa.and_(_o.status == "delivered", _o.delivered_at < _BEFORE)
_IS_SETTLED = sa.or_(
    sa.exists().where(_o.kind == "alert", _al.id == _whom("alert:"), _al.acked_at < _BEFORE),
    sa.exists().where(
        _o.kind == "approval", _ap.id == _whom("approval:"),
        sa.or_(_ap.status.in_(("denied", "expired", "used", "void")), _ap.mission_id.is_(None)),
        sa.or_(
            _ap.answered_at < _BEFORE,
            sa.and_(_ap.status == "void", _ap.answered_at.is_(None), _ap.created_at < _BEFORE),
        ),
    ),
)  # fmt: skip
"""The subject no longer changes. A question that was withdrawn before anybody answered has no `answered_at`."""
_kept, _newer, _later = OUTBOX.alias("kept"), INCIDENTS.alias("newer"), USES.alias("later")
_next_file, _next_point, _point = FILES.alias("next_file"), CHECKPOINTS.alias("next_point"), CHECKPOINTS.alias("point")
_letter = OUTBOX.alias("letter")
_reply, _round = SAID.alias("reply"), table(ChatRound).alias("round")
_open_task, _checked = TASKS.alias("open_task"), TASKS.alias("checked")


def _is_of_ended(mission: Any) -> sa.ColumnElement[bool]:
    return sa.exists().where(_t.id == mission, _t.status.in_(OVER), _t.ended_at < _BEFORE)


def _same(one: Any, other: Any) -> sa.ColumnElement[bool]:
    return sa.func.coalesce(one, "") == sa.func.coalesce(other, "")


REPLIES = _kind("replies", OUTBOX, ("id",), sa.and_(_IS_DELIVERED, _o.kind == "text"))
CARDS = _kind("cards", OUTBOX, ("id",), sa.and_(_IS_DELIVERED, _o.kind.in_(("alert", "approval")), _IS_SETTLED))
SEEN_ALERTS = _kind(
    "alerts",
    ALERTS,
    ("id",),
    sa.and_(_al.acked_at < _BEFORE, ~sa.exists().where(_kept.c.subject == _about("alert:", _al.id))),
)
"""Acknowledged alerts, once no card about them is left."""
LETTERS = _kind(
    "letters", OUTBOX, ("id",),
    sa.and_(
        _IS_DELIVERED, _o.kind == "letter",
        *(~sa.exists().where(_is_run(status), RUNS.c.created_at <= _o.created_at) for status in OPEN_RUNS),
    ),
)  # fmt: skip
"""INVARIANT: an e-mail's row stays as long as a run is open that began before it was written, and might repeat it.
"""
THREADS = _kind(
    "threads of missions", CONVERSATIONS, ("id",),
    sa.and_(
        _c.role == "mission",
        _is_of_ended(_c.mission_id),
        ~sa.exists().where(
            _kept.c.conversation_id == _c.id,
            sa.or_(_kept.c.status != "delivered", _kept.c.delivered_at >= _BEFORE),
        ),
    ),
    most=10,
)  # fmt: skip
"""Threads of missions with their messages; without its thread, a mission is not reported on any more."""
PLACES = _kind("places", CONVERSATIONS, ("id",), IS_UNUSED)
"""Places of replies and chats; they are recreated when needed."""
REQUESTS = _kind(
    "requests", INBOX, ("key",), sa.and_(_i.status == "done", _i.done_at < _BEFORE, _i.key.not_like(f"{SEEN}%"))
)
STRANGERS = _kind("refusals", INBOX, ("key",), sa.and_(_i.key.like(f"{SEEN}%"), _i.done_at < _BEFORE))
ROOM_MESSAGES = _kind(
    "messages of channels", SAID, ("id",),
    sa.and_(
        _sd.created_at < _BEFORE,
        ~sa.exists().where(_reply.c.parent_id == _sd.id, _reply.c.created_at >= _BEFORE),
        ~sa.exists().where(_round.c.channel_id == _sd.channel_id, _round.c.message_id == _sd.id),
    ),
)  # fmt: skip
"""Messages with their reactions, except roots of threads with replies, and messages with pending turns."""
GONE_WORKERS = _kind(
    "workers", WORKERS, ("id",),
    sa.and_(
        _w.state != "running", _w.beat_at < _BEFORE, ~sa.exists().where(LANES.c.holder == _w.id),
        ~sa.exists().where(_is_run("running"), RUNS.c.worker_id == _w.id),
    ),
)  # fmt: skip
MISSION_EVENTS = _kind(
    "events", EVENTS, ("id",), sa.and_(_ev.consumed_at < _BEFORE, mission_is_over(_ev.mission_id, _BEFORE))
)

OLD_CHECKPOINTS = _kind(
    "checkpoints", CHECKPOINTS, ("thread_id", "namespace", "id"),
    sa.and_(
        _is_of_ended(_cp.thread_id),
        sa.exists().where(
            _next_point.c.thread_id == _cp.thread_id,
            _next_point.c.namespace == _cp.namespace,
            _next_point.c.id > _cp.id,
        ),
    ),
    most=50,
)  # fmt: skip
"""All but the last checkpoint of a mission that has ended."""
CHECKPOINT_WRITES = _kind(
    "pending writes", WRITES, ("thread_id", "namespace", "checkpoint_id", "task_id", "idx"),
    sa.and_(
        _is_of_ended(_wr.thread_id),
        ~sa.exists().where(
            _point.c.thread_id == _wr.thread_id, _point.c.namespace == _wr.namespace, _point.c.id == _wr.checkpoint_id
        ),
    ),
)  # fmt: skip
"""Pending writes of deleted checkpoints."""
DECIDED_USES = _kind(
    "uses of lessons", USES, ("lesson_id", "run_id"),
    sa.and_(
        _u.decided_at < _BEFORE,
        sa.select(sa.func.count())
        .where(_later.c.lesson_id == _u.lesson_id, _later.c.shown_at > _u.shown_at)
        .scalar_subquery() >= 200,
    ),
)  # fmt: skip
"""Decided uses, except the last two hundred of each lesson, from which its confidence is computed."""
REPEATED_INCIDENTS = _kind(
    "incidents", INCIDENTS, ("id",),
    sa.and_(
        _in.created_at < _BEFORE,
        mission_is_over(_in.mission_id, _BEFORE),
        sa.exists().where(
            _newer.c.kind == _in.kind, _newer.c.project_id == _in.project_id, _newer.c.created_at > _in.created_at,
            sa.or_(
                _newer.c.mission_id == _in.mission_id,
                sa.and_(_newer.c.mission_id.is_(None), _in.mission_id.is_(None)),
            ),
            _same(_newer.c.task_id, _in.task_id),
            _same(_newer.c.agent_id, _in.agent_id),
        ),
    ),
)  # fmt: skip
"""Repeated incidents, except the newest of each kind."""
FILE_VERSIONS = _kind(
    "versions of files", FILES, ("id",),
    sa.and_(
        sa.exists().where(
            _next_file.c.project_id == _f.project_id, _next_file.c.path == _f.path,
            _next_file.c.version == _f.version + 1, _next_file.c.created_at < _BEFORE,
            ~sa.exists().where(
                _open_task.c.project_id == _f.project_id, _open_task.c.parent_id.is_(None),
                _open_task.c.ended_at.is_(None), _open_task.c.created_at <= _next_file.c.created_at,
            ).correlate(FILES, _next_file),
        ),
    ),
)  # fmt: skip
"""File versions that were superseded before the oldest open mission began."""


_of_ended = sa.and_(
    _cr.created_at < _BEFORE,
    sa.exists().where(_checked.c.id == _cr.task_id, mission_is_over(_checked.c.mission_id, _BEFORE)),
)
_is_last = sa.exists().where(
    _checked.c.id == _cr.task_id, _checked.c.deliverable_id == _cr.deliverable_id, _cr.kind != "gate"
)  # fmt: skip
EARLIER_CHECKS = _kind("results of checks", RESULTS, ("id",), sa.and_(_of_ended, ~_is_last))
"""Results for superseded versions, and the output gate's; results for the last version are evidence."""
_has_words = sa.and_(_of_ended, _cr.detail != "")
WORDS_OF_CHECKS = Kind(
    "words of checks",
    sa.select(_cr.id).where(_has_words).order_by(_cr.id).limit(b("most")),
    (sa.update(RESULTS).where(_cr.id == b("key_id"), _has_words).values(detail=""),),
)
"""The output of check programs. Which check passed for which digest stays."""


def _memories(what: str, may_go: sa.ColumnElement[bool]) -> Kind:
    """Memories that are deleted if `may_go`, with their versions and words."""
    this = MEMORIES.c.id == b("key_id")
    find = sa.select(MEMORIES.c.id).where(may_go).order_by(MEMORIES.c.id).limit(b("most"))
    versions = sa.delete(VERSIONS).where(VERSIONS.c.subject_id == b("key_id"), sa.exists().where(this, may_go))
    return Kind(what, find, (versions, sa.delete(MEMORIES).where(this, may_go)))


PUT_AWAY_MEMORIES = _memories("memories", MEMORIES.c.archived_at < _BEFORE)
"""Archived memories that nobody has restored."""
CONVERSATIONS_KEPT = _memories(
    "memories of conversations", sa.and_(MEMORIES.c.type == "conversation", MEMORIES.c.created_at < _BEFORE)
)
UNUSED_BLOBS = _kind(
    "contents", BLOBS, ("hash",),
    sa.and_(
        _bl.created_at < _BEFORE,
        ~sa.exists().where(_f.blob == _bl.hash),
        ~sa.exists().where(_d.blob == _bl.hash),
        ~sa.exists().where(
            _letter.c.kind == "letter", _letter.c.status != "delivered",
            sa.cast(_letter.c.payload, sa.Text).contains(_bl.hash),
        ),
    ),
    most=5,
)  # fmt: skip
"""INVARIANT: storing a blob again refreshes its age (`blobs.put`), so that it is not deleted meanwhile."""
