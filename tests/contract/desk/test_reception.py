"""What people say in chats: kept, worked once, in order, and only for those who are known."""

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest

from interlock import Interlock
from interlock.desk.chats.reception import MOST_BYTES, MOST_STRANGERS, SIDE_BY_SIDE, TAKEOVER_S, Reception
from interlock.desk.identities import people
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.desk.work import controls
from interlock.llm.messages import ModelRef
from interlock.llm.providers import Models
from interlock.scheduler.fencing import FencedStore
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import processes
from interlock.store.messages import inbox, outbox
from interlock.store.tx import Tx
from interlock.store.upkeep import pruning
from tests.contract.desk.front import ANA, BEN, VIC, Front, link, request, text_of, until, worked

P = ParamSpec("P")
T = TypeVar("T")
STRANGER = "slack:UMALLORY"
SECRET = "sk-" + "ant-api03-abcdefghijklmnop0123456789"
ELSEWHERE = '["another machine", 4711, "then", "rcp_other"]'


async def of_action(box: Interlock, action: str) -> list[Any]:
    return await box.runtime.store.read(audit.activities, action=action)


async def test_a_request_that_is_delivered_twice_acts_once(front: Front) -> None:
    asked = request("run Compare A and B", "same")
    taken = await asyncio.gather(*(front.reception.accept(asked) for _ in range(5)))
    await front.quiet(ANA)
    assert sorted(taken) == [False] * 4 + [True]
    assert not await front.reception.accept(asked)
    await front.quiet(ANA)
    assert len(await listings.missions(front.box.runtime)) == 1


async def test_what_was_accepted_before_a_crash_is_done_after_it(box: Interlock) -> None:
    await link(box, "Ana", ANA)
    assert await Reception(box.runtime).accept(request("run Compare A and B", "k"))
    async with worked(Reception(box.runtime)) as later:
        front = Front(box, later)
        await front.quiet(ANA)
        assert text_of(await front.told("slack:k")).startswith("Mission started")
    (mission,) = await listings.missions(box.runtime)
    assert mission["goal"] == "Compare A and B"


async def taken_by(box: Interlock, holder: str, ago_s: float = 0.0) -> Front:
    """A reception that did not get a request of Ana's, since another process took it so long ago."""
    await link(box, "Ana", ANA)
    reception = Reception(box.runtime)
    await reception.accept(request("run Compare A and B", "k"))
    taken_at = box.runtime.clock.now() - timedelta(seconds=ago_s)
    assert await box.runtime.store.write(inbox.claim, "slack:k", None, holder, taken_at)
    return Front(box, reception)


async def test_what_a_process_of_this_machine_had_in_hand_when_it_died_is_done_at_once(box: Interlock) -> None:
    dead = json.dumps([processes.host(), os.getpid(), "an earlier process of this pid", "rcp_dead"])
    front = await taken_by(box, dead)
    async with worked(front.reception):
        await front.quiet(ANA)
    assert len(await listings.missions(box.runtime)) == 1


async def test_what_another_machine_has_had_in_hand_for_too_long_is_done_here(box: Interlock) -> None:
    front = await taken_by(box, ELSEWHERE, TAKEOVER_S + 1)
    async with worked(front.reception):
        await front.quiet(ANA)
    assert len(await listings.missions(box.runtime)) == 1


async def test_what_a_living_process_has_in_hand_is_left_to_it(box: Interlock) -> None:
    front = await taken_by(box, ELSEWHERE)
    await link(box, "Ben", BEN)
    async with worked(front.reception):
        for _ in range(3):
            assert text_of(await front.say("status", BEN)).startswith("How things stand")
        assert await front.told("slack:k") is None
    assert await listings.missions(box.runtime) == []


async def test_a_control_that_is_worked_again_does_not_undo_what_others_have_set_since(box: Interlock) -> None:
    await link(box, "Ana", ANA)
    gone = Reception(box.runtime)
    await gone.accept(request("pause", "k"))
    assert await box.runtime.store.write(inbox.claim, "slack:k", None, ELSEWHERE, box.runtime.clock.now())
    await emergency.pause(box.runtime, box.person)
    await emergency.resume(box.runtime, box.person)
    await box.runtime.store.write(inbox.release, ELSEWHERE)
    async with worked(Reception(box.runtime)) as later:
        front = Front(box, later)
        await front.quiet(ANA)
        assert text_of(await front.told("slack:k")).startswith("The squad works")
    assert (await listings.status(box.runtime))["squad"]["mode"] == "running"


async def test_two_receptions_over_one_database_do_each_thing_once(front: Front) -> None:
    async with worked(Reception(front.box.runtime)) as other:
        for number in range(10):
            where = other if number % 2 else front.reception
            await where.accept(request(f"run Goal {number}", f"k{number}", (ANA, BEN)[number % 3 == 0]))
        await front.quiet(ANA)
        await front.quiet(BEN)
    found = await listings.missions(front.box.runtime)
    assert sorted(m["goal"] for m in found) == [f"Goal {n}" for n in range(10)]
    assert len(await of_action(front.box, "MISSION_STARTED")) == 10


