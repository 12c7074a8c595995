"""Quotations of a person's words in records of work: in errors, questions, transitions, alerts and inputs of runs.

INVARIANT: only words change, and only where the person decided, or beside their name. Their own notes and reasons are
erased in `personal`, and last, since they are what is searched for here.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.auditing.audit import ACTIVITIES, ALERTS
from interlock.store.identities.personal import ANSWERS, COMMENTS, ERASED, RUNS, SPOKEN, TASKS, TRANSITIONS, Known
from interlock.store.knowledge import lesson_versions
from interlock.store.knowledge.incidents import INCIDENTS
from interlock.store.knowledge.lesson_versions import VERSIONS
from interlock.store.knowledge.lessons import LESSONS
from interlock.store.messages import feed
from interlock.store.schema import MissionEvent, RunMessage, ToolCall, table
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.tx import Tx

LONG = 12
"""Words of at least this many characters are found anywhere in a text, shorter ones only if quoted as a whole."""
CONTROLS = ("CONTROL_CHANGED", "AGENT_QUARANTINED", "AGENT_RELEASED")
"""Activities whose reasons are published in all rooms, beside a name."""
EVENTS, CALLS, MESSAGES = table(MissionEvent), table(ToolCall), table(RunMessage)
_ap, _an, _a, _al, _in, _tm = APPROVALS.c, ANSWERS.c, ACTIVITIES.c, ALERTS.c, INCIDENTS.c, COMMENTS.c
_r, _t, _tr, _ev, _c, _m = RUNS.c, TASKS.c, TRANSITIONS.c, EVENTS.c, CALLS.c, MESSAGES.c
_WHO, _PART, _HERE = b("who", type_=sa.String()), b("part", type_=sa.Text()), b("here", type_=sa.String())
_NOTES = (
    sa.select(_an.note.label("said"), _ap.mission_id, _ap.run_id)
    .join_from(ANSWERS, APPROVALS, _an.approval_id == _ap.id)
    .where(_an.person_id == _WHO, _an.note.is_not(None))
)
_COMMENTS = (
    sa.select(_tm.text.label("said"), _t.mission_id, sa.null().label("run_id"))
    .join_from(COMMENTS, TASKS, _tm.task_id == _t.id)
    .where(_tm.author_kind == "human", _tm.author_id == _WHO)
)
_DEEDS = sa.select(_a.action, _a.data, _a.mission_id, _a.run_id).where(
    _a.actor_id == _WHO, _a.action != "TASK_TRANSITION"
)
_RUNS_HERE = sa.select(_r.id).where(_r.mission_id == _HERE)
_TASKS_HERE = sa.select(_t.id).where(_t.mission_id == _HERE)
_QUESTIONS_HERE = sa.select(_ap.id).where(_ap.mission_id == _HERE)
_NOT_ANOTHERS = sa.or_(_tr.actor_kind != "human", _tr.actor_id == _WHO)
_NO_CALL = _ap.kind != "TOOL_CALL"

Where = tuple[str | None, str | None]
"""A mission, or a run; if neither, anywhere."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place where words may be quoted: columns of a table, and which of its rows belong to a mission or a run."""

    kept: sa.Table
    columns: tuple[Any, ...]
    in_mission: Any
    in_run: Any = None
    by_name: bool = False
    """Whether all rows are searched for their name."""
    only: Any = None

    def holding(self, where: Any) -> sa.Select[Any]:
        """A query for the ids of rows that contain a text."""
        texts = (sa.cast(column, sa.Text) for column in self.columns)
        has = sa.or_(*(sa.func.replace(text, _PART, "") != text for text in texts))
        return sa.select(self.kept.c.id).where(where, has, sa.true() if self.only is None else self.only)

    def one(self) -> sa.Select[Any]:
        """A query for the columns of one row."""
        return sa.select(*self.columns).where(self.kept.c.id == b("ident")).with_for_update()

    def rewrite(self) -> sa.Update:
        """A statement that sets them."""
        return (
            sa.update(self.kept)
            .where(self.kept.c.id == b("ident"))
            .values({column.name: b(f"new_{column.name}", type_=column.type) for column in self.columns})
        )


