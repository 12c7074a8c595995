"""Reads a mission for the coordinator, completely and from one snapshot; nothing is decided here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.running.brief import text_of
from interlock.core.errors import NotFound
from interlock.core.values import usd
from interlock.graph.delegating import waiting_for_agent
from interlock.graph.delegation import Candidate
from interlock.graph.view import ENDED, LIVE, MissionView, Proof, Question, Result, RunView, TaskView, Vote
from interlock.graph.workflow import Workflow
from interlock.policy.budgets import day_key
from interlock.policy.checks import stored
from interlock.policy.risk import highest
from interlock.store import squad
from interlock.store.knowledge import learner_reviews
from interlock.store.money import ledger
from interlock.store.signoff import votes
from interlock.store.tx import Tx
from interlock.store.work import checkpoints, coordination, evidence, missions, tasks

PROVING = frozenset({"REVIEW", "NEEDS_APPROVAL"})


@dataclass(frozen=True, slots=True)
class Loaded:
    """A mission with the pending events for its coordinator, and the checkpoint of its thread."""

    view: MissionView
    events: tuple[Any, ...]
    checkpoint_id: str | None


def load(
    tx: Tx, mission_id: str, personas: Mapping[str, Persona], now: datetime, *, consensus: bool = False
) -> Loaded:  # fmt: skip
    """Reads a mission; with `consensus`, also the votes of models on disputed work. Raises NotFound."""
    mission = missions.mission(tx, mission_id)
    if mission is None:
        raise NotFound("mission", mission_id)
    seen = _Tables(tx, mission_id, consensus=consensus)
    rows = tasks.of_mission(tx, mission_id)
    root, *others = [seen.task(row) for row in sorted(rows, key=lambda row: row.parent_id is not None)]
    account = ledger.account(tx, f"mission:{mission_id}")
    checkpoint = checkpoints.get(tx, mission_id, "")
    view = MissionView(
        id=mission_id,
        project_id=mission.project_id,
        goal=mission.goal,
        version=mission.graph_version,
        root=root,
        coordinator_agent_id=mission.coordinator_agent_id,
        thinker_agent_id=mission.thinker_agent_id,
        model=mission.model,
        simulated=mission.simulated,
        canceled=mission.canceled_at is not None or root.status == "CANCELED",
        budget_microusd=account.limit_microusd if account else 0,
        available_microusd=ledger.room(tx, [f"mission:{mission_id}"]),
        deadline_at=mission.deadline_at,
        tasks=tuple(others),
        runs=seen.runs,
        checked=seen.checked,
        thinks=seen.thinks,
        questions=seen.questions,
        blocks=tuple(coordination.block_keys(tx, mission_id)),
        personas=personas,
        texts=_texts(tx, root, others),
        consensus=consensus,
        looks=frozenset(learner_reviews.of_mission(tx, mission_id)),
        workflow=Workflow.from_json(mission.workflow) if mission.workflow else None,
    )
    if any(waiting_for_agent(view, task) or task.status == "REVIEW" for task in view.tasks):
        view = replace(view, candidates=_candidates(tx, mission.project_id, personas, now))
    return Loaded(view, tuple(missions.pending(tx, mission_id)), checkpoint.id if checkpoint else None)


class _Tables:
    """The rows on a mission's tasks, by task."""

    def __init__(self, tx: Tx, mission_id: str, *, consensus: bool) -> None:
        self._tx, self._consensus = tx, consensus
        rows = coordination.task_runs(tx, mission_id)
        self.checked = _labels_of_checks(rows)
        self.runs = {
            row.idempotency_key: RunView(
                id=row.id, key=row.idempotency_key, status=row.status, task_id=row.task_id,
                stop_reason=row.stop_reason, error=row.error, labels=tuple(row.labels),
            )
            for row in rows
            if row.kind != evidence.RUN_KIND
        }  # fmt: skip
        self.thinks = tuple(
            RunView(
                id=row.id, key=row.idempotency_key, status=row.status, stop_reason=row.stop_reason, error=row.error,
                result=row.result, labels=tuple(row.labels),
            )
            for row in coordination.thinks(tx, mission_id)
        )  # fmt: skip
        self.questions = tuple(
            Question(
                id=row.id, task_id=row.task_id, run_id=row.run_id, kind=row.kind, status=row.status,
                subject=row.subject,
            )
            for row in coordination.questions(tx, mission_id)
        )  # fmt: skip
        self._workers = {row.id: row for row in coordination.workers(tx, mission_id)}
        self._results = {row.task_id: _result(row) for row in coordination.results(tx, mission_id)}
        self._risks: dict[str, list[str]] = {}
        for row in coordination.executed_risks(tx, mission_id):
            self._risks.setdefault(row.task_id or mission_id, []).append(row.risk)
        self._links: dict[str, list[str]] = {}
        for row in tasks.links(tx, mission_id):
            self._links.setdefault(row.task_id, []).append(row.depends_on_id)

    def task(self, row: Any) -> TaskView:
        """A task with all its rows."""
        worker = self._workers.get(row.id)
        return TaskView(
            id=row.id,
            key=row.key,
            title=row.title,
            description=row.description,
            persona=row.persona,
            type=row.type,
            status=row.status,
            capabilities=tuple(row.capabilities),
            depends_on=tuple(self._links.get(row.id, ())),
            reviews=row.reviews_task_id,
            assignee=row.assignee_agent_id,
            worker=worker.persona if worker else None,
            member_id=worker.member_id if worker else None,
            attempt=row.attempt,
            generation=row.generation,
            review_cycles=row.review_cycles,
            held_from=row.held_from,
            block_kind=row.block_kind,
            reason=row.block_reason,
            feedback=row.feedback,
            superseded_by=row.superseded_by,
            result=self._results.get(row.id),
            call_risk=str(highest(self._risks.get(row.id, ()))),
            version=row.version,
            demands=tuple(check.name for check in stored(row.checks) if not check.waived),
            proof=_proof(self._tx, row) if row.checks and row.status in PROVING else None,
            ballots=_ballots(self._tx, row) if self._consensus and row.status == "REVIEW" else (),
        )


