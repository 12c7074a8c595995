"""What of others' private words somebody may read: conversations with agents, and channels that not everybody may read.

Who may read a channel is `room_views`' matter; what operators answer for, they read whole.
"""

from collections.abc import Iterable
from typing import Any

from interlock.desk.office import Person
from interlock.desk.room_views import may_see
from interlock.desk.views import View
from interlock.store import asked, rooms
from interlock.store.approvals import ROLES_THAT_ANSWER
from interlock.store.rounds import SEEN
from interlock.store.tx import Tx

_KEPT = frozenset({"kind", "risk", "tool", "verdict", "surface", "name", "edited"})
"""What of an activity's data says nothing of what was said, or where."""
_RUNS = frozenset({"run", "event"})
"""Causes that may be runs: those of votes on what a run wants to do."""
CHANNEL = "chn_"
"""Before the ids of channels."""


def reads_all(person: Person | None) -> bool:
    """Whether somebody reads what was asked in private: who answers for it does. None: the machine's own terminal."""
    return person is None or person.role in ROLES_THAT_ANSWER


def unseen_by(tx: Tx, reader: Person | None, run_ids: Iterable[str]) -> frozenset[str]:
    """The same for anybody: nothing is hidden from who answers for it, or from the machine's own terminal."""
    if reader is None or reads_all(reader):
        return frozenset()
    return unseen(tx, reader, run_ids)


def unseen(tx: Tx, person: Person, run_ids: Iterable[str]) -> frozenset[str]:
    """Those of some runs of which somebody may not read what they were told.

    That is where a run, or what it came of, was woken in a channel that they may not read; and viewers read no
    conversations with an agent but their own. What a mission does is for all to read.
    """
    at, hidden, known = {run_id: run_id for run_id in run_ids}, set[str](), dict[str, bool]()
    for _ in range(SEEN if at else 0):
        rows = {row.id: row for row in asked.origins(tx, sorted(set(at.values())))}
        ahead: dict[str, str] = {}
        for run_id, here in at.items():
            row = rows.get(here)
            if row is None or (row.mission_id is not None and row.channel_id is None):
                continue
            if _is_closed(tx, person, row, known):
                hidden.add(run_id)
            elif (source := row.parent_run_id or (row.cause_id if row.cause_kind in _RUNS else None)) is not None:
                ahead[run_id] = source
        if not ahead:
            return frozenset(hidden)
        at = ahead
    return frozenset(hidden | at.keys())


def _is_closed(tx: Tx, person: Person, run: Any, known: dict[str, bool]) -> bool:
    if run.channel_id is not None:
        if run.channel_id not in known:
            known[run.channel_id] = may_see(tx, person.id, run.channel_id)
        if not known[run.channel_id]:
            return True
    return run.cause_kind == "message" and run.cause_id != person.id and person.role not in ROLES_THAT_ANSWER


def withheld(card: View) -> View:
    """The card of a question that was asked in private, as others see it: who asks, the kind, the risk, the rule, the
    age; not what exactly.
    """
    return {
        **card, "withheld": True, "request": {}, "args": None, "edited_args": None, "summary": None, "reasons": [],
        "does": f"call {card['tool']}" if card["tool"] else None, "note": None, "votes": [], "alike": None,
        "goal": None, "task_title": None,
    }  # fmt: skip


def told(tx: Tx, person: Person, rows: list[View]) -> list[View]:
    """Activities as somebody may read them; `withheld` says of which the particulars are left out: those of runs that
    they may not see, and of channels that they may not read.
    """
    if reads_all(person):
        return [{**row, "withheld": False} for row in rows]
    hidden = unseen(tx, person, {row["run_id"] for row in rows if row["run_id"] is not None})
    named = {row["subject"] for row in rows if str(row["subject"]).startswith(CHANNEL)}
    closed = {each for each in named if rooms.channel(tx, each) is not None and not may_see(tx, person.id, each)}
    return [_told(row, row["run_id"] in hidden, row["subject"] in closed) for row in rows]


def _told(row: View, is_hidden: bool, is_closed: bool) -> View:
    if is_closed:
        return {**row, "subject": None, "data": {}, "withheld": True}
    if is_hidden:
        kept = {name: value for name, value in row["data"].items() if name in _KEPT}
        return {**row, "data": kept, "withheld": True}
    return {**row, "withheld": False}