_PLACES: Mapping[str, _Place] = {
    "run": _Place(RUNS, (_r.error,), _r.mission_id == _HERE, _r.id == _HERE, by_name=True),
    "order": _Place(RUNS, (_r.payload,), _r.mission_id == _HERE),
    "question": _Place(
        APPROVALS, (_ap.request, _ap.reasons), _ap.mission_id == _HERE, _ap.run_id == _HERE, by_name=True, only=_NO_CALL
    ),
    "void": _Place(APPROVALS, (_ap.note,), _ap.mission_id == _HERE, only=_ap.decided_by.is_(None)),
    "call": _Place(CALLS, (_c.result,), _c.run_id.in_(_RUNS_HERE), _c.run_id == _HERE),
    "message": _Place(MESSAGES, (_m.content, _m.blocks), _m.run_id.in_(_RUNS_HERE), _m.run_id == _HERE),
    "move": _Place(TRANSITIONS, (_tr.reason,), _tr.task_id.in_(_TASKS_HERE), only=_NOT_ANOTHERS),
    "task": _Place(TASKS, (_t.block_reason,), _t.mission_id == _HERE),
    "event": _Place(EVENTS, (_ev.payload,), _ev.mission_id == _HERE, by_name=True),
    "incident": _Place(INCIDENTS, (_in.text,), _in.mission_id == _HERE),
    "lesson": _Place(LESSONS, (LESSONS.c.rule,), LESSONS.c.run_id.in_(_RUNS_HERE)),
    "alert": _Place(
        ALERTS,
        (_al.text,),
        sa.or_(_al.subject == _HERE, *(_al.subject.in_(ids) for ids in (_TASKS_HERE, _RUNS_HERE, _QUESTIONS_HERE))),
    ),
}
_IN_MISSION = {kind: place.holding(place.in_mission) for kind, place in _PLACES.items()}
_IN_RUN = {kind: place.holding(place.in_run) for kind, place in _PLACES.items() if place.in_run is not None}
_ANYWHERE = {kind: place.holding(sa.true()) for kind, place in _PLACES.items() if place.by_name}
_ONE = {kind: place.one() for kind, place in _PLACES.items()}
_REWRITE = {kind: place.rewrite() for kind, place in _PLACES.items()}
_RELEARN = (
    sa.update(VERSIONS)
    .where(VERSIONS.c.lesson_id == b("ident"), VERSIONS.c.version == b("number"))
    .values(content=b("what", type_=VERSIONS.c.content.type))
)
_LOGGED = sa.select(_a.id).where(
    _a.mission_id == _HERE,
    sa.or_(_a.actor_kind != "human", _a.actor_id == _WHO),
    sa.func.replace(sa.cast(_a.data, sa.Text), _PART, "") != sa.cast(_a.data, sa.Text),
)


@dataclass(frozen=True, slots=True)
class Echoes:
    """A person's notes on decisions, by where they may be quoted."""

    known: Known
    of_mission: Mapping[str, frozenset[str]]
    of_run: Mapping[str, frozenset[str]]
    reasons: frozenset[str]
    """Their reasons for pausing, stopping and quarantining, which are published beside their name."""

    def clean(self, value: Any, mission_id: str | None, run_id: str | None) -> Any:
        """A value of a record of a mission or a run, without their words, and without their name beside them."""
        words = self.of_mission.get(mission_id or "", frozenset()) | self.of_run.get(run_id or "", frozenset())
        patterns = _patterns(words)

        def cleaned(text: str) -> str:
            for pattern in patterns:
                text = pattern.sub(ERASED, text)
            return self.beside_name(text)

        return _each_text(value, cleaned)

    def beside_name(self, text: str) -> str:
        """A text that mentions them, without their reasons and name."""
        names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in self.names)
        if not names or not re.search(names, text):
            return text
        for reason in sorted(self.reasons, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(reason)}(?!\w)", ERASED, text)
        return re.sub(names, self.known.pseudonym, text)

    @property
    def places(self) -> list[Where]:
        """Where to search: their missions, their runs, and anywhere beside their name."""
        return [*((each, None) for each in self.of_mission), *((None, each) for each in self.of_run), (None, None)]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(name for name in (self.known.name, *self.known.identities) if name)


