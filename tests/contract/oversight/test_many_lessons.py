"""The retention of lessons where there are more of them than one list has."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.oversight import learner
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.knowledge import learner_reviews, lessons
from interlock.store.schema import Lesson
from tests.contract.oversight.test_retention import runtime_of
from tests.contract.store.furniture import T0, after
from tests.contract.store.watching import watched

DAY_S = 86_400
GOOD, BAD = 10_000, 45


def lesson(name: str, confidence: float) -> dict[str, Any]:
    """A lesson that nobody has applied."""
    return {
        "id": f"les_{name}", "project_id": "demo", "kind": "fix", "rule": name, "rule_digest": name, "evidence": [],
        "confidence": confidence, "status": "active", "created_at": T0, "updated_at": T0,
    }  # fmt: skip


async def test_worst_lessons_go_however_many_are_better_and_others_write_meanwhile(
    store: Store, tmp_path: Path
) -> None:
    good, bad = (
        [lesson(f"good{n}", 0.9) for n in range(GOOD)],
        [lesson(f"bad{n}", 0.1) for n in range(BAD)],
    )
    await store.write(lambda tx: tx.add_many(Lesson, [*good, *bad]))
    seen_as, seen = watched(store)
    runtime = replace(runtime_of(store, tmp_path, after(61 * DAY_S)), store=seen_as)
    assert await learner.retain(runtime) == {"archived": BAD}
    assert seen.units > 1
    assert len(await store.read(lessons.page, "", GOOD + BAD)) == GOOD
    assert await learner.retain(runtime) == {}


async def test_what_there_is_to_learn_from_is_looked_up_beside_the_writer(store: Store, tmp_path: Path) -> None:
    await store.write(squad.ensure_project, "demo", "UTC", T0)
    await store.write(lambda tx: tx.add_many(Lesson, [lesson(f"new{n}", 0.5) for n in range(learner.ENOUGH_LESSONS)]))
    seen_as, seen = watched(store)
    runtime = replace(runtime_of(store, tmp_path, after(DAY_S)), store=seen_as)
    assert (await learner.sweep(runtime)).posted == 1, "a look at the whole project"
    for each in (
        learner_reviews._PASSED,
        learner_reviews._NEW_LESSONS,
        learner_reviews._ENDED,
        learner_reviews._PROJECTS,
    ):
        assert each in seen.reads
        assert each not in seen.writes
