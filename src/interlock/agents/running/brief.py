"""All that a run needs to know from the database, in one read."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from interlock.agents.history import history_length
from interlock.agents.prompts.background import NOTHING, Background, Gathering, Wanted
from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.task_messages import Material, TaskBrief
from interlock.agents.running.handover import earlier_work
from interlock.agents.special import learning
from interlock.agents.special.learning import LearnerInput
from interlock.core.values import canonical_json
from interlock.policy.checks import stored
from interlock.settings.agency import AgentSettings
from interlock.store import blobs
from interlock.store.money.ledger import Opening
from interlock.store.runs import run_context, traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx, small
from interlock.store.work import tasks

COMPACTION = "compaction"
"""Why the model call of a step stopped that wrote a summary: paid for and counted, but no part of what was said."""

MOST_NOTES = 20
"""How many of the last comments of people on a task and its mission its agent is told."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An earlier message whose run waits for a person, and the questions it waits for."""

    text: str
    waits_for: tuple[str, ...]
    """Each question as its id and what it is about."""


class Brief(NamedTuple):
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
    look: LearnerInput | None = None
    """Of a fresh look of the Learner: what it is shown."""
    learning: Opening | None = None
    """Of a look of the Learner: the account that bounds it."""
    marker: Any | None = None
    """Where the history begins, if that is not with the agent's first run."""
    background: Background = NOTHING
    """Of a run that has not begun: what its agent keeps in mind, has in hand and hears."""


@small
def load(tx: Tx, run: Any, limits: AgentSettings, wanted: Wanted | None = None) -> Brief:
    """Reads everything around a newly claimed run (its row), with its background if `wanted` is given."""
    gathering = Gathering(run, wanted)
    found = run_context.of(
        tx, run, turns=lambda agent: history_length.history_limit(run.kind, agent.descriptor, limits),
        rows_a_turn=history_length.ROWS_A_TURN,
        also=gathering.asks,
    )  # fmt: skip
    task, messages, learns = found.task, found.messages, run.kind == learning.KIND
    return Brief(
        run=run,
        agent=found.agent,
        member=found.member,
        project=found.project,
        task=task,
        mission=found.mission,
        messages=messages,
        steps=found.steps,
        calls=found.calls,
        approvals={row.id: row for row in found.approvals},
        history=found.history,
        lessons=[] if learns else found.lessons,
        attempts=found.attempts,
        words=_words(tx, task) if run.kind == "task" and task is not None and not messages else None,
        unfinished=_unfinished(tx, run) if run.kind == "chat" and not messages else (),
        look=learning.input_of(tx, run) if learns and not messages else None,
        learning=learning.opening(tx, run) if learns else None,
        marker=found.marker,
        background=gathering.found(found.also, {row.run_id for row in found.history}),
    )


def _unfinished(tx: Tx, run: Any) -> tuple[Unfinished, ...]:
    found = []
    for row in traces.waiting(tx, run.agent_id, run.seq):
        if row.payload.get("channel") != run.payload.get("channel"):
            continue
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
        material = material_of(tx, source)
        if source.id == task.reviews_task_id:
            review, standard = material, f"{source.description}\n\nExpected: {source.deliverable_spec}"
        else:
            inputs.append(material)
    return TaskBrief(
        title=task.title,
        description=task.description,
        type=task.type,
        deliverable=_expected(task),
        inputs=tuple(inputs),
        review=review,
        review_standard=standard,
        feedback=task.feedback,
        notes=tuple(tasks.notes(tx, task.id, task.mission_id, MOST_NOTES)),
        earlier=earlier_work(tx, task) if task.generation else None,
    )


def _expected(task: Any) -> str:
    """What is to be handed in, and what it must pass that was not waived."""
    demands = [check.name for check in stored(task.checks) if not check.waived]
    if not demands:
        return str(task.deliverable_spec)
    listed = "\n".join(f"- {name}" for name in demands)
    return f"{task.deliverable_spec}\n\nIt counts as done only once these checks of it pass:\n{listed}"


def material_of(tx: Tx, task: Any) -> Material:
    """The deliverable of a task, for the agent of another task, with its taint."""
    row = tasks.deliverable(tx, task.deliverable_id)
    labels = frozenset(row.labels) if row is not None else frozenset[str]()
    return Material(task.id, task.title, _text(tx, row), labels)


def text_of(tx: Tx, deliverable_id: str) -> str:
    """A deliverable as text for a model."""
    return _text(tx, tasks.deliverable(tx, deliverable_id))


def _text(tx: Tx, row: Any | None) -> str:
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
