"""All that a run needs to know from the database, in one read."""

from dataclasses import dataclass
from typing import Any

from interlock.agents import learning, scheduled
from interlock.agents.handover import earlier_work
from interlock.agents.learning import Look
from interlock.agents.quoting import one_line
from interlock.agents.task_messages import Material, TaskBrief
from interlock.core.values import canonical_json
from interlock.store import approvals, blobs, ledger, lessons, missions, squad, tasks, traces
from interlock.store.ledger import Opening
from interlock.store.posting import CHILD_END
from interlock.store.tx import Tx, small

HISTORY_TURNS, HISTORY_ROWS = 30, 120
"""What a model is shown of earlier runs of its agent, at most. Source: numbers, "Session history limits"."""
KINDS_WITH_HISTORY = ("task", "chat", CHILD_END)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An earlier message whose run waits for a person, and for what."""

    text: str
    waits_for: tuple[str, ...]
    """Each question as its id and what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A run with everything around it; the fields are rows as named tuples."""

    run: Any
    agent: Any
    member: Any
    project: Any
    task: Any | None
    mission: Any | None
    messages: list[Any]
    steps: list[Any]
    calls: list[Any]
    approvals: dict[str, Any]
    history: list[Any]
    lessons: list[Any]
    """Those that fit, more than are shown."""
    attempts: int
    """Reservations of the step that comes next which were made before (and cut off)."""
    words: TaskBrief | None
    """Of a task: what its agent is told of it."""
    unfinished: tuple["Unfinished", ...] = ()
    """Of a fresh chat: the earlier messages of the conversation that wait for a person."""
    look: Look | None = None
    """Of a fresh look of the Learner: what it is shown."""
    learning: Opening | None = None
    """Of a look of the Learner: the account that bounds it."""


@small
def load(tx: Tx, run_id: str) -> Brief:
    """Reads a run and everything around it."""
    run = traces.run(tx, run_id)
    if run is None:
        raise LookupError(run_id)
    agent = squad.agent(tx, run.agent_id)
    assert agent is not None
    task_id = run.task_id or run.mission_id
    task = tasks.task(tx, task_id) if task_id else None
    mission = missions.mission(tx, run.mission_id) if run.mission_id else None
    messages = traces.messages(tx, run_id)
    history = []
    if run.kind in KINDS_WITH_HISTORY:
        found = traces.history(
            tx, agent.id, since_seq=agent.history_from_seq, before_seq=run.seq, turns=HISTORY_TURNS, most=HISTORY_ROWS,
            until=messages[0].created_at if messages else None,
        )  # fmt: skip
        history = scheduled.recent(agent, found)
    learns = run.kind == learning.KIND
    open_lines = ledger.attempts(tx, run_id, run.step_count + 1)
    return Brief(
        run=run,
        agent=agent,
        member=squad.member(tx, agent.member_id),
        project=squad.project(tx, run.project_id),
        task=task,
        mission=mission,
        messages=messages,
        steps=traces.steps(tx, run_id),
        calls=traces.calls(tx, run_id),
        approvals={row.id: row for row in approvals.of_run(tx, run_id)},
        history=history,
        lessons=[] if learns else lessons.fitting(tx, run.project_id, agent.persona, task.type if task else None),
        attempts=open_lines,
        words=_words(tx, task) if run.kind == "task" and task is not None and not messages else None,
        unfinished=_unfinished(tx, run) if run.kind == "chat" and not messages else (),
        look=learning.shown(tx, run) if learns and not messages else None,
        learning=learning.opening(tx, run) if learns else None,
    )


def _unfinished(tx: Tx, run: Any) -> tuple[Unfinished, ...]:
    found = []
    for row in traces.waiting(tx, run.agent_id, run.seq):
        asked = [a for a in approvals.of_run(tx, row.id) if a.status == "pending"]
        waits_for = tuple(f"{a.id} ({one_line(str(a.request.get('summary', a.kind)))})" for a in asked)
        found.append(Unfinished(str(row.payload.get("text", "")), waits_for))
    return tuple(found)


def _words(tx: Tx, task: Any) -> TaskBrief:
    inputs, review, standard = [], None, ""
    for link in tasks.upstream(tx, task.id):
        source = tasks.task(tx, link)
        if source is None or source.deliverable_id is None:
            continue
        material = Material(source.id, source.title, text_of(tx, source.deliverable_id))
        if source.id == task.reviews_task_id:
            review, standard = material, f"{source.description}\n\nExpected: {source.deliverable_spec}"
        else:
            inputs.append(material)
    return TaskBrief(
        title=task.title,
        description=task.description,
        type=task.type,
        deliverable=task.deliverable_spec,
        inputs=tuple(inputs),
        review=review,
        review_standard=standard,
        feedback=task.feedback,
        earlier=earlier_work(tx, task) if task.generation else None,
    )


def text_of(tx: Tx, deliverable_id: str) -> str:
    """A deliverable as text for a model."""
    row = tasks.deliverable(tx, deliverable_id)
    if row is None:
        return ""
    if row.kind == "text":
        return row.text or ""
    if row.kind == "data":
        return canonical_json(row.data)
    data = blobs.get(tx, row.blob) if row.blob else None
    try:
        body = data.decode("utf-8") if data is not None else ""
    except UnicodeDecodeError:
        body = f"[binary file, {len(data or b''):,} bytes]"
    return f"File `{row.path}` in the workspace.\n{row.summary}\n\n{body}".strip()
