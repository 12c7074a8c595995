"""Composes cards for notifications from the current rows: approvals, missions, ends, alerts.

Replies to commands are in `replies`; each surface renders cards.
"""

from collections.abc import Sequence
from typing import Any

from interlock.agents.special import scheduled
from interlock.core.errors import Conflict, NotFound
from interlock.core.values import SYSTEM
from interlock.desk.chats.cards import Card, Fact, Passage, Tone
from interlock.desk.chats.wording import counted, dollars, excerpt, line, listed, moment, words
from interlock.desk.context import DeskContext
from interlock.desk.reading.details import deliverable, task
from interlock.desk.reading.views import View
from interlock.desk.signoff.asking import approval_card
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx

LONGEST_GOAL = 1_500
LONGEST_DELIVERABLE = 12_000
MOST_TASKS = 15
TONES = {"DONE": Tone.GREEN, "BLOCKED": Tone.RED, "NEEDS_APPROVAL": Tone.YELLOW}
ENDS = ("DONE", "CANCELED")
SEVERITIES = {"info": Tone.PLAIN, "warning": Tone.YELLOW, "critical": Tone.RED}


async def draw(context: DeskContext, subject: str) -> Card | None:
    """The current card for a subject; None if there is nothing to say.

    Subjects are `approval:ID`, `mission:ID`, `ended:ID`, `blocked:ID:N`, `alert:ID`, `said:RUN` and `reply:RUN`.
    """
    kind, _, ident = subject.partition(":")
    try:
        match kind:
            case "approval":
                return await approval_card(context, ident)
            case "mission":
                return mission_card(await task(context, ident))
            case "ended":
                return await ended_card(context, ident, ENDS)
            case "blocked":
                return await ended_card(context, ident.partition(":")[0], ("BLOCKED",))
            case "alert":
                return await alert_card(context, ident)
            case "said":
                return await said_card(context, ident)
            case "reply":
                return await reply_card(context, ident)
    except NotFound:
        return None
    raise LookupError(f"nothing is drawn of `{subject}`")


def mission_card(mission: View) -> Card:
    """The first message of a mission's thread: its goal and progress. Source: row J1."""
    by_state: dict[str, int] = {}
    for each in mission["subtasks"]:
        by_state[each["status"]] = by_state.get(each["status"], 0) + 1
    lines = [f"{t['status']} · {t['persona'] or '–'} · {line(t['title'], 90)}" for t in mission["subtasks"]]
    waits = len(mission["approvals"]) + by_state.get("NEEDS_APPROVAL", 0)
    return Card(
        title=line(f"Mission: {mission['title']}"),
        facts=_facts(
            ("State", mission["status"]),
            ("Tasks", counted(by_state) if by_state else "being planned" if not mission["ended_at"] else None),
            ("Waits for a person", str(waits) if waits else None),
            ("Blocked", _blocked(mission)),
            *_money(mission),
        ),
        passages=tuple(
            Passage(text, heading)
            for text, heading in (
                (excerpt(mission["goal"], LONGEST_GOAL, f"`interlock task {mission['id']}`"), "Goal"),
                (listed(lines, most=MOST_TASKS), "Tasks"),
            )
            if text
        ),
        footer=mission["id"],
        tone=TONES.get(mission["status"], Tone.PLAIN),
    )


async def ended_card(context: DeskContext, ident: str, states: Sequence[str]) -> Card | None:
    """How a mission ended, with its deliverable, or what blocks it; None if it is in none of `states`."""
    mission = await task(context, ident)
    status = mission["status"]
    if status not in states:
        return None
    word = {"DONE": "Done", "CANCELED": "Canceled", "BLOCKED": "Blocked"}[status]
    last = next((t["reason"] for t in reversed(mission["transitions"]) if t["to_status"] == status), None)
    why = _blocked(mission) if status == "BLOCKED" else last if status == "CANCELED" else None
    handed_in = await _handed_in(context, ident) if status == "DONE" else ""
    return Card(
        title=line(f"{word}: {mission['title']}"),
        facts=_facts(("Why", why), *_money(mission)),
        passages=(Passage(handed_in, "Deliverable"),) if handed_in else (),
        footer=mission["id"],
        tone=TONES.get(status, Tone.PLAIN),
    )


