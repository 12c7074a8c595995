"""Loop detection: gathers the facts about a task that the rules need, and blocks a task that breaks one.

The rules are in `policy.loops`; they are checked whenever relevant events are written, and by a sweep.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS, OPEN_RUNS, Actor, ActorKind, digest
from interlock.policy.loops import RULES, Facts, Limits, Loop, Pair, is_progress, loops, pair_of
from interlock.state_machine.table import HELD, TERMINAL, BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import leases
from interlock.store.mailboxes.mailbox import RUNS
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.store.work.tasks import Move

LOOPS = Actor(ActorKind.SYSTEM, "system:loops")
WATCHED = tuple(str(state) for state in TaskState if state not in HELD | TERMINAL)
"""States in which a task should make progress by itself."""
AT_WORK = (*WATCHED, str(TaskState.NEEDS_APPROVAL))
"""The same for a task whose run is active, and may have asked something in this very step."""
MARK = ":LOOP:"
"""Marks the keys of transitions into a loop block."""
CONTROLS = ("quarantine:", "release:")
"""The key prefix of transitions made by `store.mailboxes.quarantines`."""
_t, _tm, _tr, _r, _c = tasks.TASKS.c, tasks.MESSAGES.c, tasks.TRANSITIONS.c, RUNS.c, traces.CALLS.c
_SINCE = b("since", type_=UTCDateTime())
_N = sa.func.count().label("n")
_MENTION = re.compile(r"@([\w.-]*\w)")

_COMMENTS = sa.select(_N).where(_tm.task_id == b("task"), _tm.kind == "COMMENT", _tm.created_at > _SINCE)
_LAST_RUNS = (
    sa.select(_r.id)
    .where(_r.task_id == b("task"), _r.kind != "learn")
    .order_by(_r.created_at.desc(), _r.id.desc())
    .limit(b("most"))
)
_FAILED = sa.select(_N).where(_c.run_id.in_(_LAST_RUNS), _c.status == "failed", _c.created_at > _SINCE)
_POSTED = sa.select(_r.agent_id, _r.cause_id).where(
    _r.status.in_((*OPEN_RUNS, *ENDED_RUNS)), _r.created_at > _SINCE, _r.cause_kind == "agent"
)
_POSTED_ABOUT = _POSTED.where(sa.or_(_r.agent_id == b("agent"), _r.cause_id == b("agent"), _r.task_id == b("task")))
_SPOKEN = sa.select(_tm.author_id, _tm.text).where(
    _tm.task_id == b("task"), _tm.author_kind == "agent", _tm.created_at > _SINCE, _tm.text.contains("@")
)
_AT_WORK = sa.select(_t.assignee_agent_id).where(_t.mission_id == b("mission"), _t.assignee_agent_id.is_not(None))


@dataclass(frozen=True, slots=True)
class _Past:
    """A task's transitions since a person last released it from a loop, and the time of the release."""

    changes: Sequence[Any]
    released_at: datetime | None


def check(
    tx: Tx,
    task_id: str,
    limits: Limits,
    now: datetime,
    *,
    rules: Collection[str] = RULES,
    states: Collection[str] = WATCHED,
) -> Loop | None:
    """Blocks a task that is in a loop, in the transaction that completed the loop; None if it makes progress.

    Cancels its run, asks and alerts a person, and records an incident; once for each loop, since events before a
    person's release do not count. Source: row I1.
    """
    task = tasks.task(tx, task_id)
    found = broken(tx, task, limits, now, rules=rules, states=states)
    if task is not None and found:
        _block(tx, task, found, now)
    return found[0] if found else None


def broken(
    tx: Tx,
    task: Any | None,
    limits: Limits,
    now: datetime,
    *,
    rules: Collection[str] = RULES,
    states: Collection[str] = WATCHED,
) -> tuple[Loop, ...]:
    """The rules that a task in one of `states` breaks; changes nothing."""
    if task is None or task.status not in states:
        return ()
    return loops(facts(tx, task, limits, now, rules=rules), limits)


def facts(tx: Tx, task: Any, limits: Limits, now: datetime, *, rules: Collection[str] = RULES) -> Facts:
    """The facts about a task that `rules` need; others are omitted."""
    past = _past(tx, task.id)

    def since(seconds: float) -> datetime:
        began = now - timedelta(seconds=seconds)
        return began if past.released_at is None else max(began, past.released_at)

    wanted = {"task": task.id}
    comments = failed = 0
    if "comments" in rules:
        comments = _count(tx, _COMMENTS, {**wanted, "since": since(limits.comments_s)})
    if "failed_calls" in rules:
        ever = past.released_at or task.created_at - timedelta(seconds=1)
        failed = _count(tx, _FAILED, {**wanted, "since": ever, "most": limits.failed_calls_runs})
    recent = [row for row in past.changes if row.created_at > since(limits.transitions_s)]
    return Facts(
        comments=comments,
        review_cycles=_review_cycles(task, past) if "review_cycles" in rules else 0,
        failed_calls=failed,
        transitions=_moves(recent) if "transitions" in rules else (),
        messages=_messages(tx, task, since(limits.messages_s)) if "messages" in rules else None,
    )


