"""A person's data: collected for an export, and erased unless the record of work needs it.

Authorisation is up to the desk. A person's decisions stay, under an id that does not identify them.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import ENDED_RUNS, Actor
from interlock.store.auditing import audit, chain, seals
from interlock.store.auditing.audit import ACTIVITIES, ALERTS
from interlock.store.auditing.chain import Keyring
from interlock.store.identities import tokens
from interlock.store.identities.people import IDENTITIES, PEOPLE
from interlock.store.knowledge.lesson_versions import VERSIONS
from interlock.store.messages import feed, outbox
from interlock.store.messages.conversations import CONVERSATIONS
from interlock.store.messages.inbox import INBOX
from interlock.store.runs import markers
from interlock.store.schema import (
    ApprovalAnswer,
    ChannelMember,
    ChatMessage,
    ChatReaction,
    Control,
    Mission,
    Run,
    Schedule,
    Subagent,
    Task,
    TaskMessage,
    TaskTransition,
    table,
)
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.tx import Tx
from interlock.store.upkeep import retention

Clean = Callable[[Any, str | None, str | None], Any]
"""Cleans a value in the context of a mission and a run."""
ERASED = "[erased]"
REDACTED = "ACTIVITIES_REDACTED"
SPOKEN = frozenset({"reason", "note", "text", "words", "comment", "goal", "title", "args"})
"""The fields of a person's own activities that may contain their words."""
JUDGED = (
    "COORDINATOR_DECISION", "APPROVAL_ANSWERED", "APPROVAL_RELEASED", "CHECKS_RUN", "CHECK_WAIVED", "TASK_TRANSITION",
    "CHANNEL_CREATED", "CHANNEL_JOINED", "CHANNEL_LEFT",
)  # fmt: skip
"""Activities with texts by models, programs and others, which may mention anybody."""
MISSIONS, TASKS, RUNS, SCHEDULES = table(Mission), table(Task), table(Run), table(Schedule)
ANSWERS, COMMENTS, TRANSITIONS, CONTROLS = (
    table(ApprovalAnswer),
    table(TaskMessage),
    table(TaskTransition),
    table(Control),
)
SAID, SIGNS, ROOM_MEMBERS = table(ChatMessage), table(ChatReaction), table(ChannelMember)
SUBAGENTS = table(Subagent)
_su = SUBAGENTS.c
_sd, _sg, _rm = SAID.c, SIGNS.c, ROOM_MEMBERS.c
_i, _mi, _r, _s, _an, _tm = INBOX.c, MISSIONS.c, RUNS.c, SCHEDULES.c, ANSWERS.c, COMMENTS.c
_tr, _ap, _a, _c, _v, _al = TRANSITIONS.c, APPROVALS.c, ACTIVITIES.c, CONVERSATIONS.c, VERSIONS.c, ALERTS.c
_WHO = b("who", type_=sa.String())
_THEIR_COMMENTS = sa.and_(_tm.author_kind == "human", _tm.author_id == _WHO)
_THEIR_MOVES = sa.and_(_tr.actor_kind == "human", _tr.actor_id == _WHO)
_THEIR_CHATS = sa.and_(
    _r.kind.in_(("chat", "route")), _r.cause_kind.in_(("message", "room", "comment", "import")), _r.cause_id == _WHO
)  # fmt: skip
_THEIR_WORDS = sa.and_(_sd.author_kind == "person", _sd.author == _WHO)
_THEIR_SIGNS = sa.and_(_sg.author_kind == "person", _sg.author == _WHO)
_HEARD_THEM = _r.channel_id.in_(sa.select(_sd.channel_id).where(_THEIR_WORDS))
"""Runs whose prompts may contain their messages: those of the channels in which they have written."""
_SECTIONS = {
    "missions": sa.select(_mi.id, _mi.project_id, _mi.goal, _mi.created_at).where(_mi.requested_by == _WHO),
    "schedules": sa.select(_s.id, _s.name, _s.kind, _s.text, _s.created_at).where(_s.created_by == _WHO),
    "comments": sa.select(_tm.id, _tm.task_id, _tm.text, _tm.created_at).where(_THEIR_COMMENTS),
    "decisions": sa.select(_tr.task_id, _tr.from_status, _tr.to_status, _tr.reason, _tr.created_at).where(_THEIR_MOVES),
    "answers": sa.select(
        _an.approval_id, _an.surface, _an.verdict, _an.note, _an.args, _an.created_at, _ap.kind, _ap.risk
    )
    .join_from(ANSWERS, APPROVALS, _an.approval_id == _ap.id)
    .where(_an.person_id == _WHO),
    "chats": sa.select(_r.id, _r.payload, _r.result, _r.status, _r.created_at).where(_THEIR_CHATS),
    "room_messages": sa.select(_sd.id, _sd.channel_id, _sd.parent_id, _sd.text, _sd.created_at).where(_THEIR_WORDS),
    "reactions": sa.select(_sg.message_id, _sg.emoji, _sg.created_at).where(_THEIR_SIGNS),
    "activities": sa.select(_a.id, _a.action, _a.subject, _a.data, _a.created_at).where(
        sa.or_(_a.actor_id == _WHO, _a.subject == _WHO)
    ),
}
_REQUESTS = sa.select(_i.key, _i.surface, _i.payload, _i.created_at).where(_i.identity == b("identity"))
_REPLY_PLACES = sa.select(_c.id, _c.surface, _c.channel, _c.address).where(_c.role == "reply")
_SAID_THERE = sa.select(outbox.OUTBOX.c.payload, outbox.OUTBOX.c.created_at).where(
    outbox.OUTBOX.c.conversation_id == b("place")
)
_FROM_THEM = sa.select(_r.id).where(_THEIR_CHATS).cte("from_them", recursive=True)
_LATER = RUNS.alias("later")
_CAME_OF_THEM = _r.id.in_(
    sa.select(
        _FROM_THEM.union(
            sa.select(_LATER.c.id).where(
                sa.or_(
                    sa.and_(
                        _LATER.c.parent_run_id == _FROM_THEM.c.id,
                        _LATER.c.kind.in_(("chat", "subagent", "child_end", "letter")),
                    ),
                    sa.and_(_LATER.c.cause_id == _FROM_THEM.c.id, _LATER.c.kind == "vote"),
                )
            )
        ).c.id
    )
)
"""Their chats, what agents have forwarded of them, and models' votes on requests made there."""
_CHATS = sa.select(_r.id, _r.status, _r.payload).where(sa.or_(_CAME_OF_THEM, _HEARD_THEM)).order_by(_r.id)
_PURPOSE = sa.update(SUBAGENTS).where(_su.run_id == b("run_")).values(purpose=ERASED)
_OF_A_CALL = frozenset({"tool", "tool_digest", "call_id", "persona", "simulated"})
"""The fields of a question from a conversation that reveal nothing of what was said there."""
_ASKED = sa.select(_ap.id, _ap.request).where(_ap.run_id == b("run_"))
_UNASK = (
    sa.update(APPROVALS)
    .where(_ap.id == b("approval"))
    .values(request=b("what", type_=_ap.request.type), edited_args=sa.null())
)
_CHAT = sa.select(_r.id, _r.status, _r.payload).where(_r.id == b("run_"))
_DATA, _NAME = sa.cast(_a.data, sa.Text), b("name", type_=sa.Text())
_ABOUT = (
    sa.select(_a.id)
    .where(
        _a.id > b("after"),
        sa.or_(
            _a.actor_id == _WHO,
            _a.subject == _WHO,
            sa.cast(_a.data, sa.Text).contains(b("identity", type_=sa.Text())),
            sa.and_(_a.action.in_(JUDGED), sa.func.replace(_DATA, _NAME, "") != _DATA),
        ),
    )
    .order_by(_a.id)
    .limit(b("most"))
)
_THESE = sa.select(ACTIVITIES).where(_a.id == b("activity"))
_REWRITE = sa.update(ACTIVITIES).where(_a.id == b("activity")).values(data=b("what", type_=_a.data.type))
_FEEDBACK = (
    sa.update(TASKS)
    .where(
        TASKS.c.id.in_(sa.select(_tr.task_id).where(_THEIR_MOVES)),
        TASKS.c.feedback.in_(sa.select(_tr.reason).where(_THEIR_MOVES)),
        TASKS.c.status.in_(retention.OVER),
    )
    .values(feedback=ERASED)
)
_WORDS: tuple[sa.Executable, ...] = (
    _FEEDBACK,
    sa.update(ANSWERS).where(_an.person_id == _WHO, _an.note.is_not(None)).values(note=ERASED),
    sa.update(ANSWERS).where(_an.person_id == _WHO, _an.args.is_not(None)).values(args=sa.null()),
    sa.update(APPROVALS)
    .where(_ap.decided_by == _WHO, _ap.edited.is_(sa.true()), _ap.status.in_(("used", "denied", "expired", "void")))
    .values(edited_args=sa.null()),
    sa.update(APPROVALS).where(_ap.decided_by == _WHO, _ap.note.is_not(None)).values(note=ERASED),
    sa.update(COMMENTS).where(_THEIR_COMMENTS).values(text=ERASED),
    sa.update(TRANSITIONS).where(_THEIR_MOVES).values(reason=ERASED),
    sa.update(CONTROLS).where(CONTROLS.c.set_by == _WHO, CONTROLS.c.reason.is_not(None)).values(reason=ERASED),
    sa.update(VERSIONS).where(_v.author_kind == "human", _v.author_id == _WHO).values(reason=ERASED),
)
_OUT_OF_ROOMS: tuple[sa.Executable, ...] = (
    sa.update(SAID).where(_THEIR_WORDS).values(text=ERASED),
    sa.delete(SIGNS).where(_THEIR_SIGNS),
    sa.delete(ROOM_MEMBERS).where(_rm.kind == "person", _rm.who == _WHO),
)
"""Messages in channels stay as placeholders."""
_DROP_REQUESTS = sa.delete(INBOX).where(_i.identity == b("identity"))
_DROP_PLACE = sa.delete(CONVERSATIONS).where(_c.id == b("place"))
_STRANGER = (
    sa.update(ALERTS)
    .where(_al.subject == b("identity"))
    .values(text=ERASED, subject=None, dedup_key=sa.literal("erased:", sa.String()) + _al.id)
)
_DECIDED = sa.select(_ap.id).where(_ap.decided_by == _WHO).order_by(_ap.id)
_RENAME = sa.update(PEOPLE).where(PEOPLE.c.id == _WHO).values(name=b("called"), role="viewer")
_UNLINK = sa.delete(IDENTITIES).where(IDENTITIES.c.person_id == _WHO)


