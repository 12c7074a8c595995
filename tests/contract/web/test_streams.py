"""What happens reaches clients over server-sent events: all of it, in order, once, and only to who may see it."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from interlock.core.events import ASSISTANT, Event
from interlock.desk.events import sse
from interlock.desk.events.readers import MOST_WAITING, Interest
from interlock.desk.identities import people as desk_people
from interlock.desk.identities import tokens
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.desk.workspace_chat import rooms
from interlock.llm.messages import Delta, ModelError, ModelFault, ModelRequest
from interlock.store.identities import people
from interlock.store.messages import feed
from interlock.store.tx import Tx
from interlock.testing.scripted import Stream as Said
from tests.contract.web.house import House, Stream, house


def told(tx: Tx, now: Any, names: list[str], project: str = "default", channel: str | None = None) -> None:
    for name in names:
        feed.append(tx, "task_changed", now, project_id=project, payload={"task_id": name}, channel_id=channel)


async def tell(home: House, *names: str, **more: Any) -> None:
    runtime = home.box.runtime
    await runtime.store.write(told, runtime.clock.now(), list(names), **more)


def piece(text: str, run: str = "run_1", **more: Any) -> Event:
    return Event(name=ASSISTANT, payload={"run_id": run, "delta": text}, project_id="default", run_id=run, **more)


async def test_chat_streams_its_words_and_ends_with_the_reply(tmp_path: Path, migrated_url: str) -> None:
    said = Said(Delta("text", "Two of "), Delta("text", "three."), "Two of three.")
    async with house(tmp_path, said, database_url=migrated_url) as home:
        body = {"message": "How many?", "stream": True}
        stream = await Stream.open(home.port, "/api/agents/research/chat", home.token, body=body)
        events = await stream.until("done")
        assert await stream.next() is None
        stream.close()
    assert [e.name for e in events] == ["lifecycle", "assistant", "assistant", "lifecycle", "done"]
    assert "".join(e.data["delta"] for e in events if e.name == "assistant") == "Two of three."
    done = events[-1].data
    assert set(done) == {"response", "tool_calls", "iterations", "run_id", "stop_reason", "cost_usd"}
    assert done["response"] == "Two of three."
    assert events[-2].data["tokens"]["output_tokens"] > 0
    assert f"x-run-id: {done['run_id']}".encode() in stream.head


async def test_stream_of_an_interrupted_answer_says_that_it_begins_again(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    broken = ModelError(ModelFault.DROPPED, "it broke", provider="anthropic")
    replies = Said(Delta("text", "Two o"), broken), Said(Delta("text", "Two."), "Two.")
    quick = {"base_s": 0.001, "cap_s": 0.001}
    async with house(tmp_path, *replies, database_url=migrated_sqlite_url, retry=quick) as home:
        body = {"message": "How many?", "stream": True}
        stream = await Stream.open(home.port, "/api/agents/research/chat", home.token, body=body)
        events = await stream.until("done")
        stream.close()
    told = [e.data.get("phase") or e.data.get("delta") or e.name for e in events]
    assert told == ["start", "Two o", "start", "Two.", "end", "done"]


async def test_events_go_on_after_the_last_id_without_a_loss_or_a_double(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        first = await Stream.open(home.port, "/api/events", home.token)
        await tell(home, "a", "b")
        seen = [await first.next(), await first.next()]
        first.close()
        await tell(home, "c", "d")
        assert seen[0] is not None
        again = await Stream.open(home.port, "/api/events", home.token, last=seen[0].id)
        await tell(home, "e")
        found = [await again.next() for _ in range(4)]
        again.close()
        by_query = await Stream.open(home.port, f"/api/events?after={seen[0].id}", home.token)
        other = [await by_query.next() for _ in range(4)]
        by_query.close()
    assert [e.data["task_id"] for e in seen if e] == ["a", "b"]
    assert [e.data["task_id"] for e in found if e] == ["b", "c", "d", "e"]
    assert [e.id for e in found if e] == [e.id for e in other if e]


async def test_reader_who_asks_for_deleted_events_is_told_so(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        runtime = home.box.runtime
        await runtime.store.write(told, runtime.clock.now() - timedelta(days=2), ["a", "b", "c"])
        await runtime.store.write(feed.prune, runtime.clock.now() - timedelta(days=1))
        old = await Stream.open(home.port, "/api/events?after=1", home.token)
        known = await Stream.open(home.port, "/api/events?after=3", home.token)
        unheard_of = await Stream.open(home.port, "/api/events?after=900", home.token)
        await tell(home, "d")
        found = [
            [await stream.next() for _ in range(count)] for stream, count in ((old, 3), (known, 1), (unheard_of, 2))
        ]
        for stream in (old, known, unheard_of):
            stream.close()
    names = [[event.data.get("task_id", event.name) for event in each if event] for each in found]
    assert names == [["lagged", "c", "d"], ["d"], ["lagged", "d"]]


async def test_an_id_committed_late_is_delivered_and_a_gap_holds_nothing_up(
    tmp_path: Path, migrated_postgres_url: str
) -> None:
    insert = (
        "INSERT INTO feed (name, project_id, payload, created_at)"
        " VALUES ('task_changed', 'default', json_build_object('task_id', %s::text), now())"
    )
    async with house(tmp_path, executes=False, database_url=migrated_postgres_url) as home:
        early = await psycopg.AsyncConnection.connect(migrated_postgres_url)
        lost = await psycopg.AsyncConnection.connect(migrated_postgres_url)
        stream = await Stream.open(home.port, "/api/events", home.token)
        await tell(home, "first")
        assert (await stream.next()).data["task_id"] == "first"  # type: ignore[union-attr]
        await early.execute(insert, ["late"])
        await lost.execute(insert, ["never"])
        await tell(home, "after")
        coming = asyncio.create_task(stream.next())
        await lost.rollback()
        done, _ = await asyncio.wait({coming}, timeout=0.2)
        assert not done, "what has a greater id waits for the smaller one that may still come"
        await early.commit()
        names = [(await coming).data["task_id"], (await stream.next()).data["task_id"]]  # type: ignore[union-attr]
        assert names == ["late", "after"]
        await lost.execute(insert, ["never"])
        await lost.rollback()
        await tell(home, "last")
        assert (await stream.next()).data["task_id"] == "last"  # type: ignore[union-attr]
        stream.close()
        await early.close()
        await lost.close()


async def test_each_reader_sees_only_what_they_may(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url, projects={"elsewhere": {}}) as home:
        runtime, person = home.box.runtime, home.box.person
        mine = await rooms.create(runtime, person, "plans", kind="private")
        other = await tokens.create(runtime, person, "other", role="viewer", project=None)
        await home.box.runtime.store.write(_person, runtime.clock.now())
        strange = await tokens.create(runtime, person, "strange", who="Vic")
        whole = await Stream.open(home.port, "/api/events", other["token"])
        outside = await Stream.open(home.port, "/api/events", str(strange["token"]))
        elsewhere = await Stream.open(home.port, "/api/events?project=elsewhere", home.token)
        await rooms.say(runtime, person, mine["id"], "between us")
        runtime.events.tell(piece("hidden", channel_id=mine["id"]))
        await tell(home, "far", project="elsewhere")
        await tell(home, "near")
        await emergency.pause(runtime, person, reason="a test")
        seen = {name: await stream.until("control_changed") for name, stream in
                (("whole", whole), ("outside", outside), ("elsewhere", elsewhere))}  # fmt: skip
        for stream in (whole, outside, elsewhere):
            stream.close()
    assert sorted(e.name for e in seen["whole"]) == [
        "assistant", "control_changed", "message_created", "task_changed", "task_changed"
    ]  # fmt: skip
    assert [e.data.get("task_id") for e in seen["outside"]] == ["far", "near", None]
    assert [e.data.get("task_id") for e in seen["elsewhere"]] == ["far", None]


def _person(tx: Tx, now: Any) -> None:
    people.add(tx, "per_vic", "Vic", "viewer", now)


async def test_stalled_reader_holds_nobody_up_and_is_told_that_it_lagged(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        stalled = await Stream.open(home.port, "/api/events", home.token)
        quick = await Stream.open(home.port, "/api/events", home.token)
        events, text = home.box.runtime.events, "x" * 20_000
        heard = 0
        for number in range(MOST_WAITING):
            events.tell(piece(text, run=f"run_{number}"))
            while heard <= number:
                assert (await quick.next()) is not None
                heard += 1
        assert heard == MOST_WAITING
        seen = []
        while (event := await stalled.next()) is not None:
            seen.append(event)
        assert seen[-1].name == sse.LAGGED
        assert len(seen) < MOST_WAITING
        stalled.close()
        quick.close()


async def test_pieces_that_wait_are_joined_and_nothing_of_the_text_is_lost(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        home.live.reading(Interest(run="run_1")) as reader,
    ):
        for number in range(3_000):
            home.box.runtime.events.tell(piece(f"{number} "))
            if number % 100 == 0:
                await asyncio.sleep(0)
        await asyncio.sleep(0)
        found = await reader.take(1)
    assert "".join(t.event.payload["delta"] for t in found) == "".join(f"{n} " for n in range(3_000))
    assert len(found) < 50


async def test_stream_ends_where_its_token_is_revoked(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        made = await tokens.create(home.box.runtime, home.box.person, "short")
        stream = await Stream.open(home.port, "/api/events", made["token"])
        await tokens.revoke(home.box.runtime, home.box.person, made["id"])
        home.services.gate.forget()
        await tell(home, "secret")
        assert await stream.next() is None
        stream.close()


async def test_conversation_is_told_no_further_once_its_token_is_revoked(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    go = asyncio.Event()
    said = Said(Delta("text", "One "), go, Delta("text", "secret"), "One secret.")
    async with house(tmp_path, said, database_url=migrated_sqlite_url) as home:
        made = await tokens.create(home.box.runtime, home.box.person, "short")
        body = {"message": "Count", "stream": True}
        stream = await Stream.open(home.port, "/api/agents/research/chat", made["token"], body=body)
        await stream.until("assistant")
        await tokens.revoke(home.box.runtime, home.box.person, made["id"])
        home.services.gate.forget()
        go.set()
        late = await stream.next()
        stream.close()
        [run] = await listings.runs(home.box.runtime)
        reply = await home.box.answers.of(run["id"])
    assert late is None
    assert reply.response == "One secret.", "the run itself goes on"


async def test_reply_is_not_given_to_a_token_that_was_revoked_meanwhile(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    go, asked = asyncio.Event(), asyncio.Event()

    def answer(_: ModelRequest) -> Said:
        asked.set()
        return Said(go, "secret")

    async with house(tmp_path, answer, database_url=migrated_sqlite_url) as home:
        made = await tokens.create(home.box.runtime, home.box.person, "short")
        headers = {"Authorization": f"Bearer {made['token']}"}
        path, body = "/api/agents/research/chat", {"message": "Count"}
        coming = asyncio.create_task(home.client.post(path, json=body, headers=headers))
        await asked.wait()
        await tokens.revoke(home.box.runtime, home.box.person, made["id"])
        home.services.gate.forget()
        go.set()
        refused = await coming
    assert refused.status_code == 401
    assert "secret" not in refused.text


async def test_stream_shows_no_more_than_its_person_may_see_now(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        runtime, admin = home.box.runtime, home.box.person
        entered = await desk_people.add(runtime, admin, "Olga", role="operator")
        made = await tokens.create(runtime, admin, "hers", who="Olga")
        stream = await Stream.open(home.port, "/api/events", made["token"])
        runtime.events.tell(piece("before", person_id=admin.id))
        first = await stream.next()
        await desk_people.set_role(runtime, admin, entered["id"], "viewer")
        home.services.gate.forget()
        runtime.events.tell(piece("after", person_id=admin.id))
        await tell(home, "open to all")
        second = await stream.next()
        stream.close()
    assert first is not None
    assert first.data["delta"] == "before"
    assert second is not None
    assert second.data.get("task_id") == "open to all"


async def test_streams_end_when_the_process_stops(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        stream = await Stream.open(home.port, "/api/events", home.token)
        await home.services.close()
        assert await stream.next() is None
        stream.close()
        refused = await home.client.get("/api/events")
        assert refused.status_code == 503


async def test_events_of_a_worker_are_streamed_by_the_serving_process(
    tmp_path: Path, migrated_postgres_url: str
) -> None:
    go = asyncio.Event()
    said = Said(Delta("text", "From "), go, Delta("text", "afar " * 4_000), "From afar.")
    async with (
        house(tmp_path / "worker", said, said, database_url=migrated_postgres_url) as worker,
        house(tmp_path / "serve", executes=False, database_url=migrated_postgres_url) as serve,
    ):
        body = {"message": "Where are you?", "stream": True}
        stream = await Stream.open(serve.port, "/api/agents/research/chat", serve.token, body=body)
        events = await stream.until("assistant")
        go.set()
        events += await stream.until("done")
        stream.close()
        assert worker.box.executes
        assert not serve.box.executes
    assert [e.data["phase"] for e in events if e.name == "lifecycle"] == ["start", "end"]
    assert "".join(e.data["delta"] for e in events if e.name == "assistant") == "From " + "afar " * 4_000


async def test_stream_says_that_it_is_there_as_often_as_the_settings_say(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    often = {"keep_alive_s": 0.1}
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url, http=often) as home:
        stream = await Stream.open(home.port, "/api/events", home.token)
        async with asyncio.timeout(20):
            for _ in range(2):
                await stream.reader.readuntil(b": still here")
        stream.close()