def _count(tx: Tx, query: sa.Select[Any], params: Mapping[str, Any]) -> int:
    return int(tx.rows(query, params)[0].n)


def _past(tx: Tx, task_id: str) -> _Past:
    rows = tasks.transitions(tx, task_id)
    blocks = [at for at, row in enumerate(rows) if row.to_status == "BLOCKED" and MARK in row.idempotency_key]
    if not blocks:
        return _Past(rows, None)
    later = range(blocks[-1] + 1, len(rows))
    released = next((at for at in later if rows[at].to_status not in HELD), None)
    if released is None:
        return _Past((), rows[-1].created_at)
    return _Past(rows[released + 1 :], rows[released].created_at)


def _review_cycles(task: Any, past: _Past) -> int:
    """How often it was sent back. Not counted for a review, which each new version of the work calls again."""
    if task.reviews_task_id is not None:
        return 0
    return sum(_change(row) == ("REVIEW", "IN_PROGRESS") for row in past.changes)


def _moves(changes: Sequence[Any]) -> list[Pair]:
    """The transitions that count. Those by quarantine and release are left out, as they concern the agent."""
    moves = [_change(row) for row in changes if not row.idempotency_key.startswith(CONTROLS)]
    return [pair_of(*move) for move in moves if not is_progress(*move)]


def _change(row: Any) -> Pair:
    return row.from_status, row.to_status


def _messages(tx: Tx, task: Any, since: datetime) -> dict[Pair, int]:
    """The number of messages between each pair of agents: to mailboxes, and as mentions in the task's thread."""
    posted = tx.rows(_POSTED_ABOUT, {"agent": task.assignee_agent_id or "", "task": task.id, "since": since})
    spoken = tx.rows(_SPOKEN, {"task": task.id, "since": since})
    if not posted and not spoken:
        return {}
    at_work = {row.assignee_agent_id for row in tx.rows(_AT_WORK, {"mission": task.mission_id})} if spoken else set()
    talking = {row.author_id for row in spoken} | {ident for row in posted for ident in (row.agent_id, row.cause_id)}
    personas = squad.names(tx, sorted(ident for ident in talking | at_work if ident))
    pairs = [(row.cause_id, row.agent_id) for row in posted if row.cause_id in personas]
    for row in spoken:
        pairs += [(row.author_id, other) for other in _mentioned(row.text, row.author_id, personas, talking)]
    counted = Counter(pair_of(*pair) for pair in pairs if pair[0] != pair[1])
    names = _labels(personas)
    return {pair_of(names[one], names[other]): count for (one, other), count in counted.items()}


def _mentioned(text: str, author: str, personas: Mapping[str, str], talking: Collection[str]) -> set[str]:
    """The agents mentioned in a text by id or persona; if a persona has several, one that takes part in the thread."""
    found = set()
    for name in {name.lower() for name in _MENTION.findall(text)}:
        fits = [ident for ident, persona in personas.items() if name in (ident.lower(), persona) and ident != author]
        if fits:
            found.add(min(fits, key=lambda ident: (ident not in talking, ident)))
    return found


def _labels(personas: Mapping[str, str]) -> dict[str, str]:
    """Names of the agents for people: the persona, with the id if several agents share it."""
    common = Counter(personas.values())
    return {ident: name if common[name] == 1 else f"{name} {ident}" for ident, name in personas.items()}


def _block(tx: Tx, task: Any, found: Sequence[Loop], now: datetime) -> None:
    """Blocks the task and asks a person. The question is created first, so that nothing waits for an unasked person.

    Questions of its runs are voided, since answers to them would have no effect.
    """
    first, reason = found[0], "; ".join(loop.reason for loop in found)
    approval_id = new_id("apr")
    runs = [run for run in traces.open_runs(tx, task_id=task.id) if run.kind != "learn"]
    approvals.ask(
        tx, id=approval_id, kind="ESCALATION", project_id=task.project_id, mission_id=task.mission_id, task_id=task.id,
        subject=digest({"task": task.id, "loop": first.rule, "version": task.version}), risk="YELLOW",
        rules=[f"loops.{loop.rule}" for loop in found], reasons=[loop.reason for loop in found], asked_by=LOOPS.id,
        created_at=now, request=_request(tx, task, reason),
    )  # fmt: skip
    move = Move(
        task_id=task.id, to=TaskState.BLOCKED, actor=LOOPS, reason=f"a loop: {reason}", block_kind=BlockKind.LOOP,
        key=f"block:{task.id}{MARK}{first.rule}:v{task.version}", wait_for=f"approval:{approval_id}",
    )  # fmt: skip
    tasks.advance(tx, move, now)
    for run in runs:
        leases.cancel(tx, run.id, now, f"its task was stopped as a loop: {reason}")
        approvals.void_of_run(tx, run.id, now, "its task was stopped as a loop")
    _tell(tx, task, found, runs, reason, now)