@dataclass(frozen=True, slots=True)
class Known:
    """A person's name and identities."""

    id: str
    name: str
    identities: tuple[str, ...]

    @property
    def pseudonym(self) -> str:
        """The name that replaces theirs after the erasure."""
        return f"erased {self.id[-6:]}"

    @property
    def spellings(self) -> tuple[str, ...]:
        """Their name and identities, as spelled in texts and in JSON."""
        plain = (self.name, *self.identities)
        return tuple(dict.fromkeys([*plain, *(json.dumps(each)[1:-1] for each in plain)]))


def gathered(tx: Tx, known: Known) -> dict[str, list[Any]]:
    """A person's messages and decisions, and messages to them, by kind, oldest first."""
    found = {name: tx.rows(query, {"who": known.id}) for name, query in _SECTIONS.items()}
    found["requests"] = [row for each in known.identities for row in tx.rows(_REQUESTS, {"identity": each})]
    found["replies"] = [row for place in places(tx, known) for row in tx.rows(_SAID_THERE, {"place": place})]
    return found


def places(tx: Tx, known: Known) -> list[str]:
    """Ids of the conversations with replies to this person alone."""
    return [row.id for row in tx.rows(_REPLY_PLACES) if _is_theirs(row, known.identities)]


def _is_theirs(row: Any, identities: Sequence[str]) -> bool:
    users = {ident.partition(":")[2] for ident in identities if ident.startswith(f"{row.surface}:")}
    return row.address.get("user") in users or row.channel in users


