"""The Learner: records lessons from its answers, posts reviews that are due, and retires lessons.

The coordinator starts the review of a task that ends; `agents.prompts.prompt` brings lessons into prompts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from interlock.agents.persona import LEARNER, Persona
from interlock.agents.runtime import Runtime
from interlock.agents.special import learning
from interlock.agents.special.learning import LookBack
from interlock.core.values import Actor, ActorKind
from interlock.memory import lesson_book
from interlock.memory.facts import WINDOW
from interlock.oversight import lesson_json
from interlock.oversight.retention import BatchSizer
from interlock.policy.learning import lesson_rules
from interlock.policy.learning.lesson_rules import REHEARSED, UNTRUSTED, USUAL, Thresholds
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.knowledge import facts, learner_reviews, lesson_uses, lessons
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import tasks

PAGE = 500
"""Lessons that are read at a time."""
AT_ONCE = 20
"""Tasks by which lessons are scored in one transaction."""
MOST_POSTED = 20
"""Most reviews that one sweep posts."""
MOST_TRIES = 3
"""How often a failing review is tried."""
ENOUGH_LESSONS = 2
"""How many new lessons trigger a review of the whole project."""
_FAILED = frozenset({"failed", "cancelled"})


def take_up(tx: Tx, run: Any, answer: str | None, now: datetime, *, window: int = USUAL.window) -> None:
    """Records the lessons of a Learner's run, in the transaction that ends it.

    A lesson that is malformed, unfit for a prompt, or cites evidence that does not exist in this mission (or, for a
    scheduled review, in this project) is rejected and counted. If a lesson is known, the evidence is added to it.
    """
    row = traces.run(tx, run.id) or run
    labels = sorted({*row.labels, *([REHEARSED] if row.simulated else [])})
    said = lesson_json.read(answer or "", frozenset(labels))
    agent = Actor(ActorKind.AGENT, run.agent_id, LEARNER)
    faults = list(said.faults)
    entered, seen_again = [], 0
    for found in said.findings:
        cited = [each for each in found.evidence if facts.exists(tx, each, run.project_id, run.mission_id)]
        if not cited:
            faults.append("its evidence does not exist here")
            continue
        found = _citing(found, cited)
        lesson = lesson_book.enter(tx, run.project_id, run.id, labels, found, agent, now, window=window)
        entered += [lesson] if lesson is not None else []
        seen_again += lesson is None
    merged = 0 if UNTRUSTED in labels else sum(_merged(tx, run.project_id, each, agent, now) for each in said.merges)
    audit.note(
        tx, "LESSONS_LEARNED", agent, now, project_id=run.project_id, mission_id=run.mission_id, run_id=run.id,
        kept=len(entered), lessons=entered, seen_again=seen_again, merged=merged, left_out=len(faults), faults=faults,
    )  # fmt: skip


def _citing(found: lesson_book.Finding, cited: list[str]) -> lesson_book.Finding:
    return lesson_book.Finding(
        kind=found.kind, rule=found.rule, task_type=found.task_type, persona=found.persona,
        confidence=found.confidence, evidence=cited, same_as=found.same_as, contradicts=found.contradicts,
    )  # fmt: skip


def _merged(tx: Tx, project_id: str, merge: lesson_json.Merge, author: Actor, now: datetime) -> bool:
    return lesson_book.merge(tx, project_id, merge.keep, merge.drop, author, merge.reason, now)


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep: reviews posted, and tasks whose outcome was counted for lessons."""

    posted: int = 0
    judged: int = 0


async def sweep(runtime: Runtime) -> Swept:
    """Posts reviews of what the Learner has not seen yet, and scores lessons by tasks that ended without a review.

    The scheduled job. Source: rows H5, I5.
    """
    learner = runtime.personas.personas.get(LEARNER)
    limits, now = lesson_book.thresholds(runtime.settings.lessons), runtime.clock.now()
    return await catch_up(runtime.store, learner, limits, now)


async def catch_up(
    store: Store, learner: Persona | None, limits: Thresholds, now: datetime, cause: str = "schedule"
) -> Swept:
    """A sweep at any time; without a Learner persona, lessons are still scored.

    To find out what there is to do takes long queries: those are a read, which does not occupy the writer.
    """
    ended, wanted = await store.read(_todo, learner, now)
    judged = posted = 0
    for at in range(0, len(ended), AT_ONCE):
        judged += await store.write(_judge, ended[at : at + AT_ONCE], limits, now)
    if learner is not None and wanted:
        posted = await store.write(_post, learner, wanted, now, cause)
    return Swept(posted, judged)


