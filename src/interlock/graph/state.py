"""The state of the coordinator's graph: its position, and small values that the tables do not hold.

INVARIANT: everything here is JSON; the tables are authoritative, and a lost thread can be rebuilt from them.
"""

from typing import Annotated, Any, TypedDict

from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from interlock.graph.effects import Effect
from interlock.graph.view import MissionView

GRAPH_VERSION = 1
"""Stamped on each mission. Raise it when a node is renamed or a waiting state changes its meaning."""
NODES = ("plan", "check", "delegate", "watch", "resolve", "compile", "learn")
END = "end"

Step = Runtime[MissionView]
"""The runtime passed to a node: its `context` is the current view of the mission."""


class State(TypedDict, total=False):
    """`batch` and `effects` belong to one step and are never stored."""

    mission: str
    notes: list[str]
    """Messages by people while it ran."""
    problems: list[str]
    """The faults of the last plan."""
    route: str
    """The next node."""
    batch: Annotated[list[dict[str, Any]], UntrackedValue(list)]
    effects: Annotated[list[Effect], UntrackedValue(list)]


def wait_at(state: State, node: str) -> State:
    """Suspends the graph here until there are events, and returns the state with which the next step begins."""
    batch: list[dict[str, Any]] = interrupt(question(state["mission"], node))
    notes = [str(event["text"]) for event in batch if event["kind"] == "note" and event.get("text")]
    return {"notes": [*state.get("notes", []), *notes], "batch": batch, "effects": []}


def question(mission_id: str, node: str) -> dict[str, Any]:
    """The value of an interrupt of this mission at this node, which must be the same when it is resumed."""
    return {"mission": mission_id, "graph": GRAPH_VERSION, "at": node}


def goal_with_notes(goal: str, notes: list[str]) -> str:
    """The goal with messages added later."""
    return goal if not notes else f"{goal}\n\nAdded while it ran:\n" + "\n".join(f"- {note}" for note in notes)
