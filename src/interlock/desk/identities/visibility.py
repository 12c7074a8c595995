"""What a person may read of others' private content: chats with agents, and private channels.

Who may read a channel is decided in `room_views`; operators may read everything that they approve.
"""

from collections.abc import Iterable
from typing import Any

from interlock.desk.context import Person
from interlock.desk.reading.views import View
from interlock.desk.workspace_chat.room_views import may_see
from interlock.store.messages import rooms
from interlock.store.messages.rounds import SEEN
from interlock.store.signoff import approval_queue
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.tx import Tx

_KEPT = frozenset({"kind", "risk", "tool", "verdict", "surface", "name", "edited"})
"""The fields of an activity's data that reveal nothing of the content or its place."""
_RUNS = frozenset({"run", "event"})
"""Kinds of causes that may be runs, as for votes on a run's call."""
CHANNEL = "chn_"
"""The prefix of channels' ids."""


def reads_all(person: Person | None) -> bool:
    """Whether a person may read private content: those who answer approvals may, as does (None) the local terminal."""
    return person is None or person.role in ROLES_THAT_ANSWER


def hidden_from(tx: Tx, reader: Person | None, run_ids: Iterable[str]) -> frozenset[str]:
    """As `hidden_runs`, for any reader: nothing is hidden from operators, or (None) from the local terminal."""
    if reader is None or reads_all(reader):
        return frozenset()
    return hidden_runs(tx, reader, run_ids)


def hidden_runs(tx: Tx, person: Person, run_ids: Iterable[str]) -> frozenset[str]:
    """The runs whose inputs a person may not read.

    These are runs triggered (directly, or through their causes) in a channel that the person may not read; and for
    viewers, chats of other people with agents. Everybody may read missions' runs.
    """
    at, hidden, known = {run_id: run_id for run_id in run_ids}, set[str](), dict[str, bool]()
    for _ in range(SEEN if at else 0):
        rows = {row.id: row for row in approval_queue.origins(tx, sorted(set(at.values())))}
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


def redacted_card(card: View) -> View:
    """The card of a private question for other readers: who asks, the kind, the risk, the rule and the age, but not the
    content.
    """
    return {
        **card, "withheld": True, "request": {}, "args": None, "edited_args": None, "summary": None, "reasons": [],
        "does": f"call {card['tool']}" if card["tool"] else None, "note": None, "votes": [], "alike": None,
        "goal": None, "task_title": None,
    }  # fmt: skip


def visible_activities(tx: Tx, person: Person, rows: list[View]) -> list[View]:
    """Activities as a person may read them; `withheld` marks those whose details are removed: activities of hidden
    runs, and of channels that the person may not read.
    """
    if reads_all(person):
        return [{**row, "withheld": False} for row in rows]
    hidden = hidden_runs(tx, person, {row["run_id"] for row in rows if row["run_id"] is not None})
    named = {row["subject"] for row in rows if str(row["subject"]).startswith(CHANNEL)}
    closed = {each for each in named if rooms.channel(tx, each) is not None and not may_see(tx, person.id, each)}
    return [_redacted(row, row["run_id"] in hidden, row["subject"] in closed) for row in rows]


def _redacted(row: View, is_hidden: bool, is_closed: bool) -> View:
    if is_closed:
        return {**row, "subject": None, "data": {}, "withheld": True}
    if is_hidden:
        kept = {name: value for name, value in row["data"].items() if name in _KEPT}
        return {**row, "data": kept, "withheld": True}
    return {**row, "withheld": False}
