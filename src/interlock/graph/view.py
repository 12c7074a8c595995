"""A mission as the coordinator's nodes see it: one immutable snapshot of the tables, and questions to it.

How it is read is loading's; what follows from it, the nodes'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from interlock.agents.persona import Persona
from interlock.core.values import OPEN_RUNS, digest
from interlock.graph.delegation import Candidate
from interlock.graph.workflow import Step, Workflow
from interlock.policy.budgets import TASK

ENDED = frozenset({"DONE", "CANCELED"})
WAITING = frozenset({"BLOCKED", "NEEDS_APPROVAL"})
OPEN = frozenset({"ASSIGNED", "IN_PROGRESS"})
LIVE = frozenset(OPEN_RUNS)
RISKS = ("GREEN", "YELLOW", "RED")


def derived_id(prefix: str, *parts: object) -> str:
    """An id that follows from its parts, so that a step that is done again makes nothing twice."""
    return f"{prefix}_{digest([str(part) for part in parts])[:18]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run of a task, or a thought of the coordinator with its `result`."""

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
        """Whether it ended because a person gave it no more money; trying again would only ask again."""
        return self.status == "failed" and self.stop_reason == "budget"

    @property
    def trouble(self) -> str:
        """What went wrong, in words."""
        if self.status == "completed":
            return "it ended without a deliverable that was accepted"
        return self.error or f"it was {self.status} ({self.stop_reason or 'no reason given'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A task's current deliverable. `about` is, of a review, the deliverable that was judged."""

    id: str
    title: str
    verdict: str | None = None
    risk: str = "GREEN"
    labels: tuple[str, ...] = ()
    simulated: bool = False
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How far the checks are that a task must pass, for what it has handed in last. Source: row A20."""

    unrun: tuple[str, ...] = ()
    """Those that were not run yet."""
    failed: tuple[tuple[str, str], ...] = ()
    """Those that did not pass, each with the reason."""
    verdict: bool | None = None
    """Whether a reviewer has passed it; None if that is not asked."""
    shown: tuple[str, ...] = ()
    """Each check with how it came out, for people."""
    runs: int = 0
    """How often they were, or are being, run."""
    broken: int = 0
    """How many of these runs came to nothing."""
    live: bool = False
    """Whether one is under way."""
    trouble: str | None = None
    """Why the last one came to nothing."""

    @property
    def settled(self) -> bool:
        """Whether all that the runtime runs has passed."""
        return not self.unrun and not self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one model said of disputed work; `verdict` is yes, no, lost, or None while it is out. Source: row A10."""

    seat: int
    model: str
    verdict: str | None = None
    reason: str = ""
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An approval, as far as the coordinator cares."""

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
        """Whether reviewers may look at it: it is in review, and the checks that the runtime runs have passed."""
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
    requested_by: str = ""
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
    """The members, where one is to be chosen or judged; else nobody asks for them: they may be a thousand."""
    texts: Mapping[str, str] = field(default_factory=dict)
    asks_about_plan: bool = False
    """Whether a person approves the plan before work begins."""
    task_budgets_microusd: Mapping[str, int] = field(default_factory=lambda: TASK)
    """What tasks may cost at most, by type."""
    consensus: bool = False
    """Whether models are asked where author and reviewer do not agree."""
    looks: frozenset[str] = frozenset()
    """Keys of the Learner's runs so far."""
    workflow: Workflow | None = None
    """What it was started with in place of a plan."""

    @property
    def follows(self) -> Workflow | None:
        """The workflow that stands in place of a plan; None without one, or where a person wanted another plan."""
        refused = any(q.kind == "PLAN" and q.status == "denied" for q in self.questions)
        return None if refused or self.thoughts("plan") else self.workflow

    def step(self, task: TaskView) -> Step | None:
        """The step of the workflow that a task is; None if it is none, or no workflow is followed."""
        return self.follows.step(task.key) if self.follows is not None and task.reviews is None else None

    def task(self, task_id: str) -> TaskView:
        """One of its tasks, or its root."""
        return next(t for t in (self.root, *self.tasks) if t.id == task_id)

    def run_key(self, task: TaskView, *, attempt: int | None = None) -> str:
        """The idempotency key of the run that should do a task's work now; a review's names what it judges."""
        tries = task.attempt if attempt is None else attempt
        key = f"task:{task.id}:g{task.generation}:a{tries}:r{task.review_cycles}"
        judged = self.task(task.reviews).result if task.reviews else None
        return f"{key}:of:{judged.id}" if judged else key

    def run_of(self, task: TaskView) -> RunView | None:
        """The run that should do a task's work now, if it was posted."""
        return self.runs.get(self.run_key(task))

    def thoughts(self, purpose: str) -> list[RunView]:
        """The coordinator's thinking for a purpose in order; the purpose is the first part of its key's end."""
        return [run for run in self.thinks if run.key.startswith(f"think:{self.id}:{purpose}:")]

    def taint(self, task: TaskView) -> tuple[str, ...]:
        """The labels of what a task's next run is told beside the results of others: its plan, what came of it before.

        That is what earlier runs for it left, what its reviewers said and what its checks printed. Source: row C11.
        """
        reviewers = {other.id for other in self.tasks if other.reviews == task.id}
        told = [run for run in self.runs.values() if run.task_id == task.id or run.task_id in reviewers]
        labels = {label for run in (*told, *self.thoughts("plan")) for label in run.labels}
        return tuple(sorted(labels.union(self.checked.get(task.id, ()))))

    def busy(self, task: TaskView) -> bool:
        """Whether any run of a task has not ended."""
        return any(run.task_id == task.id and run.live for run in self.runs.values())

    def met(self, task: TaskView, dependency: str) -> bool:
        """Whether a dependency no longer holds a task up."""
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
        """Every task that cannot end before this one, however many steps away."""
        found = {task.id}
        for _ in self.tasks:
            found |= {t.id for t in self.tasks if found.intersection(t.depends_on)}
        return [t for t in self.tasks if t.id in found and t.id != task.id]

    def answered(self, subject: str, status: str = "approved") -> bool:
        """Whether the question with this subject was answered so."""
        return any(q.subject == subject and q.status == status for q in self.questions)

    def pending(self, task: TaskView) -> list[Question]:
        """The questions about a task, not about one of its runs, that nobody has answered."""
        return [q for q in self.questions if q.task_id == task.id and q.status == "pending" and q.run_id is None]

    def trust(self, persona: str | None) -> str:
        """The trust of a persona's member; the least where it has none."""
        return next((c.trust for c in self.candidates if c.persona.name == persona), "intern")


def highest(risks: Sequence[str]) -> str:
    """The highest of some risks."""
    return max(risks, key=RISKS.index, default="GREEN")