def _request(tx: Tx, task: Any, reason: str) -> dict[str, Any]:
    """The question, in the same form as the coordinator's own."""
    rows = {row.id: row for row in tasks.of_mission(tx, task.mission_id)}
    after = {task.id}
    links = tasks.links(tx, task.mission_id)
    for _ in links:
        after |= {link.task_id for link in links if link.depends_on_id in after}
    is_root = task.parent_id is None
    lost = [rows[i] for i in sorted(after - {task.id}) if i in rows and TaskState(rows[i].status) not in TERMINAL]
    with_it = f", and with it {', '.join(f'`{row.title}`' for row in lost)}" if lost else ""
    return {
        "title": task.title, "summary": f"a loop: {reason}", "block": "LOOP",
        "question": f"It goes round in circles: {reason}. Is it to be worked on once more?",
        "approve": "work on it once more, counting from now",
        "deny": ("cancel the mission" if is_root else "cancel it") + with_it,
        "cancels": [row.id for row in lost],
    }  # fmt: skip


def _tell(tx: Tx, task: Any, found: Sequence[Loop], runs: Sequence[Any], reason: str, now: datetime) -> None:
    where = {"project_id": task.project_id, "mission_id": task.mission_id, "task_id": task.id}
    run_id = next((run.id for run in runs), None)
    rules = [
        {"rule": loop.rule, "count": loop.count, "limit": loop.limit, "pair": list(loop.pair) if loop.pair else None}
        for loop in found
    ]
    incidents.note(tx, "LOOP", reason, now, **where, run_id=run_id, agent_id=task.assignee_agent_id, rules=rules)
    audit.note(tx, "LOOP_FOUND", LOOPS, now, **where, run_id=run_id, rules=rules, reason=reason, title=task.title)
    audit.alert(
        tx, now, project_id=task.project_id, severity="warning", kind="LOOP", subject=task.id,
        text=f"{task.title}: stopped as a loop: {reason}", key=f"loop:{task.id}:v{task.version}",
    )  # fmt: skip


_OPEN = sa.and_(_t.ended_at.is_(None), _t.status.in_(WATCHED))
_OVER_COMMENTS = (
    sa.select(_t.id)
    .join_from(tasks.TASKS, tasks.MESSAGES, _tm.task_id == _t.id)
    .where(_OPEN, _tm.kind == "COMMENT", _tm.created_at > _SINCE)
    .group_by(_t.id)
    .having(sa.func.count() > b("most"))
)
_OVER_CYCLES = sa.select(_t.id).where(_OPEN, _t.review_cycles > b("most"))
_OVER_FAILED = (
    sa.select(_t.id)
    .join_from(tasks.TASKS, traces.CALLS, _c.task_id == _t.id)
    .where(_OPEN, _c.status == "failed")
    .group_by(_t.id)
    .having(sa.func.count() >= b("most"))
)
_OVER_CHANGES = (
    sa.select(_t.id)
    .join_from(tasks.TASKS, tasks.TRANSITIONS, _tr.task_id == _t.id)
    .where(_OPEN, _tr.created_at > _SINCE)
    .group_by(_t.id)
    .having(sa.func.count() >= b("most"))
)
_OVER_MENTIONS = (
    sa.select(_t.id)
    .join_from(tasks.TASKS, tasks.MESSAGES, _tm.task_id == _t.id)
    .where(_OPEN, _tm.author_kind == "agent", _tm.created_at > _SINCE, _tm.text.contains("@"))
    .distinct()
)
_OF_AGENTS = sa.select(_t.id, _t.assignee_agent_id).where(_OPEN, _t.assignee_agent_id.is_not(None))


def suspects(tx: Tx, limits: Limits, now: datetime) -> list[str]:
    """Ids of candidate tasks: a superset of those that break a rule."""

    def ids(query: sa.Select[Any], **params: Any) -> set[str]:
        return {row.id for row in tx.rows(query, params)}

    def since(seconds: float) -> datetime:
        return now - timedelta(seconds=seconds)

    found = ids(_OVER_COMMENTS, since=since(limits.comments_s), most=limits.comments)
    found |= ids(_OVER_CYCLES, most=limits.review_cycles)
    found |= ids(_OVER_FAILED, most=limits.failed_calls)
    found |= ids(_OVER_CHANGES, since=since(limits.transitions_s), most=limits.transitions)
    found |= ids(_OVER_MENTIONS, since=since(limits.messages_s))
    posted = tx.rows(_POSTED.add_columns(_r.task_id), {"since": since(limits.messages_s)})
    found |= {row.task_id for row in posted if row.task_id}
    if talking := {ident for row in posted for ident in (row.agent_id, row.cause_id) if ident}:
        found |= {row.id for row in tx.rows(_OF_AGENTS) if row.assignee_agent_id in talking}
    return sorted(found)
