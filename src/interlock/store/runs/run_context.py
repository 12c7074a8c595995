"""Loads the context of a newly claimed run, in as few round trips as possible.

What of it goes into a prompt is decided in `agents`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from interlock.store import squad
from interlock.store.knowledge import lessons
from interlock.store.money import ledger
from interlock.store.runs import markers, traces
from interlock.store.signoff import approvals
from interlock.store.tx import Ask, Tx
from interlock.store.work import missions, tasks


class Around(NamedTuple):
    """The rows related to a run, as named tuples; lists are in order."""

    agent: Any
    member: Any
    project: Any
    task: Any | None
    mission: Any | None
    messages: list[Any]
    """Of the run itself, like steps, calls and approvals."""
    steps: list[Any]
    calls: list[Any]
    approvals: list[Any]
    attempts: int
    """The number of earlier, interrupted reservations for the next step."""
    history: list[Any]
    """Messages of the agent's earlier runs, oldest first; their blocks and labels are JSON text."""
    lessons: list[Any]
    """Matching lessons, more than will be shown."""
    marker: Any | None = None
    """Where the history begins, if not with the agent's first run."""
    also: Sequence[list[Any]] = ()
    """The rows of each additional select."""


Also = Callable[[Any, Any | None, Any | None], Sequence[Ask]]
"""Returns additional selects, given the rows of the agent, the task and the mission."""


def _nothing(*_: Any) -> Sequence[Ask]:
    return ()


def of(tx: Tx, run: Any, *, turns: Callable[[Any], int], rows_a_turn: int, also: Also = _nothing) -> Around:
    """Loads the context of a claimed run (its row), with up to `turns` earlier turns of its agent.

    A run that has not begun has no messages of its own yet, so none are queried.
    """
    task_id, begun = run.task_id or run.mission_id, run.policy_hash is not None
    own = {"run_": run.id}
    next_step = {**own, "step": run.step_count + 1}
    (agent,), (member,), (project,), task, mission, messages, steps, calls, held, tried = tx.gather([
        (squad.AGENT, {"agent": run.agent_id}),
        (squad.MEMBER_OF, {"agent": run.agent_id}),
        (squad.PROJECT, {"project": run.project_id}),
        (tasks.TASK, {"task": task_id}) if task_id else None,
        (missions.MISSION, {"mission": run.mission_id}) if run.mission_id else None,
        (traces.MESSAGES_OF, own) if begun else None,
        (traces.STEPS_OF, own) if begun else None,
        (traces.CALLS_OF, own) if begun else None,
        (approvals.OF_RUN, own) if begun else None,
        (ledger.ATTEMPTS, next_step) if begun else None,
    ])  # fmt: skip
    fits = {"project": run.project_id, "name": agent.persona, "sort": task[0].type if task else None}
    most = turns(agent)
    marker = _marker(tx, run, agent, messages) if agent.history_from_seq > 0 else None
    mine, whole = task[0] if task else None, mission[0] if mission else None
    earlier, fitting, *besides = tx.gather([
        _history(run, messages, marker, most, most * rows_a_turn) if most else None,
        (lessons.FITTING, fits),
        *also(agent, mine, whole),
    ])  # fmt: skip
    return Around(
        agent, member, project, mine, whole, messages, steps, calls, held, tried[0].attempts if tried else 0,
        list(reversed(earlier)), fitting, marker, besides,
    )  # fmt: skip


def _marker(tx: Tx, run: Any, agent: Any, messages: list[Any]) -> Any | None:
    return markers.then(tx, run, messages[0].created_at) if messages else markers.latest(tx, agent.id)


def _history(run: Any, messages: list[Any], marker: Any | None, turns: int, most: int) -> Ask:
    """The history as of the start of the run: runs that ended later were not shown to its model."""
    since = marker.from_seq if marker is not None else 0
    params = {"agent": run.agent_id, "since": since, "before": run.seq, "turns": turns, "most": most}
    then = {"until": messages[0].created_at} if messages else {}
    if marker is not None and marker.kind == markers.COMPACTION:
        joined = traces.HISTORY_THEN_JOINED if messages else traces.HISTORY_JOINED
        return joined, {**params, **then, "summed_up_at": marker.created_at}
    return traces.HISTORY_THEN if messages else traces.HISTORY, {**params, **then}
