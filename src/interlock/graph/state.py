"""The state of the coordinator's graph: where it stands, and small things that the tables do not hold.

INVARIANT: everything here is JSON; the tables are the truth, and a lost thread can be made again from them.
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
"""What a node is given beside the state: `context` is the mission as it is now."""


class State(TypedDict, total=False):
    """`batch` and `effects` are of one step and are never stored."""

    mission: str
    notes: list[str]
    """What people have said to it while it ran."""
    problems: list[str]
    """What was wrong with the last plan."""
    route: str
    """The node that comes next."""
    batch: Annotated[list[dict[str, Any]], UntrackedValue(list)]
    effects: Annotated[list[Effect], UntrackedValue(list)]


def wait_at(state: State, node: str) -> State:
    """Ends the step here until there are events, and gives the state with which the next one begins."""
    batch: list[dict[str, Any]] = interrupt(question(state["mission"], node))
    notes = [str(event["text"]) for event in batch if event["kind"] == "note" and event.get("text")]
    return {"notes": [*state.get("notes", []), *notes], "batch": batch, "effects": []}


def question(mission_id: str, node: str) -> dict[str, Any]:
    """What an interrupt of this mission at this node says, and must still say when it is answered."""
    return {"mission": mission_id, "graph": GRAPH_VERSION, "at": node}


def goal_with_notes(goal: str, notes: list[str]) -> str:
    """The goal and what was added to it later."""
    return goal if not notes else f"{goal}\n\nAdded while it ran:\n" + "\n".join(f"- {note}" for note in notes)
