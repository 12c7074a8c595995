"""Applies the effects requested by nodes, through the units of the store, in the transaction of the step.

The nodes decide which effects to request.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.persona import COORDINATOR, LEARNER
from interlock.agents.special import learning
from interlock.agents.special.learning import LookBack
from interlock.core.errors import Conflict
from interlock.core.values import Actor, ActorKind, digest
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView
from interlock.graph.vote_questions import poll
from interlock.memory import lesson_book
from interlock.memory.facts import Scope
from interlock.policy.budgets import TASK
from interlock.policy.checks import stored
from interlock.policy.learning.lesson_rules import USUAL, Outcome, Thresholds
from interlock.policy.loops import Limits
from interlock.settings.agency import DelegationSettings
from interlock.settings.model import Loops
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import principals
from interlock.store.mailboxes import capabilities, leases, mailbox
from interlock.store.mailboxes.capabilities import SANDBOX
from interlock.store.mailboxes.mailbox import Post
from interlock.store.money import ledger, limits
from interlock.store.money.ledger import Opening
from interlock.store.schema import Approval
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import coordination, evidence, missions, tasks

SYSTEM = Actor(ActorKind.SYSTEM, "system:coordinator")
POLICY = Actor(ActorKind.SYSTEM, "system:policy")


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds until a block escalates, and until a question about a deliverable expires; and the settings of a step.

    `lessons` says what lessons need to become rules, `loops` when a loop is detected.
    """

    blocked_s: float = 3600.0
    approval_s: float = 86_400.0
    lessons: Thresholds = USUAL
    loops: Limits = field(default_factory=Loops)
    checks: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """The acceptance checks that the policy demands of tasks, by type."""
    models: Sequence[str] = ()
    """The three models that vote on disputes; if empty, a person decides."""
    plan: str = "auto"
    """`ask`: a person approves the plan before work begins."""
    estimate_factor: float = 3.0
    """A mission that costs this multiple of its estimate waits for a person. Source: row D5."""
    task_budgets_microusd: Mapping[str, int] = field(default_factory=lambda: TASK)
    """The maximum budget of tasks, by type."""
    task_tries: int = 3
    """How often a task's run is tried before a person is asked."""
    delegation: DelegationSettings = field(default_factory=DelegationSettings)
    """What candidates for a task are chosen by."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies one step's effects to one mission. `run_id` is the coordinator's run, the cause of what they start."""

    tx: Tx
    view: MissionView
    run_id: str
    waits: Waits
    now: datetime

    def apply(self, effects: list[Effect]) -> None:
        """Applies all effects in order.

        Raises TransitionRefused and Conflict if the mission has changed since its view was read.
        """
        for effect in effects:
            _DOERS[effect["do"]](self, effect)

    @property
    def coordinator(self) -> Actor:
        """The mission's coordinator as an actor."""
        return Actor(ActorKind.AGENT, self.view.coordinator_agent_id, COORDINATOR)

    def _checks(self, task: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """The acceptance checks from the policy and the workflow of a task; a review only needs a verdict."""
        if task["reviews"]:
            return None
        demanded = [{**check, "by": POLICY.id} for check in self.waits.checks.get(task["type"], ())]
        return [*demanded, *task.get("checks", ())] or None

    def _advance(self, e: Effect, to: str, **more: Any) -> None:
        actor = self.coordinator if e.get("as", "coordinator") == "coordinator" else SYSTEM
        move = tasks.Move(
            task_id=e["task"], to=TaskState(to), actor=actor, reason=e.get("reason", ""), key=e["key"], **more
        )
        tasks.advance(self.tx, move, self.now)

    def move(self, e: Effect) -> None:
        """Changes a task's state."""
        feedback = {"feedback": e["feedback"]} if e["feedback"] is not None else {}
        self._advance(e, e["to"], approval_id=e["approval"], **feedback)

    def take_up(self, e: Effect) -> None:
        """Assigns the root task to the coordinator."""
        self._advance({**e, "reason": "taken up"}, "ASSIGNED", assignee_agent_id=self.view.coordinator_agent_id)

    def wait(self, e: Effect) -> None:
        """Makes a task wait for something."""
        kind = BlockKind(e["kind"]) if e["kind"] else None
        escalate_at = self.now + timedelta(seconds=self.waits.blocked_s)
        self._advance(e, e["to"], block_kind=kind, wait_for=e["wait_for"], escalate_at=escalate_at)

    def create(self, e: Effect) -> None:
        """Creates the tasks of a plan with their accounts."""
        for place, task in enumerate(e["tasks"], start=1):
            at = self.now + timedelta(microseconds=place)
            tasks.add(
                self.tx, id=task["id"], project_id=self.view.project_id, mission_id=self.view.id,
                parent_id=self.view.id, key=task["key"], title=task["title"], description=task["description"],
                persona=task["persona"], type=task["type"], priority=task["priority"],
                estimated_minutes=task["estimated_minutes"], capabilities=task["capabilities"],
                deliverable_spec=task["deliverable"], budget_microusd=task["budget_microusd"],
                reviews_task_id=task["reviews"], idempotency_key=f"plan:{self.view.id}:{task['key']}",
                checks=self._checks(task), created_at=at, updated_at=at,
            )  # fmt: skip
        for task in e["tasks"]:
            for upstream in task["depends_on"]:
                tasks.depend(self.tx, task["id"], upstream)
        openings = [
            Opening(f"task:{t['id']}", "task", t["id"], self.view.project_id, t["budget_microusd"]) for t in e["tasks"]
        ]
        ledger.open_accounts(self.tx, openings, self.now)
        self._expect(e)
        self.tick(e)

    def _expect(self, e: Effect) -> None:
        """Records the estimated cost of the plan, and asks a person if a multiple of it is spent."""
        estimate = int(e["likely_microusd"])
        missions.set_plan(self.tx, self.view.id, e["summary"], estimate)
        account = ledger.account(self.tx, f"mission:{self.view.id}")
        spent = account.settled_microusd if account is not None else 0
        line = round(self.waits.estimate_factor * (estimate + spent))
        limits.watch(self.tx, f"mission:{self.view.id}", line)

    def assign(self, e: Effect) -> None:
        """Assigns a task to an agent and posts its first run.

        Raises Conflict if the agent's member was paused or quarantined since the view of it was read.
        """
        if not squad.is_active(self.tx, self.view.project_id, e["persona"]):
            raise Conflict(f"`{e['persona']}` may not be given anything now: look again")
        agent_id = self._agent("task", e["persona"], {"task": e["task"], "generation": str(e["generation"])})
        reason = f"given to {e['persona']}"
        self._advance({**e, "reason": reason}, "ASSIGNED", assignee_agent_id=agent_id)
        self._post_work(e, agent_id, None)

    def work(self, e: Effect) -> None:
        """Posts a task's next run."""
        self._post_work(e, e["agent"], self.now + timedelta(seconds=e["delay_s"]) if e["delay_s"] else None)

    def _post_work(self, e: Effect, agent_id: str, due_at: datetime | None) -> None:
        payload = {"purpose": e["purpose"], "task_id": e["task"]}
        task = self.view.task(e["task"])
        if (step := self.view.step(task)) is not None and step.timeout_s is not None:
            payload["timeout_s"] = step.timeout_s
        taint = self.view.taint(task)
        self._post("task", agent_id, e["run_key"], payload, task_id=e["task"], due_at=due_at, labels=taint)

    def check(self, e: Effect) -> None:
        """Posts the run that executes a task's checks.

        One with a command goes to a worker with a sandbox, if there is one; any other says what it lacks.
        """
        payload = {"purpose": evidence.RUN_KIND, "task_id": e["task"], "deliverable": e["deliverable"]}
        agent_id = self._agent(evidence.RUN_KIND, COORDINATOR, {"task": e["task"]})
        row = tasks.task(self.tx, e["task"])
        commands = row is not None and any(c.kind == "command" and not c.waived for c in stored(row.checks))
        is_met = commands and leases.can(self.tx, [SANDBOX])
        capabilities.require(self.tx, agent_id, [SANDBOX] if is_met else [])
        self._post(evidence.RUN_KIND, agent_id, e["run_key"], payload, task_id=e["task"])

    def vote(self, e: Effect) -> None:
        """Asks three models for votes on disputed work."""
        poll(self.tx, self.view, self.waits.models, e, self.now)

    def failed(self, e: Effect) -> None:
        """Counts a failed attempt."""
        coordination.count_failure(self.tx, e["task"], e["attempt"], e["feedback"], self.now)

    def think(self, e: Effect) -> None:
        """Posts a model call of the coordinator itself."""
        payload = {"purpose": e["purpose"], "prompt": e["prompt"], "context": {}}
        self._post("think", self.view.thinker_agent_id, e["key"], payload, labels=e.get("labels", ()))

    def learn(self, e: Effect) -> None:
        """Scores lessons by a task's end, and posts the Learner's run, for which nothing waits."""
        view = self.view
        lesson_book.conclude(self.tx, e["task"], Outcome(e["outcome"]), self.waits.lessons, self.now)
        if LEARNER in view.personas:
            scope: Scope = "mission" if e["task"] == view.id else "task"
            look = LookBack(
                key=e["key"], scope=scope, project_id=view.project_id, ident=e["task"], mission_id=view.id,
                model=view.model, simulated=view.simulated,
            )  # fmt: skip
            learning.post(self.tx, view.personas[LEARNER], look, self.now)

    def decide(self, e: Effect) -> None:
        """Records a decision."""
        self._note("COORDINATOR_DECISION", self.coordinator, e["task"], decision=e["decision"], inputs=e["inputs"],
                   reason=e["reason"])  # fmt: skip

    def ask(self, e: Effect) -> None:
        """Puts a question into the queue; one about a deliverable expires, one that a block waits for does not."""
        expires = e["kind"] in ("TASK_REVIEW", "PLAN")
        expires_at = self.now + timedelta(seconds=self.waits.approval_s) if expires else None
        approvals.ask(self.tx, **self._question(e, e["kind"], e["request"], e["reasons"]), expires_at=expires_at)

    def approve(self, e: Effect) -> None:
        """Records the policy's own approval of a deliverable."""
        request = {"deliverable": e["deliverable"], "automatic": True}
        row = self._question(e, "TASK_REVIEW", request, [e["reason"]])
        self.tx.add(Approval, **row, status="approved", decided_by=POLICY.id, answered_at=self.now)
        self._note("APPROVAL_ANSWERED", POLICY, e["task"], subject=e["approval"], verdict="approve", note=e["reason"])

    def _question(
        self, e: Effect, kind: str, request: Mapping[str, Any], reasons: list[str]
    ) -> dict[str, Any]:  # fmt: skip
        return {
            "id": e["approval"], "kind": kind, "project_id": self.view.project_id, "mission_id": self.view.id,
            "task_id": e["task"], "subject": e["subject"], "request": dict(request), "risk": e["risk"],
            "reasons": reasons, "asked_by": SYSTEM.id, "on_behalf_of": principals.of_task(self.tx, e["task"]),
            "created_at": self.now,
        }  # fmt: skip

    def hand_in(self, e: Effect) -> None:
        """Submits the mission's own deliverable. Raises Conflict if a task was added since the view was read."""
        tasks.lock(self.tx, e["task"])
        if len(tasks.of_mission(self.tx, e["task"])) != len(self.view.tasks) + 1:
            raise Conflict("a task was added to the mission: look again")
        deliverable = {
            "id": e["deliverable"], "task_id": e["task"], "run_id": e["run"], "kind": "text", "title": e["title"],
            "text": e["text"], "sha256": digest(e["text"]), "simulated": self.view.simulated, "labels": e["labels"],
        }  # fmt: skip
        tasks.hand_in(self.tx, deliverable, self.now)

    def count(self, e: Effect) -> None:
        """Counts a task in a member's track record."""
        if e["member"] is not None:
            squad.add_record(self.tx, e["member"], done=e["done"])

    def alert(self, e: Effect) -> None:
        """Alerts people."""
        audit.alert(
            self.tx, self.now, project_id=self.view.project_id, severity=e["severity"], kind=e["kind"],
            text=e["text"], key=e["key"], subject=e["subject"],
        )  # fmt: skip

    def stop(self, e: Effect) -> None:
        """Cancels a run."""
        leases.cancel(self.tx, e["run"], self.now, e["reason"])

    def void(self, e: Effect) -> None:
        """Withdraws a question."""
        approvals.void(self.tx, e["approval"], e["reason"])

    def undepend(self, e: Effect) -> None:
        """Removes a dependency of a task."""
        coordination.undepend(self.tx, e["task"], e["on"])

    def tick(self, e: Effect) -> None:
        """Schedules another step of the coordinator."""
        missions.notify(self.tx, self.view.id, "tick", {}, self.now)

    def _agent(self, kind: str, persona: str, parts: Mapping[str, str]) -> str:
        found = self.view.personas[persona]
        descriptor = Descriptor(kind, self.view.project_id, persona, parts)
        return str(squad.ensure_agent(self.tx, descriptor, found.to_json(), found.trust, self.now).id)

    def _post(
        self,
        kind: str,
        agent_id: str,
        key: str,
        payload: dict[str, Any],
        *,
        task_id: str | None = None,
        due_at: datetime | None = None,
        labels: Iterable[str] = (),
    ) -> None:
        message = Post(
            project_id=self.view.project_id,
            agent_id=agent_id,
            kind=kind,
            payload=payload,
            idempotency_key=key,
            cause_kind="task" if task_id else "run",
            cause_id=task_id or self.run_id,
            mission_id=self.view.id,
            task_id=task_id,
            due_at=due_at,
            model=self.view.model,
            simulated=self.view.simulated,
            labels=tuple(labels),
        )
        mailbox.post(self.tx, message, self.now)

    def _note(
        self, action: str, actor: Actor, task_id: str | None, *, subject: str | None = None, **data: Any
    ) -> None:  # fmt: skip
        audit.note(
            self.tx, action, actor, self.now, project_id=self.view.project_id, mission_id=self.view.id,
            task_id=task_id, run_id=self.run_id, subject=subject, **data,
        )  # fmt: skip


_DOERS: Mapping[str, Callable[[Applier, Effect], None]] = {
    doer.__name__: doer
    for doer in (
        Applier.move, Applier.take_up, Applier.wait, Applier.create, Applier.assign, Applier.work, Applier.check,
        Applier.vote, Applier.failed, Applier.think, Applier.learn, Applier.decide, Applier.ask, Applier.approve,
        Applier.hand_in, Applier.count, Applier.alert, Applier.stop, Applier.void, Applier.undepend, Applier.tick,
    )
}  # fmt: skip
