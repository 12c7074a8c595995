"""Alerts, incidents, the ledger and grants name nobody who was erased, and lose their words; what happened stays."""

from typing import Any

from interlock import Interlock
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.desk.budgets import money
from interlock.desk.context import Person
from interlock.desk.identities import personal
from interlock.desk.operations import emergency
from interlock.desk.workspace_chat import rooms
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities.personal import ERASED
from interlock.store.signoff import grants
from interlock.store.tx import Tx
from interlock.store.work import tasks
from tests.contract.desk.test_personal import ANN, SLACK, everything
from tests.contract.desk.test_personal_verdicts import entered
from tests.contract.store.furniture import T0, in_progress

WHY = ("her illness", "her visitor", "her doubts", "her board", "her trust")
PROJECT = "demo"


def granted(tx: Tx, ident: str) -> str:
    made = in_progress(tx)
    grants.give(
        tx, Actor(ActorKind.HUMAN, ident), T0, mission_id=made.mission_id, id=new_id("gra"), project_id=PROJECT,
        tool="file_write", tool_digest="0", scope="agent", persona="coder", reason=WHY[4], approval_id="apr_1",
        expires_at=T0,
    )  # fmt: skip
    return made.task_id


async def test_controls_limits_and_grants_of_somebody_stay_without_name_and_words(box: Interlock) -> None:
    context, store, ident = box.runtime, box.runtime.store, await entered(box)
    ann = Person(id=ident, name=ANN, role="operator", surface="cli")
    task = await store.write(granted, ident)
    await emergency.pause(context, ann, reason=WHY[0])
    await emergency.stop(context, ann, reason=WHY[1], wait_s=0)
    await emergency.resume(context, ann)
    row: Any = await store.read(tasks.task, task)
    await emergency.quarantine(context, ann, row.assignee_agent_id, reason=WHY[2], wait_s=0)
    await money.raise_budget(context, ann, PROJECT, 5, note=WHY[3])
    await rooms.create(context, box.person, "lab", members=[ANN], project=PROJECT)
    before = await everything(box)
    assert [words for words in (ANN, *WHY) if words not in before] == []
    done = await personal.erase(context, box.person, SLACK)
    after = await everything(box)
    assert [words for words in (ANN, *WHY) if words in after] == []
    told = [alert.text for alert in await store.read(audit.alerts, open_only=False)]
    assert f"coder was quarantined by {done['name']}: {ERASED}; `interlock release coder` lets it work again" in told
    row = await store.read(tasks.task, task)
    assert (row.status, row.block_reason) == ("BLOCKED", f"coder was quarantined by {done['name']}: {ERASED}")
    assert (await store.read(squad.quarantined)) == ["coder"]
    assert f"{ident} {ERASED}" in after


async def test_words_of_others_are_left(box: Interlock) -> None:
    context, store = box.runtime, box.runtime.store
    await entered(box)
    await store.write(granted, box.person.id)
    await emergency.pause(context, box.person, reason=WHY[0])
    await personal.erase(context, box.person, SLACK)
    told = [alert.text for alert in await store.read(audit.alerts, open_only=False)]
    assert any(WHY[0] in text for text in told)
    (grant,) = await store.read(grants.listing, T0, every=True)
    assert (grant.reason, grant.given_by) == (WHY[4], box.person.id)