async def test_what_one_person_says_is_done_in_order(box: Interlock) -> None:
    await link(box, "Ana", ANA)
    reception = Reception(box.runtime)
    for number, text in enumerate(("pause", "resume", "drain", "resume", "pause")):
        await reception.accept(request(text, f"k{number}"))
    async with worked(reception):
        await Front(box, reception).quiet(ANA)
    modes = [a.data["mode"] for a in await of_action(box, "CONTROL_CHANGED")]
    assert modes == ["paused", "running", "draining", "running", "paused"]


async def test_a_stranger_is_refused_once_and_reported_once_and_nothing_of_theirs_acts(front: Front) -> None:
    box = front.box
    for number, text in enumerate(("run Steal it", "stop", "approve apr_1", "help", "status")):
        await front.reception.accept(request(text, f"s{number}", STRANGER, name="Ma`ll`ory\u202e"))
        await front.quiet(STRANGER)
        for alert in await listings.alerts(box.runtime):
            await controls.acknowledge(box.runtime, box.person, alert["id"])
    refusal = await box.runtime.store.read(outbox.by_key, f"refusal:{STRANGER}")
    assert refusal is not None
    assert f"interlock people link NAME {STRANGER}" in str(refusal.payload)
    assert refusal.conversation_id.endswith("@UMALLORY")
    (alert,) = await listings.alerts(box.runtime, open_only=False)
    assert (alert["kind"], alert["subject"]) == ("STRANGER", STRANGER)
    assert "“Mallory\\u202e”" in alert["text"]
    assert [await front.told(f"slack:s{n}") for n in range(5)] == [None] * 5
    assert await listings.missions(box.runtime) == []
    assert (await listings.status(box.runtime))["squad"]["mode"] == "running"


async def test_a_stranger_who_was_refused_leaves_no_more_rows(front: Front) -> None:
    await front.reception.accept(request("help", "first", STRANGER))
    await front.quiet(STRANGER)
    assert not await front.reception.accept(request("help", "second", STRANGER))
    assert not await front.box.runtime.store.read(inbox.known, "slack:second")


async def test_many_strangers_are_refused_one_by_one_and_reported_together(front: Front) -> None:
    crowd = [f"slack:UCROWD{n}" for n in range(MOST_STRANGERS + 5)]
    for who in crowd:
        await front.reception.accept(request("help", f"of {who}", who, name=f"{who}” (slack:UANA)"))
    for who in crowd:
        await front.quiet(who)
    refusals = [await front.box.runtime.store.read(outbox.by_key, f"refusal:{who}") for who in crowd]
    assert None not in refusals
    alerts = await listings.alerts(front.box.runtime)
    assert len(alerts) == MOST_STRANGERS + 1
    assert sum("more than 20 unknown people" in alert["text"] for alert in alerts) == 1
    assert not any("” (slack:UANA)" in alert["text"] for alert in alerts)


async def test_the_refusal_of_a_stranger_is_not_forgotten_when_old_requests_are(front: Front) -> None:
    await front.say("help")
    await front.reception.accept(request("help", "first", STRANGER))
    await front.quiet(STRANGER)
    later = front.box.runtime.clock.now() + timedelta(days=400)
    found = await front.box.runtime.store.read(pruning.found, pruning.REQUESTS, later)
    assert await front.box.runtime.store.write(pruning.drop, pruning.REQUESTS, found, later) == 2
    assert not await front.reception.accept(request("help", "second", STRANGER))


async def test_who_was_linked_a_second_ago_is_heard_and_who_was_unlinked_is_not(front: Front) -> None:
    box = front.box
    await front.reception.accept(request("status", "before", STRANGER))
    await front.quiet(STRANGER)
    await link(box, "Mallory", STRANGER)
    assert text_of(await front.say("status", STRANGER)).startswith("How things stand")
    await people.unlink(box.runtime, box.person, STRANGER)
    assert await front.say("run More", STRANGER) is None
    assert await listings.missions(box.runtime) == []


async def test_a_role_that_was_taken_away_is_gone_at_the_next_command(front: Front) -> None:
    assert text_of(await front.say("run One")).startswith("Mission started")
    await people.set_role(front.box.runtime, front.box.person, "Ana", "viewer")
    assert "Ana is a viewer" in text_of(await front.say("run Two"))
    assert [m["goal"] for m in await listings.missions(front.box.runtime)] == ["One"]


