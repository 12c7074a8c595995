"""Puts a dispute to three models: what they are shown of the work and its reviews. Source: row A10.

`disputing` decides when they are asked and what follows.
"""

from collections.abc import Sequence
from datetime import datetime

from interlock.agents.running.brief import text_of
from interlock.agents.special import voting
from interlock.core.errors import Conflict
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView
from interlock.store.signoff import votes
from interlock.store.tx import Tx
from interlock.store.work import tasks


def poll(tx: Tx, view: MissionView, models: Sequence[str], e: Effect, now: datetime) -> None:
    """Posts the three runs, once per review cycle; they see the submitted work and acquire its taint.

    Raises Conflict if no models are configured for this any more.
    """
    who = voting.panel(view.personas, models, view.model if view.simulated else None)
    if who is None:
        raise Conflict("nobody is set up to be asked any more: look again")
    task = view.task(e["task"])
    reviews = [row for ident in (*e["against"], *e["for"]) if (row := tasks.deliverable(tx, ident)) is not None]
    work = tasks.deliverable(tx, e["deliverable"])
    facts = {
        "goal": view.goal,
        "task": {"title": task.title, "description": task.description},
        "work": text_of(tx, e["deliverable"]),
        "reviews": [
            {"verdict": row.verdict, "findings": row.findings, "text": text_of(tx, row.id)} for row in reviews
        ],
    }  # fmt: skip
    labels = {label for row in (work, *reviews) if row is not None for label in row.labels}
    question = voting.Question(
        about=votes.of_task(e["task"], e["cycle"]), text=voting.on_dispute(facts), project_id=view.project_id,
        mission_id=view.id, cause_id=e["task"], simulated=view.simulated, labels=tuple(sorted(labels)),
    )  # fmt: skip
    voting.ask(tx, who, question, now)