def _todo(tx: Tx, learner: Persona | None, now: datetime) -> tuple[list[str], list[LookBack]]:
    """Ended tasks by which lessons have still to be scored, and the reviews to post."""
    ended = [row.id for row in lesson_uses.ended_undecided(tx, now - WINDOW) if _is_telling(row)]
    return ended, [] if learner is None else [*_unseen(tx, now), *_projects(tx, now)][:MOST_POSTED]


def _is_telling(task: Any) -> bool:
    found = lesson_rules.due(task.id, "", task.status, task.block_kind, task.attempt, task.review_cycles)
    return found is not None


def _judge(tx: Tx, task_ids: Sequence[str], limits: Thresholds, now: datetime) -> int:
    """Scores lessons by tasks, unless their states have changed meanwhile; returns by how many."""
    rows = [row for row in tasks.some(tx, task_ids) if row is not None and _is_telling(row)]
    for row in rows:
        outcome = lesson_rules.outcome(row.status, row.block_kind, row.attempt, row.review_cycles)
        lesson_book.conclude(tx, row.id, outcome, limits, now)
    return len(rows)


def _post(tx: Tx, learner: Persona, wanted: Sequence[LookBack], now: datetime, cause: str) -> int:
    return sum(learning.post(tx, learner, each, now, cause=cause) for each in wanted)


def _unseen(tx: Tx, now: datetime) -> list[LookBack]:
    """Recently ended tasks and missions that no run of the Learner has reviewed."""
    seen: dict[str, dict[str, str]] = {}
    found = []
    for row in learner_reviews.ended(tx, now - WINDOW):
        known = seen.get(row.mission_id)
        if known is None:
            known = seen[row.mission_id] = learner_reviews.of_mission(tx, row.mission_id)
        key = lesson_rules.due(
            row.id, row.parent_id, row.status, row.block_kind, row.attempt, row.review_cycles
        )  # fmt: skip
        key = None if key is None else next_try(key, known)
        if key is not None and (row.parent_id is not None or known):
            found.append(
                LookBack(
                    key=key, scope="task" if row.parent_id else "mission", project_id=row.project_id, ident=row.id,
                    mission_id=row.mission_id, model=row.model, simulated=row.simulated,
                )
            )  # fmt: skip
    return found


def next_try(key: str, known: dict[str, str]) -> str | None:
    """The idempotency key of the next attempt at a review; None if done, is under way, or has failed too often."""
    tries = [status for each, status in known.items() if each == key or each.startswith(f"{key}:again")]
    if any(status not in _FAILED for status in tries) or len(tries) >= MOST_TRIES:
        return None
    return key if not tries else f"{key}:again{len(tries)}"


def _projects(tx: Tx, now: datetime) -> list[LookBack]:
    """Projects with enough new material for a review of all their lessons together."""
    found = []
    for project_id in learner_reviews.projects(tx):
        last = learner_reviews.last_pass(tx, project_id) or datetime.min.replace(tzinfo=UTC)
        new = learner_reviews.news(tx, project_id, max(last, now - timedelta(days=365)))
        if new.lessons >= ENOUGH_LESSONS or new.incidents:
            model, simulated = learner_reviews.latest_model(tx, project_id)
            found.append(
                LookBack(
                    key=f"learn:{project_id}:{now:%Y%m%dT%H%M%S}", scope="project", project_id=project_id,
                    ident=project_id, model=model, simulated=simulated,
                )
            )  # fmt: skip
    return found


async def retain(runtime: Runtime) -> dict[str, int]:
    """Archives and prunes lessons past their retention; returns how many of each. The daily job. Source: row I5."""
    limits, now = lesson_book.thresholds(runtime.settings.lessons), runtime.clock.now()
    batches, after, gone = BatchSizer(most=100), "", Counter[str]()
    while found := await runtime.store.read(lessons.page, after, PAGE):
        after = found[-1].id
        due = [row.id for row in found if lesson_book.is_due(row, limits, now)]
        while due:
            some = due[: batches.size]
            gone.update(await batches.write(runtime, lesson_book.retain, some, limits, now))
            del due[: len(some)]
    return dict(gone)
