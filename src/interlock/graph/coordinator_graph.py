"""The coordinator's graph: its nodes and edges, in LangGraph's terms.

Nodes are implemented in their own modules; steps are run and stored by the coordinator.
"""

from functools import cache
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END as FINISH
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from interlock.graph.compiling import compile_, learn
from interlock.graph.delegating import delegate
from interlock.graph.planning import check, plan
from interlock.graph.resolving import resolve, watch
from interlock.graph.state import END, NODES, State, Step
from interlock.graph.view import MissionView

RECURSION_LIMIT = 25
"""The most nodes in one step; the longest path has six."""

Graph = CompiledStateGraph[State, MissionView, State, State]


@cache
def _compiled() -> Graph:
    """Compiled once: LangGraph reads the source of every node to do it, which takes longer than a step."""
    graph = StateGraph(State, context_schema=MissionView)
    graph.add_node("plan", plan)
    graph.add_node("check", check)
    graph.add_node("delegate", delegate)
    graph.add_node("watch", watch)
    graph.add_node("resolve", resolve)
    graph.add_node("compile", compile_)
    graph.add_node("learn", learn)
    graph.add_conditional_edges(START, _entry, ["plan", "check", "resolve"])
    ways = {name: name for name in NODES} | {END: FINISH}
    for name in NODES:
        graph.add_conditional_edges(name, _route, ways)  # type: ignore[arg-type]
    return graph.compile()


def build(saver: BaseCheckpointSaver[Any]) -> Graph:
    """The graph with a checkpointer."""
    return _compiled().copy({"checkpointer": saver})


def _route(state: State) -> str:
    return state["route"]


def _entry(state: State, runtime: Step) -> str:
    """The node at which a thread starts: `plan`, or, for a lost thread, the one that follows from the tables."""
    view = runtime.context
    if view.canceled or view.tasks:
        return "resolve"
    return "check" if view.thoughts("plan") else "plan"