async def _handed_in(context: DeskContext, ident: str) -> str:
    try:
        found = await deliverable(context, ident)
        text = found.content.decode()
    except (Conflict, UnicodeDecodeError):
        return f"`interlock deliverable {ident}` has it"
    return excerpt(text, LONGEST_DELIVERABLE, f"`interlock deliverable {ident}` has all of it")


async def alert_card(context: DeskContext, ident: str) -> Card | None:
    """An alert, and who has acknowledged it."""
    found = await context.store.read(_alert, ident)
    if found is None:
        return None
    row, name = found
    return Card(
        title=line(f"{row.severity.capitalize()}: {row.kind.replace('_', ' ').lower()}"),
        facts=_facts(_fate(row, name)),
        passages=(Passage(words(row.text)),),
        footer=row.id,
        tone=Tone.PLAIN if row.acked_at else SEVERITIES.get(row.severity, Tone.YELLOW),
    )


async def said_card(context: DeskContext, run_id: str) -> Card | None:
    """The message of an agent that was started by a schedule."""
    run = await context.store.read(traces.run, run_id)
    if run is None or not (run.result or "").strip():
        return None
    return Card(
        title=line(run.payload.get("name", "")) or "Schedule",
        passages=(Passage(excerpt(run.result, LONGEST_DELIVERABLE, f"`interlock trace {run_id}`")),),
        footer=run_id,
    )


async def reply_card(context: DeskContext, run_id: str) -> Card | None:
    """An agent's answer in a chat, or why there is none."""
    found = await context.store.read(_run_and_persona, run_id)
    if found is None:
        return None
    run, persona = found
    said = (run.result or "").strip()
    if run.status == "completed" and (not said or await context.store.read(scheduled.kept_quiet, run_id)):
        return None
    if run.status == "completed":
        return Card(
            title=persona, passages=(Passage(excerpt(said, LONGEST_DELIVERABLE, f"`interlock trace {run_id}`")),)
        )  # fmt: skip
    word = "was cancelled" if run.status == "cancelled" else "could not answer"
    passages = (Passage(excerpt(said, LONGEST_DELIVERABLE, f"`interlock trace {run_id}`"), "So far"),) if said else ()
    return Card(
        title=f"{persona} {word}", facts=_facts(("Why", words(run.error or ""))), passages=passages, footer=run_id,
        tone=Tone.RED,
    )  # fmt: skip


def _run_and_persona(tx: Tx, run_id: str) -> tuple[Any, str] | None:
    run = traces.run(tx, run_id)
    agent = squad.agent(tx, run.agent_id) if run is not None else None
    return None if run is None or agent is None else (run, agent.persona)


def _fate(row: Any, name: str | None) -> tuple[str, str | None]:
    if not row.acked_at:
        return "Seen", None
    passed = row.acked_by == SYSTEM.id
    return ("Over", f"by itself, {moment(row.acked_at)}") if passed else ("Seen", f"by {name}, {moment(row.acked_at)}")


def _alert(tx: Tx, ident: str) -> tuple[Any, str | None] | None:
    row = audit.one(tx, ident)
    return None if row is None else (row, approvals.name_of(tx, row.acked_by))


def _money(mission: View) -> tuple[tuple[str, str | None], ...]:
    estimate = mission["estimate"]
    would = f"about {dollars(estimate['cost_usd'])} with {estimate['model']} for real" if estimate else None
    return (
        ("Cost", f"{dollars(mission['cost_usd'])} of {dollars(mission['budget_usd'])}"),
        ("Rehearsal", f"yes, {would}" if would else "yes" if mission["simulated"] else None),
    )


def _blocked(mission: View) -> str | None:
    return f"{mission['block_kind']}: {mission['block_reason']}" if mission["block_kind"] else None


def _facts(*pairs: tuple[str, str | None]) -> tuple[Fact, ...]:
    return tuple(Fact(label, line(value, 600)) for label, value in pairs if value)