def gathered(tx: Tx, known: Known) -> Echoes:
    """What to search for; empty once their own notes and reasons are erased."""
    of_mission: dict[str, set[str]] = {}
    of_run: dict[str, set[str]] = {}
    reasons: set[str] = set()
    for said, mission_id, run_id in _said(tx, known, reasons):
        if not said.strip() or said == ERASED:
            continue
        for place, ident in ((of_mission, mission_id), (of_run, run_id)):
            if ident is not None:
                place.setdefault(ident, set()).add(said)
    return Echoes(known, _frozen(of_mission), _frozen(of_run), frozenset(reasons - {"", ERASED}))


def _said(tx: Tx, known: Known, reasons: set[str]) -> Iterator[tuple[str, str | None, str | None]]:
    for query in (_NOTES, _COMMENTS):
        for row in tx.rows(query, {"who": known.id}):
            yield row.said, row.mission_id, row.run_id
    for row in tx.rows(_DEEDS, {"who": known.id}):
        for name in SPOKEN & row.data.keys():
            if isinstance(said := row.data[name], str):
                yield said, row.mission_id, row.run_id
                if row.action in CONTROLS:
                    reasons.add(said)


def _frozen(found: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {ident: frozenset(words) for ident, words in found.items()}


def mentions(tx: Tx, echoes: Echoes, where: Where) -> list[tuple[str, Any]]:
    """Kind and id of each row that may quote their words."""
    mission_id, run_id = where
    if mission_id is not None:
        queries, words = _IN_MISSION, echoes.of_mission[mission_id]
    elif run_id is not None:
        queries, words = _IN_RUN, echoes.of_run[run_id]
    else:
        queries, words = _ANYWHERE, frozenset(echoes.names)
    given = [{"here": mission_id or run_id, "who": echoes.known.id, "part": part} for part in _spelt(words)]
    found = {(kind, row.id): None for kind, query in queries.items() for each in given for row in tx.rows(query, each)}
    return list(found)


def redact(tx: Tx, echoes: Echoes, where: Where, kind: str, ident: Any) -> None:
    """Removes their words from one row."""
    row: Any = tx.one(_ONE[kind], {"ident": ident})
    if row is None:
        return
    before = row._asdict()
    after = {name: echoes.clean(value, *where) for name, value in before.items()}
    if after != before:
        tx.run(_REWRITE[kind], {"ident": ident, **{f"new_{name}": value for name, value in after.items()}})
    for version in lesson_versions.of(tx, ident) if kind == "lesson" else ():
        content = echoes.clean(version.content, *where)
        tx.run(_RELEARN, {"ident": ident, "number": version.version, "what": content})


def logged(tx: Tx, echoes: Echoes, mission_id: str) -> list[int]:
    """Ids of a mission's activities, except other people's, that may quote their words, in order."""
    given = (
        {"here": mission_id, "part": part, "who": echoes.known.id} for part in _spelt(echoes.of_mission[mission_id])
    )
    return sorted({row.id for each in given for row in tx.rows(_LOGGED, each)})


def forget(tx: Tx, echoes: Echoes) -> None:
    """Deletes the feed events that contain their words."""
    words = frozenset().union(*echoes.of_mission.values(), *echoes.of_run.values())
    for each in words:
        inner = json.dumps(each)[1:-1]
        for part in (inner,) if len(each) >= LONG else (f'"{inner}"', f": {inner}"):
            feed.forget(tx, part)


def _spelt(words: Iterable[str]) -> list[str]:
    """Words as spelled in texts, on one line, and in JSON."""
    return list(dict.fromkeys(spelt for each in _lined(words) for spelt in (each, json.dumps(each)[1:-1])))


def _lined(words: Iterable[str]) -> list[str]:
    return [spelt for each in words for spelt in (each.strip(), " ".join(each.split()))]


def _patterns(words: frozenset[str]) -> list[re.Pattern[str]]:
    found = []
    for each in sorted(set(_lined(words)), key=len, reverse=True):
        exact = re.escape(each)
        if len(each) >= LONG:
            found.append(re.compile(rf"(?<!\w){exact}(?!\w)"))
        else:
            found.append(re.compile(rf"(?:^|(?<=: )){exact}(?=$|[;.)\n])"))
    return found


def _each_text(value: Any, cleaned: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {key: _each_text(each, cleaned) for key, each in value.items()}
    if isinstance(value, list):
        return [_each_text(each, cleaned) for each in value]
    return value
