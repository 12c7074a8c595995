"""Tasks that people add to a mission under way."""

from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.desk import listings, signing
from interlock.desk.additions import Addition, add
from interlock.desk.details import deliverable, task
from interlock.desk.office import Person
from interlock.desk.progress import Standing
from tests.contract.desk.test_emergency import finished

HELD = "Compare A and B and e-mail the result to board@example.com"


async def test_added_task_is_assigned_done_and_compiled(box: Interlock) -> None:
    result = await box.run(HELD)
    wanted = Addition(mission=result.mission_id, title="Count the\nkiosks", persona="research", key="k")
    added = await add(box.runtime, box.person, wanted)
    again = await add(box.runtime, box.person, wanted)
    assert (added["status"], added["changed"], again["id"], again["changed"]) == ("INBOX", True, added["id"], False)
    then = await add(
        box.runtime, box.person, Addition(mission=result.mission_id, title="Sum it up", depends_on=[added["id"]])
    )
    for ident in result.approvals:
        await signing.approve(box.runtime, box.person, ident)
    assert (await finished(box, result.mission_id)).standing is Standing.DONE
    rows = {row["id"]: row for row in await listings.tasks(box.runtime, mission=result.mission_id)}
    assert [rows[each["id"]]["status"] for each in (added, then)] == ["DONE", "DONE"]
    assert rows[added["id"]]["title"] == "Count the kiosks"
    assert rows[added["id"]]["persona"] == "research"
    assert "Count the kiosks" in (await deliverable(box.runtime, result.mission_id)).content.decode()
    with pytest.raises(Conflict, match=r"is DONE: start another one with `interlock run`"):
        await add(box.runtime, box.person, Addition(mission=result.mission_id, title="One more"))


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"title": " "}, UsageError, "the title has 1 to 200 characters"),
        ({"persona": "nobody"}, UsageError, "no persona `nobody` takes tasks: there are "),
        ({"persona": "research", "type": "ops"}, UsageError, "`research` takes no `ops` tasks"),
        ({"type": "poetry"}, UsageError, "`poetry` is not a type of task: use one of content, "),
        ({"priority": "soon"}, UsageError, "`soon` is not a priority: use one of low, "),
        ({"budget_usd": 1_000.0}, UsageError, "`1000` is not a budget: a `other` task may cost 4 USD at most"),
        ({"budget_usd": float("nan")}, UsageError, "`nan` is not a budget"),
        ({"depends_on": ["tsk_none"]}, NotFound, "no task `tsk_none`"),
        ({"mission": "mis_none"}, NotFound, "no mission `mis_none`"),
        ({}, Conflict, "is not planned yet: comment on it"),
    ],
)
async def test_what_cannot_be_a_task_is_refused(
    box: Interlock, viewer: Person, given: dict[str, Any], error: type[Exception], told: str
) -> None:
    mission = await box.submit("Compare A and B")
    if "depends_on" in given:
        await box.run(HELD)
        mission = (await listings.missions(box.runtime))[0]["id"]
    with pytest.raises(error, match=told):
        await add(box.runtime, box.person, Addition(**{"mission": mission, "title": "Count", **given}))
    with pytest.raises(Refused, match="is a viewer and may not"):
        await add(box.runtime, viewer, Addition(mission=mission, title="Count"))
    assert "Count" not in str(await task(box.runtime, mission))