def chats(tx: Tx, known: Known) -> list[str]:
    """Ids of the runs in which they talked to agents and whose messages still exist."""
    return [row.id for row in tx.rows(_CHATS, {"who": known.id}) if retention.MARK not in row.payload]


def erase_chat(tx: Tx, run_id: str, most: int, now: datetime) -> bool | None:
    """Erases up to `most` rows of a run's messages; True once all are gone, None while the run is open."""
    row = tx.one(_CHAT, {"run_": run_id})
    if row is None or row.status not in ENDED_RUNS:
        return None
    tx.run(_PURPOSE, {"run_": run_id})
    for asked in tx.rows(_ASKED, {"run_": run_id}):
        kept = {name: value for name, value in asked.request.items() if name in _OF_A_CALL}
        tx.run(_UNASK, {"approval": asked.id, "what": {**kept, "summary": ERASED}})
    markers.forget(tx, run_id)
    return retention.let_go(tx, row, most, now) and retention.empty(tx, run_id, most) < most


def erase_words(tx: Tx, known: Known) -> None:
    """Replaces their notes on decisions and their messages in channels, and deletes their requests and the replies."""
    for statement in (*_WORDS, *_OUT_OF_ROOMS):
        tx.run(statement, {"who": known.id})
    for part in (known.id, *known.spellings):
        feed.forget(tx, part)
    for each in known.identities:
        tx.run(_DROP_REQUESTS, {"identity": each})
        tx.run(_STRANGER, {"identity": each})
    for place in places(tx, known):
        tx.run(_DROP_PLACE, {"place": place})


