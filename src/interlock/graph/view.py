"""A mission as the coordinator's nodes see it: one immutable snapshot of the tables, with queries.

It is read in `loading`; the nodes draw conclusions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from interlock.agents.persona import Persona
from interlock.core.values import OPEN_RUNS, digest
from interlock.graph.delegation import USUAL, Candidate
from interlock.graph.workflow import Step, Workflow
from interlock.policy.budgets import TASK
from interlock.settings.agency import DelegationSettings

ENDED = frozenset({"DONE", "CANCELED"})
WAITING = frozenset({"BLOCKED", "NEEDS_APPROVAL"})
OPEN = frozenset({"ASSIGNED", "IN_PROGRESS"})
LIVE = frozenset(OPEN_RUNS)
ADDED = "added:"
"""How the key of a task begins that a person added; no key of a plan does."""


def derived_id(prefix: str, *parts: object) -> str:
    """An id derived from its parts, so that repeating a step creates nothing twice."""
    return f"{prefix}_{digest([str(part) for part in parts])[:18]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run of a task, or a model call of the coordinator with its `result`."""

    id: str
    key: str
    status: str
    task_id: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    result: str | None = None
    labels: tuple[str, ...] = ()
    """Its taint."""

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.status in LIVE

    @property
    def denied_money(self) -> bool:
        """Whether it ended because a person refused more money; a retry would only ask again."""
        return self.status == "failed" and self.stop_reason == "budget"

    @property
    def trouble(self) -> str:
        """What went wrong, as text."""
        if self.status == "completed":
            return "it ended without a deliverable that was accepted"
        return self.error or f"it was {self.status} ({self.stop_reason or 'no reason given'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A task's current deliverable. For a review, `about` is the deliverable that was judged."""

    id: str
    title: str
    verdict: str | None = None
    risk: str = "GREEN"
    labels: tuple[str, ...] = ()
    simulated: bool = False
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The status of the checks that a task must pass, for its latest deliverable. Source: row A20."""

    unrun: tuple[str, ...] = ()
    """Those not executed yet."""
    failed: tuple[tuple[str, str], ...] = ()
    """The failed ones, each with the reason."""
    verdict: bool | None = None
    """Whether a reviewer has passed it; None if no verdict is required."""
    shown: tuple[str, ...] = ()
    """Each check with its result, for people."""
    runs: int = 0
    """How many runs of the checks were started."""
    broken: int = 0
    """How many of these runs failed to execute the checks."""
    live: bool = False
    """Whether a run of the checks is in progress."""
    trouble: str | None = None
    """Why the last run failed to execute them."""

    @property
    def settled(self) -> bool:
        """Whether all checks that the runtime executes have passed."""
        return not self.unrun and not self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One model's vote on disputed work; `verdict` is yes, no, lost, or None while pending. Source: row A10."""

    seat: int
    model: str
    verdict: str | None = None
    reason: str = ""
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An approval, with the fields that the coordinator needs."""

    id: str
    task_id: str | None
    run_id: str | None
    kind: str
    status: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task. `persona` is the planned one, `worker` that of its assignee, `call_risk` the highest it executed."""

    id: str
    key: str
    title: str
    description: str = ""
    persona: str | None = None
    type: str = "other"
    status: str = "INBOX"
    capabilities: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    reviews: str | None = None
    assignee: str | None = None
    worker: str | None = None
    member_id: str | None = None
    attempt: int = 0
    generation: int = 0
    review_cycles: int = 0
    held_from: str | None = None
    block_kind: str | None = None
    reason: str | None = None
    feedback: str | None = None
    superseded_by: str | None = None
    result: Result | None = None
    call_risk: str = "GREEN"
    version: int = 0
    demands: tuple[str, ...] = ()
    """What it must pass before it counts as done."""
    proof: Proof | None = None
    """Where it has handed in and must pass checks."""
    ballots: tuple[Vote, ...] = ()
    """Of the models that were asked about its dispute in this review cycle."""

    @property
    def ended(self) -> bool:
        """Whether nothing can change it any more."""
        return self.status in ENDED

    @property
    def reviewable(self) -> bool:
        """Whether reviewers may judge it: it is in review, and the checks that the runtime executes have passed."""
        return self.status == "REVIEW" and (self.proof is None or self.proof.settled)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissionView:
    """A mission now. Runs are by idempotency key; `texts` are of deliverables, by id, where a node needs them."""

    id: str
    project_id: str
    goal: str
    version: int
    root: TaskView
    coordinator_agent_id: str
    thinker_agent_id: str
    model: str | None = None
    simulated: bool = False
    canceled: bool = False
    budget_microusd: int = 0
    available_microusd: int = 0
    deadline_at: datetime | None = None
    tasks: tuple[TaskView, ...] = ()
    runs: Mapping[str, RunView] = field(default_factory=dict)
    checked: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By task: the labels of what its checks have looked at, and so of what they say. Source: row C11."""
    thinks: tuple[RunView, ...] = ()
    questions: tuple[Question, ...] = ()
    blocks: tuple[str, ...] = ()
    """Keys of the transitions that blocked its tasks so far."""
    personas: Mapping[str, Persona] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    """The members, only read if one is to be chosen or judged, because there may be thousands."""
    texts: Mapping[str, str] = field(default_factory=dict)
    asks_about_plan: bool = False
    """Whether a person approves the plan before work begins."""
    task_budgets_microusd: Mapping[str, int] = field(default_factory=lambda: TASK)
    """The maximum budget of tasks, by type."""
    task_tries: int = 3
    """How often a task's run is tried before a person is asked."""
    delegation: DelegationSettings = USUAL
    """What candidates are chosen by."""
    consensus: bool = False
    """Whether models vote on disputes between author and reviewer."""
    looks: frozenset[str] = frozenset()
    """Keys of the Learner's runs so far."""
    workflow: Workflow | None = None
    """The workflow with which it was started."""

    @property
    def follows(self) -> Workflow | None:
        """The workflow that replaces a plan; None without one, or if a person wanted another plan."""
        refused = any(q.kind == "PLAN" and q.status == "denied" for q in self.questions)
        return None if refused or self.thoughts("plan") else self.workflow

    def step(self, task: TaskView) -> Step | None:
        """The step of the workflow for a task; None if there is none, or no workflow is followed."""
        return self.follows.step(task.key) if self.follows is not None and task.reviews is None else None

    def task(self, task_id: str) -> TaskView:
        """One of its tasks, or its root."""
        return next(t for t in (self.root, *self.tasks) if t.id == task_id)

    def run_key(self, task: TaskView, *, attempt: int | None = None) -> str:
        """The idempotency key of the current run for a task; for a review, it contains what is judged."""
        tries = task.attempt if attempt is None else attempt
        key = f"task:{task.id}:g{task.generation}:a{tries}:r{task.review_cycles}"
        judged = self.task(task.reviews).result if task.reviews else None
        return f"{key}:of:{judged.id}" if judged else key

    def run_of(self, task: TaskView) -> RunView | None:
        """The current run for a task, if it was posted."""
        return self.runs.get(self.run_key(task))

    def thoughts(self, purpose: str) -> list[RunView]:
        """The coordinator's model calls for a purpose, in order; the purpose is the start of the key's last part."""
        return [run for run in self.thinks if run.key.startswith(f"think:{self.id}:{purpose}:")]

    def taint(self, task: TaskView) -> tuple[str, ...]:
        """The labels of what a task's next run is shown besides the results of others: its plan and its history.

        The history consists of the output of earlier runs, of reviewers and of checks. Source: row C11.
        """
        reviewers = {other.id for other in self.tasks if other.reviews == task.id}
        runs = [run for run in self.runs.values() if run.task_id == task.id or run.task_id in reviewers]
        labels = {label for run in (*runs, *self.thoughts("plan")) for label in run.labels}
        return tuple(sorted(labels.union(self.checked.get(task.id, ()))))

    def busy(self, task: TaskView) -> bool:
        """Whether any run of a task has not ended."""
        return any(run.task_id == task.id and run.live for run in self.runs.values())

    def met(self, task: TaskView, dependency: str) -> bool:
        """Whether a dependency no longer blocks a task."""
        upstream = self.task(dependency)
        if upstream.status == "DONE" or upstream.superseded_by:
            return True
        return dependency == task.reviews and upstream.reviewable

    def ready(self, task: TaskView) -> bool:
        """Whether all its dependencies are met. Source: row A6."""
        return all(self.met(task, dependency) for dependency in task.depends_on)

    def lost(self, task: TaskView) -> list[TaskView]:
        """The dependencies of a task that can never be met."""
        upstream = [self.task(each) for each in task.depends_on]
        return [each for each in upstream if each.status == "CANCELED" and not each.superseded_by]

    def downstream(self, task: TaskView) -> list[TaskView]:
        """Every task that depends on this one, directly or indirectly."""
        found = {task.id}
        for _ in self.tasks:
            found |= {t.id for t in self.tasks if found.intersection(t.depends_on)}
        return [t for t in self.tasks if t.id in found and t.id != task.id]

    def answered(self, subject: str, status: str = "approved") -> bool:
        """Whether the question with this subject has that answer."""
        return any(q.subject == subject and q.status == status for q in self.questions)

    def pending(self, task: TaskView) -> list[Question]:
        """The unanswered questions about a task, except those about its runs."""
        return [q for q in self.questions if q.task_id == task.id and q.status == "pending" and q.run_id is None]

    def trust(self, persona: str | None) -> str:
        """The trust of a persona's member; the lowest if it has none."""
        return next((c.trust for c in self.candidates if c.persona.name == persona), "intern")