def _labels_of_checks(rows: Iterable[Any]) -> dict[str, frozenset[str]]:
    """The labels of the output of checks, by task."""
    found: dict[str, frozenset[str]] = {}
    for row in rows:
        if row.kind == evidence.RUN_KIND and row.labels:
            found[row.task_id] = found.get(row.task_id, frozenset()).union(row.labels)
    return found


def _ballots(tx: Tx, row: Any) -> tuple[Vote, ...]:
    found = votes.about(tx, votes.of_task(row.id, row.review_cycles))
    return tuple(
        Vote(seat=each.seat, model=each.model, verdict=each.verdict, reason=each.reason, run_id=each.run_id)
        for each in found
    )


def _proof(tx: Tx, row: Any) -> Proof | None:
    """The status of a task's checks; None if none applies any more."""
    wanted = [(place, check) for place, check in enumerate(stored(row.checks)) if not check.waived]
    if not wanted or row.deliverable_id is None:
        return None
    results = {(each.position, each.name): each for each in evidence.results_of(tx, row.deliverable_id)}
    runs = evidence.check_runs(tx, row.mission_id, row.deliverable_id)
    missing = set(evidence.missing(tx, row))
    found = [(check, results.get((place, check.name))) for place, check in wanted if check.is_run]
    verdicts = [check.name not in missing for _, check in wanted if not check.is_run]
    ended = [each for each in runs if each.status not in LIVE]
    return Proof(
        unrun=tuple(check.name for check, result in found if result is None),
        failed=tuple(
            (check.name, result.detail) for check, result in found if result is not None and not result.passed
        ),
        verdict=all(verdicts) if verdicts else None,
        shown=tuple(f"{'not passed' if check.name in missing else 'passed'}: {check.name}" for _, check in wanted),
        runs=len(runs),
        broken=sum(each.status != "completed" for each in ended),
        live=len(ended) < len(runs),
        trouble=ended[-1].error if ended else None,
    )


def _result(row: Any) -> Result:
    _, named, judged = (row.run_key or "").partition(":of:")
    return Result(
        id=row.id, title=row.title, verdict=row.verdict, risk=row.risk, labels=tuple(row.labels),
        simulated=row.simulated, about=judged if named else None,
    )  # fmt: skip


def _candidates(tx: Tx, project_id: str, personas: Mapping[str, Persona], now: datetime) -> tuple[Candidate, ...]:
    project = squad.project(tx, project_id)
    day = day_key(now, project.timezone if project else "UTC")
    members = {row.persona: row for row in squad.members(tx, project_id)}
    active = squad.workloads(tx, project_id)
    accounts = ledger.of_members(tx, project_id, day)
    found = []
    for name, persona in personas.items():
        member = members.get(name)
        account = accounts.get(member.id) if member else None
        limit = account.limit_microusd if account else persona.daily_microusd
        left = ledger.left_in(account) if account else limit
        found.append(
            Candidate(
                member_id=member.id if member else f"new:{name}",
                persona=persona,
                trust=member.trust if member else persona.trust,
                done_count=member.done_count if member else 0,
                failed_count=member.failed_count if member else 0,
                active_tasks=active.get(member.id, 0) if member else 0,
                daily_limit_microusd=limit,
                daily_left_microusd=left,
                obstacle=_obstacle(member, limit, left),
            )
        )
    return tuple(found)


def _obstacle(member: Any | None, limit: int, left: int) -> str | None:
    if member is not None and member.state != "ACTIVE":
        return f"is {member.state.lower()}"
    if left <= 0:
        return f"has spent its {usd(limit)} of today"
    return None


def _texts(tx: Tx, root: TaskView, others: list[TaskView]) -> dict[str, str]:
    """The findings of reviewers while work is under way; every result once all tasks have ended."""
    ended = bool(others) and all(t.status in ENDED for t in others) and root.status not in ENDED
    return {
        t.result.id: text_of(tx, t.result.id)
        for t in others
        if t.result is not None and (ended or (t.reviews and t.status == "REVIEW" and t.result.verdict != "pass"))
    }