def about(tx: Tx, known: Known, after: int, most: int) -> list[int]:
    """Ids of activities by this person or that mention them, in order, after an id."""
    found = set()
    for identity in known.identities or (known.id,):
        for name in dict.fromkeys((known.name, json.dumps(known.name)[1:-1])):
            given = {"who": known.id, "identity": identity, "name": name, "after": after, "most": most}
            found |= {row.id for row in tx.rows(_ABOUT, given)}
    return sorted(found)[:most]


def redact(
    tx: Tx, known: Known, ids: Sequence[int], by: Actor, project_id: str, now: datetime, keys: Keyring | None,
    echoes: Clean, *, own: bool
) -> int:  # fmt: skip
    """Redacts a person from activities, their own or others', and records in another one which were changed, with their
    digests before and after; returns how many were. `echoes` removes quotations of their words.

    If the audit log is sealed, a link seals the changes to activities that were intact before.
    """
    before, after = [], []
    for ident in ids:
        row = tx.one(_THESE, {"activity": ident})
        if row is None or (row.actor_id == known.id) is not own:
            continue
        data = _without(known, echoes(row.data, row.mission_id, row.run_id), is_own=own)
        if data != row.data:
            tx.run(_REWRITE, {"activity": ident, "what": data})
            before.append(row)
            after.append(row._replace(data=data))
    if before:
        audit.note(
            tx, REDACTED, by, now, project_id=project_id, subject=known.id, activities=[row.id for row in before],
            count=len(before), sha256_before=retention.digest_of(before), sha256_after=retention.digest_of(after),
        )  # fmt: skip
        _vouch(tx, before, after, keys, now)
    return len(before)


def _vouch(tx: Tx, before: Sequence[Any], after: Sequence[Any], keys: Keyring | None, now: datetime) -> None:
    if keys is None or keys.current is None or seals.last(tx) is None:
        return
    leaves = seals.vouched(tx, [row.id for row in before], keys)
    sound = [new for old, new in zip(before, after, strict=True) if leaves.get(old.id) == chain.leaf(old)]
    seals.seal_change(tx, keys.current, [row.id for row in sound], [chain.leaf(row) for row in sound], now)


def _without(known: Known, data: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    name = re.compile(rf"(?<!\w){re.escape(known.name)}(?!\w)")

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: clean(each) for key, each in value.items()}
        if isinstance(value, list):
            return [clean(each) for each in value]
        if not isinstance(value, str):
            return value
        for identity in known.identities:
            value = value.replace(identity, ERASED)
        return name.sub(known.pseudonym, value)

    spoken = SPOKEN if is_own else ()
    return {key: ERASED if key in spoken and value else clean(value) for key, value in data.items()}


def finish(tx: Tx, known: Known) -> None:
    """Removes name, role and identities of a person; their id stays, as the author of decisions."""
    tx.run(_UNLINK, {"who": known.id})
    tokens.forget(tx, known.id)
    tx.run(_RENAME, {"who": known.id, "called": known.pseudonym})
    for row in tx.rows(_DECIDED, {"who": known.id}):
        outbox.touch(tx, f"approval:{row.id}")