@pytest.mark.parametrize(
    "text",
    ["run X", "cancel mis_1", "approve apr_1", "deny apr_1 no", "pause", "resume", "drain", "stop",
     "quarantine research", "release research", "learn"],
)  # fmt: skip
async def test_a_viewer_may_not_act(front: Front, text: str) -> None:
    assert "Vic is a viewer and may not" in text_of(await front.say(text, VIC))
    assert await of_action(front.box, "MISSION_STARTED") == []
    assert (await listings.status(front.box.runtime))["squad"]["mode"] == "running"


@pytest.mark.parametrize("text", ["status", "tasks", "agents", "approvals", "budget", "help"])
async def test_a_viewer_may_look(front: Front, text: str) -> None:
    assert "may not" not in text_of(await front.say(text, VIC))


async def test_what_is_too_large_is_not_kept_and_its_sender_is_told(front: Front) -> None:
    said = text_of(await front.say("run " + "é" * MOST_BYTES))
    assert f"{MOST_BYTES:,} are the most" in said
    assert "20,001 characters" in text_of(await front.say("run " + "x" * 20_001))
    assert await listings.missions(front.box.runtime) == []


async def test_signs_that_no_database_stores_are_no_reason_to_lose_a_request(front: Front) -> None:
    assert "no command" in text_of(await front.say("a\x00b\ud800"))


async def test_a_request_that_no_version_knows_holds_up_nobody(front: Front) -> None:
    kept = {"identity": ANA, "shape": "of the future"}
    await front.box.runtime.store.write(inbox.accept, "slack:odd", "slack", kept, front.box.runtime.clock.now())
    assert text_of(await front.say("status")).startswith("How things stand")


class Broken(Models):
    """A pool of models that fails in words that should not have been said."""

    def resolve(self, named: str | None) -> ModelRef:
        raise RuntimeError("no model for " + SECRET)


async def test_what_fails_unexpectedly_is_told_and_logged_without_secrets(
    front: Front, caplog: pytest.LogCaptureFixture
) -> None:
    front.reception.runtime = replace(front.box.runtime, models=Broken({}))
    told = text_of(await front.say("run Compare A and B"))
    assert "RuntimeError" in told
    assert "RuntimeError: no model for [secret: provider key]" in caplog.text
    assert SECRET not in told + caplog.text


async def test_requests_wait_for_a_reception_and_are_there_when_it_comes(box: Interlock) -> None:
    await link(box, "Ana", ANA)
    reception = Reception(box.runtime)
    for number in range(30):
        await reception.accept(request("help", f"k{number}"))
    async with worked(Reception(box.runtime)) as later:
        front = Front(box, later)
        await front.quiet(ANA)

        async def answered() -> bool:
            return await front.told("slack:k29") is not None

        await until(answered)


async def test_people_whose_requests_another_process_has_in_hand_keep_nobody_from_his(box: Interlock) -> None:
    reception, now = Reception(box.runtime), box.runtime.clock.now()
    for number in range(SIDE_BY_SIDE):
        await reception.accept(request("help", f"other{number}", f"slack:UA{number:02}"))
        assert await box.runtime.store.write(inbox.claim, f"slack:other{number}", None, ELSEWHERE, now)
    await link(box, "Zoe", "slack:UZOE")
    async with worked(reception), asyncio.timeout(60):
        front = Front(box, reception)
        assert text_of(await front.say("status", "slack:UZOE")).startswith("How things stand")


class Spoiled(Store):
    """A store over another one, whose first read goes wrong as nothing should."""

    def __init__(self, store: Store) -> None:
        self.__dict__.update(vars(store))
        self._store, self.spoiled = store, 0

    async def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if not self.spoiled:
            self.spoiled += 1
            raise ZeroDivisionError("a bug")
        return await self._store.read(fn, *args, **kwargs)


async def test_people_are_heard_again_after_something_unexpected(box: Interlock) -> None:
    await link(box, "Ana", ANA)
    store = Spoiled(box.runtime.store)
    async with worked(Reception(replace(box.runtime, store=store))) as reception, asyncio.timeout(60):
        assert text_of(await Front(box, reception).say("status")).startswith("How things stand")
    assert store.spoiled == 1


class AwayAtFirst(FencedStore):
    """A store whose database cannot be reached for its first writes."""

    def __init__(self, store: Store, tries: int) -> None:
        super().__init__(store, "none", 0)
        self.behind, self.tries = store, tries

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        self.tries -= 1
        if self.tries >= 0:
            raise StoreUnavailable("the database is away")
        return await self.behind.write(unit, *args, **kwargs)


async def test_a_short_outage_is_waited_for_where_there_is_time_and_told_where_there_is_none(front: Front) -> None:
    away = AwayAtFirst(front.box.runtime.store, 3)
    reception = Reception(replace(front.box.runtime, store=away))
    with pytest.raises(StoreUnavailable):
        await reception.accept(request("help", "now"))
    assert await reception.accept(request("help", "soon"), patience_s=60.0)
    assert away.tries < 0
