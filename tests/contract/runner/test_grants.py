"""Grants at work: given with an approval, looked up where they could help, counted, ended at once, never for more."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.core.errors import Refused, UsageError
from interlock.core.values import SYSTEM
from interlock.desk.context import Person
from interlock.desk.identities import people as who
from interlock.desk.signoff import grants, signing
from interlock.policy.rules import Policy
from interlock.store.auditing import audit
from interlock.store.identities import people
from interlock.store.schema import Grant, table
from interlock.store.signoff import grants as stored
from interlock.store.upkeep import epochs
from interlock.store.upkeep.epochs import Beginning
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged

DONE: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@tool(risk="YELLOW", idempotent=True)
async def note(path: str, content: str) -> str:
    """Keeps a note."""
    DONE.append((path, content))
    return "kept"


@tool(risk="YELLOW")
async def ring(whom: str) -> str:
    """Rings somebody, which cannot be taken back."""
    DONE.append(("ring", whom))
    return "rung"


def notes(*names: str) -> list[Any]:
    return [calls("note", str(n), path=name, content="x") for n, name in enumerate(names)]


async def intern(
    store: CountingStore, home: Path, *replies: Any, policy: Policy | None = None, **more: Any
) -> tuple[Stage, str]:
    """A stage whose intern waits with its first call."""
    stage = await staged(store, home, ScriptedModel(*replies), [note, ring], policy)
    run = await stage.task(trust="intern", **more)
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    stage.restart()
    return stage, run


async def grant(stage: Stage, scope: str, *, narrow: bool = False) -> Any:
    question = await stage.the_question()
    done = await signing.approve(stage.runtime, stage.ada, question.id, grant=scope, narrow=narrow)
    return done["grant"]


async def rows(stage: Stage) -> list[Any]:
    return await stage.store.read(lambda tx: tx.rows(sa.select(table(Grant))))


async def test_call_that_cannot_be_taken_back_does_not_start_by_a_grant_that_ends_between(
    store: CountingStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings = [calls("ring", str(n), whom=whom) for n, whom in enumerate(("Ann", "Bob"))]
    stage, run = await intern(store, tmp_path, *rings, hand_in(), "done")
    given = await grant(stage, "hour")
    write = store.write

    async def meanwhile(unit: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(unit, "__name__", "") == "start" and DONE:
            await grants.revoke(stage.runtime, stage.ada, given["id"])
        return await write(unit, *args, **kwargs)

    monkeypatch.setattr(store, "write", meanwhile)
    await stage.work()
    assert DONE == [("ring", "Ann")]
    assert (await stage.run(run)).status == "waiting"
    assert (await stage.the_question()).request["args"] == {"whom": "Bob"}


@pytest.mark.parametrize("scope", ["hour", "task", "agent"])
async def test_calls_like_the_approved_one_run_without_asking(store: CountingStore, tmp_path: Path, scope: str) -> None:
    stage, run = await intern(store, tmp_path, *notes("a", "b", "c"), hand_in(), "done")
    given = await grant(stage, scope)
    assert (given["scope"], given["state"], given["given_by"], given["task_id"] is not None) == (
        scope, "in force", "Ada", scope == "task"
    )  # fmt: skip
    await stage.work()
    assert [path for path, _ in DONE] == ["a", "b", "c"]
    assert await stage.ended(run) == ("completed", "end_turn")
    (row,) = await rows(stage)
    assert row.uses == 2
    used = await stage.store.read(lambda tx: audit.activities(tx, action="GRANT_USED"))
    assert [(each.run_id, each.subject, each.data["tool"]) for each in used] == [(run, row.id, "note")] * 2


async def test_revoked_grant_holds_the_next_call(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await intern(store, tmp_path, *notes("a", "b"), hand_in(), "done")
    given = await grant(stage, "agent")
    assert (await grants.revoke(stage.runtime, stage.ada, given["id"]))["changed"]
    assert not (await grants.revoke(stage.runtime, stage.ada, given["id"]))["changed"]
    await stage.work()
    assert [path for path, _ in DONE] == ["a"]
    assert (await stage.run(run)).status == "waiting"
    assert await grants.grants(stage.runtime) == []
    assert [each["state"] for each in await grants.grants(stage.runtime, every=True)] == ["revoked"]


async def test_grant_ends_when_who_gave_it_may_answer_no_more(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await intern(store, tmp_path, *notes("a", "b"), hand_in(), "done")
    given, root = await grant(stage, "agent"), Person("per_root", "Root", "admin", "test")
    await who.set_role(stage.runtime, root, "Ada", "admin")
    assert [each["id"] for each in await grants.grants(stage.runtime)] == [given["id"]]
    await who.set_role(stage.runtime, root, "Ada", "viewer")
    await who.set_role(stage.runtime, root, "Ada", "operator")
    assert await grants.grants(stage.runtime) == [], "nor does it come back with the role"
    (told,) = await store.read(audit.activities, action="GRANT_REVOKED")
    assert (told.subject, told.actor_id) == (given["id"], root.id)
    assert "has the role viewer now" in told.data["reason"]
    await stage.work()
    assert [path for path, _ in DONE] == []
    assert (await stage.run(run)).status == "waiting"


async def test_grant_that_is_revoked_between_the_decision_and_the_effect_lets_nothing_happen(
    store: CountingStore, tmp_path: Path
) -> None:
    revoked: list[Any] = []

    @tool(risk="GREEN")
    async def pull() -> str:
        """Takes a grant away in the middle of a turn."""
        for row in await rows(stage):
            revoked.append(await grants.revoke(stage.runtime, stage.ada, row.id))
        return "pulled"

    turn = [calls("pull", "1"), calls("ring", "2", whom="eve")]
    model = ScriptedModel(calls("ring", "0", whom="ana"), turn, hand_in(), "done")
    stage = await staged(store, tmp_path, model, [ring, pull])
    run = await stage.task(trust="intern")
    await stage.work()
    await grant(stage, "agent")
    await stage.work()
    assert len(revoked) == 1
    assert DONE == [("ring", "ana")]
    assert (await stage.run(run)).status == "waiting"
    assert (await stage.the_question()).request["args"] == {"whom": "eve"}


async def test_grant_ends_by_time_and_with_its_task(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await intern(store, tmp_path, *notes("a", "b"), hand_in(), "done")
    await grant(stage, "hour")
    stage.clock.advance(3_601)
    await stage.work()
    assert [path for path, _ in DONE] == ["a"]
    await grant(stage, "task")
    await stage.work()
    assert (await stage.task_of(run)).status == "REVIEW"
    stage.model.replies.extend([*notes("z"), hand_in(), "done"])
    other = await stage.task(trust="intern")
    await stage.work()
    assert (await stage.run(other)).status == "waiting"


async def test_narrow_grant_is_for_the_same_targets(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await intern(store, tmp_path, *notes("a", "a", "b"), hand_in(), "done")
    await grant(stage, "agent", narrow=True)
    await stage.work()
    assert [path for path, _ in DONE] == ["a", "a"]
    assert (await stage.the_question()).request["args"]["path"] == "b"


async def test_nothing_red_edited_or_asked_of_two_can_be_granted(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await intern(store, tmp_path, *notes("a"), hand_in(), "done")
    question = await stage.the_question()
    with pytest.raises(UsageError, match="is not a scope of a grant"):
        await signing.approve(stage.runtime, stage.ada, question.id, grant="ever")
    with pytest.raises(UsageError, match="an edited call is approved once"):
        await signing.approve(stage.runtime, stage.ada, question.id, grant="hour", args={"path": "b", "content": "x"})
    mail = calls("send_email", to=["a@b.co"], subject="s", body="b")
    stage.model.replies[:] = [mail, hand_in(), "done"]
    red = await stage.task(trust="lead")
    await stage.work()
    (asked,) = [row for row in await stage.pending() if row.run_id == red]
    assert (await signing.approval(stage.runtime, asked.id))["scopes"] == []
    with pytest.raises(UsageError, match="RED call is approved one by one"):
        await signing.approve(stage.runtime, stage.ada, asked.id, grant="hour")
    assert await rows(stage) == []
    assert {row.status for row in await stage.questions(red)} == {"pending"}


async def test_only_those_who_may_answer_may_revoke(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await intern(store, tmp_path, *notes("a"), hand_in(), "done")
    given = await grant(stage, "agent")
    await stage.store.write(people.set_role, stage.ada.id, "viewer")
    viewer = type(stage.ada)(stage.ada.id, "Ada", "viewer", "test")
    with pytest.raises(Refused):
        await grants.revoke(stage.runtime, viewer, given["id"])


async def test_grants_are_looked_up_only_where_one_would_help(store: CountingStore, tmp_path: Path) -> None:
    looked: list[str] = []

    class Watching(CountingStore):
        async def read(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
            if fn is stored.live:
                looked.append(args[1])
            return await super().read(fn, *args, **kwargs)

    async with Watching(store.url) as watching:
        stage = await staged(watching, tmp_path, ScriptedModel(*notes("a", "b"), hand_in(), "done"), [note])
        run = await stage.task(trust="specialist")
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
        assert looked == []


async def test_a_restore_ends_grants_from_before_the_backup(store: CountingStore, tmp_path: Path) -> None:
    """It may have been revoked since, and nobody knows."""
    stage, run = await intern(store, tmp_path, *notes("a", "b"), "done")
    given = await grant(stage, "hour")
    now = stage.clock.now()
    await store.write(epochs.begin, Beginning(now, now, SYSTEM, "default", False), (0, 0))
    await stage.work()
    assert [row["state"] for row in await grants.grants(stage.runtime, every=True)] == ["revoked"]
    (told,) = await store.read(audit.activities, action="GRANT_REVOKED")
    assert (told.subject, "restored from the backup" in told.data["reason"]) == (given["id"], True)
    assert [each.status for each in await stage.questions(run)][-1] == "pending"
    assert ("b", "x") not in DONE
