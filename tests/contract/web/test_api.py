"""The HTTP interface: who may do what with which token, the workspace chat, one line for each error."""

import asyncio
import json
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.app.serving import served
from interlock.core.errors import Refused
from interlock.core.ids import new_id
from interlock.desk.agents import conversation
from interlock.desk.identities import gate as gates
from interlock.desk.identities import people, personal, tokens
from interlock.store.auditing import audit
from interlock.store.errors import StoreUnavailable
from interlock.store.identities import tokens as stored
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work.tasks import TransitionRefused
from interlock.testing.scripted import calls
from interlock.web.http import MOST_BYTES
from interlock.web.problems import status_of
from tests.contract.web.house import House, Stream, house

SHOP: dict[str, Any] = {"shop": {}}
"""A project beside the usual one, as the settings name it."""


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def problem(home: House, status: int, method: str, path: str, **more: Any) -> str:
    found = await home.client.request(method, path, **more)
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    body = found.json()
    assert (body["status"], body["title"]) == (status, HTTPStatus(status).phrase)
    assert body["request_id"] == found.headers["x-request-id"]
    assert "\n" not in body["detail"]
    return str(body["detail"])


async def test_tokens_are_shown_once_kept_as_digests_and_refused_at_once(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        runtime, person = home.box.runtime, home.box.person
        made = await tokens.create(runtime, person, "a script", role="viewer", expires_s=60)
        kept: Any = await runtime.store.read(stored.one, made["id"])
        assert made["token"].startswith("ilk_")
        assert made["token"] not in str(kept)
        assert all("token" not in each for each in await tokens.tokens(runtime, person))
        headers = bearer(made["token"])
        assert (await home.client.get("/api/channels", headers=headers)).status_code == 200
        kept = await runtime.store.read(stored.one, made["id"])
        assert kept.used_at is not None
        told = await problem(home, 403, "POST", "/api/missions", json={"goal": "x"}, headers=headers)
        assert "viewer" in told
        await tokens.revoke(runtime, person, made["id"])
        home.services.gate.forget()
        assert "revoked" in await problem(home, 401, "GET", "/api/channels", headers=headers)
        short = await tokens.create(runtime, person, "short", expires_s=0.001)
        assert "expired" in await problem(home, 401, "GET", "/api/channels", headers=bearer(short["token"]))
        done = [each["action"] for each in await home.get("/api/activities?limit=100")]
    assert done.count("TOKEN_REVOKED") == 1
    assert "TOKEN_CREATED" in done


async def test_token_is_never_more_than_its_person_is_now(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        runtime, person = home.box.runtime, home.box.person
        await people.add(runtime, person, "Olga", role="operator")
        made = await tokens.create(runtime, person, "hers", who="Olga")
        with pytest.raises(Exception, match="never more than who it acts for"):
            await tokens.create(runtime, person, "more", who="Olga", role="admin")
        headers = bearer(made["token"])
        channel = {"name": "ideas"}
        assert (await home.client.post("/api/channels", json=channel, headers=headers)).status_code == 201
        await people.set_role(runtime, person, "Olga", "viewer")
        home.services.gate.forget()
        await problem(home, 403, "POST", "/api/channels", json={"name": "more"}, headers=headers)


async def test_token_of_a_project_sees_nothing_of_another(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, "Hello.", "Hello.", database_url=migrated_sqlite_url, projects=SHOP) as home:
        runtime, person = home.box.runtime, home.box.person
        here = await home.post("/api/agents/research/chat", {"message": "Hi"})
        there = await home.post("/api/agents/research/chat", {"message": "Hi", "project": "shop"})
        room = await home.post("/api/channels", {"name": "general"}, status=201)
        headers = bearer((await tokens.create(runtime, person, "shop only", project="shop"))["token"])
        assert [each["id"] for each in await home.get("/api/runs", headers=headers)] == [there["run_id"]]
        assert (await home.get("/api/channels", headers=headers)) == []
        assert {each["project_id"] for each in await home.get("/api/agents", headers=headers)} == {"shop"}
        for path in (f"/api/runs/{here['run_id']}", f"/api/channels/{room['id']}/messages"):
            await problem(home, 404, "GET", path, headers=headers)
        said = {"channel_id": room["id"], "text": "hello"}
        await problem(home, 404, "POST", "/api/messages", json=said, headers=headers)
        for path in ("/api/missions?project=default", "/api/events?project=default", "/api/budget", "/api/activities"):
            await problem(home, 403, "GET", path, headers=headers)
        await problem(home, 403, "POST", "/api/squad/stop", json={}, headers=headers)


async def test_what_others_have_more_of_hides_nothing_from_a_token_of_a_project(
    tmp_path: Path, database_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        runtime, person = home.box.runtime, home.box.person

        def fill(tx: Tx, project: str, count: int, at: datetime) -> None:
            for number in range(count):
                audit.alert(tx, at, project_id=project, severity="info", kind="X", text="x", key=f"{project}:{number}")
                approvals.ask(
                    tx, id=new_id("apr"), kind="QUESTION", project_id=project, subject="x", request={"summary": "x"},
                    risk="GREEN", asked_by="system:test", created_at=at, expires_at=at + timedelta(days=1),
                )  # fmt: skip

        now = runtime.clock.now()
        mine = await conversation.say(runtime, person, "research", "Hi", project="shop")
        await runtime.store.write(fill, "shop", 1, now)
        await runtime.store.write(fill, "default", 250, now - timedelta(hours=1))
        for number in range(200):
            await conversation.say(runtime, person, "research", f"Hi {number}")
        await runtime.store.write(fill, "other", 150, now + timedelta(hours=1))
        headers = bearer((await tokens.create(runtime, person, "shop only", project="shop"))["token"])
        for path in ("/api/approvals", "/api/alerts", "/api/runs"):
            found = await home.get(path, headers=headers)
            assert [each["project_id"] for each in found] == ["shop"], path
        assert [each["id"] for each in await home.get("/api/runs", headers=headers)] == [mine]


async def test_run_of_a_closed_channel_is_its_members_to_read(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, "Hello.", "Fine.", "Fine.", database_url=migrated_sqlite_url) as home:
        runtime, person = home.box.runtime, home.box.person
        for name, role in (("Olga", "operator"), ("Vera", "viewer")):
            await people.add(runtime, person, name, role=role)
        olga, vera = [
            bearer((await tokens.create(runtime, person, "x", who=each))["token"]) for each in ("Olga", "Vera")
        ]
        own = await home.post("/api/agents/research/chat", {"message": "Hi"})
        closed = {"name": "board", "kind": "private", "members": ["research"]}
        room = await home.post("/api/channels", closed, status=201)
        said = await home.post("/api/messages", {"channel_id": room["id"], "text": "we sell the shop"}, status=201)
        trace = f"/api/runs/{said['runs'][0]}"
        assert "we sell the shop" in str(await home.get(trace))
        for headers in (olga, vera):
            assert "we sell" not in await problem(home, 404, "GET", trace, headers=headers)
        assert (await home.get(f"/api/runs/{own['run_id']}", headers=olga))["steps"]
        await problem(home, 404, "GET", f"/api/runs/{own['run_id']}", headers=vera)


async def test_messages_of_others_to_an_agent_are_streamed_to_no_viewer(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, "Hello.", database_url=migrated_sqlite_url) as home:
        runtime, person = home.box.runtime, home.box.person
        await people.add(runtime, person, "Vera", role="viewer")
        vera = str((await tokens.create(runtime, person, "hers", who="Vera"))["token"])
        streams = [await Stream.open(home.port, "/api/events", token) for token in (home.token, vera)]
        await home.post("/api/agents/research/chat", {"message": "Hi"})
        await home.post("/api/squad/pause", {})
        own, others = [{each.name for each in await stream.until("control_changed")} for stream in streams]
        for stream in streams:
            stream.close()
    assert "lifecycle" in own
    assert "lifecycle" not in others


async def test_odd_values_are_refused_in_one_line(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        room = await home.post("/api/channels", {"name": "general"}, status=201)
        await problem(home, 422, "GET", f"/api/channels/{room['id']}/messages?before={'9' * 5000}")
        await problem(home, 422, "POST", "/api/missions", json={"goal": "x", "deadline": "2030-01-01T00:00:00"})
        for name in ("a\n# Rules", "x" * 64, "\u202e"):
            told = await problem(home, 422, "POST", "/api/missions", json={"goal": "x", "project": name})
            assert "`project`" in told
        for given, said in (
            ({"deadline": "9999-12-31T23:59:59-10:00"}, "100 years"),
            ({"deadline": "9999-12-31T23:59:59Z"}, "100 years"),
            ({"deadline": "0001-01-01T00:00:00+14:00"}, "is past"), ({"budget_usd": True}, "`budget_usd`"),
            ({"budget_usd": "5"}, "`budget_usd`"), ({"budget_usd": -0.0}, "is not a budget"),
        ):  # fmt: skip
            assert said in await problem(home, 422, "POST", "/api/missions", json={"goal": "x", **given})


async def test_parameter_that_a_path_has_not_is_refused_with_the_nearest_that_it_has(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        for path, told in (
            ("/api/tasks?stauts=DONE", "`stauts` is not a parameter of this path: did you mean `status`?"),
            ("/api/runs?status=failed&Mission=x", "`Mission` is not a parameter of this path: did you mean `mission`?"),
            ("/api/missions?most=5", "`most` is not a parameter of this path: it has `project`, `limit`"),
            ("/api/alerts?=1", "`` is not a parameter of this path: it has `all`, `limit`"),
            ("/api/events?runs=run_1", "`runs` is not a parameter of this path: did you mean `run`?"),
            ("/api/agents/agt_1?project=shop", "`project` is not a parameter of this path: it has none"),
        ):
            assert await problem(home, 422, "GET", path) == told
        for sent in ("a%0Ab", "x" * 5_000, "%E2%80%AE"):
            assert len(await problem(home, 422, "GET", f"/api/runs?{sent}=1")) < 200
        await problem(home, 422, "POST", "/api/squad/pause?reason=lunch", json={})
        assert await home.get("/api/approvals?status=all&limit=5") == []
        await problem(home, 401, "GET", "/api/runs?nope=1", headers=bearer("ilk_guess"))
        assert (await home.client.get("/healthz?by=the+balancer")).status_code == 200


async def test_project_that_there_is_not_is_refused_and_does_not_begin_with_a_days_money(
    tmp_path: Path, database_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=database_url, projects=SHOP) as home:
        before = [each["id"] for each in await home.get("/api/budget?every=true")]
        near, far = "no project `shpo`: did you mean `shop`?", "no project `garden`: there are `default`, `shop`"
        for wanted, told in (("shpo", near), ("garden", far)):
            for path, body in (
                ("/api/missions", {"goal": "x"}), ("/api/agents/research/chat", {"message": "x"}),
                ("/api/channels", {"name": "x"}), ("/api/channels", {"persona": "research"}),
            ):  # fmt: skip
                said = await problem(home, 404, "POST", path, json={**body, "project": wanted})
                assert said.startswith(told)
            for path in ("missions", "agents", "channels", "memories"):
                assert told in await problem(home, 404, "GET", f"/api/{path}?project={wanted}")
        assert [each["id"] for each in await home.get("/api/budget?every=true")] == before
        assert await home.get("/api/missions?project=shop") == []
        await home.post("/api/missions", {"goal": "x", "project": "shop"}, status=201)
        assert [each["project_id"] for each in await home.get("/api/missions")] == ["shop"]


async def test_who_shows_bad_tokens_is_slowed_down_and_who_has_a_good_one_is_not(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        await home.get("/api/channels")
        for _ in range(gates.FAILURES):
            await problem(home, 401, "GET", "/api/channels", headers=bearer("ilk_guess"))
        found = await home.client.get("/api/channels", headers=bearer("ilk_guess"))
        assert found.status_code == 429
        assert int(found.headers["retry-after"]) > 0
        await home.get("/api/channels")
        gate = gates.Gate(home.box.runtime, fresh_s=0)
        await gate.caller(home.token, "10.0.0.1")
        for _ in range(gates.FAILURES):
            assert await gate.still("ilk_guess") is None
            with pytest.raises(gates.NotKnown):
                await gate.caller("ilk_guess", "10.0.0.1")
        assert (await gate.caller(home.token, "10.0.0.1")).person.id == home.box.person.id
        assert await gate.still(home.token) is not None, "also of whom a stream is"


async def test_workspace_chat_over_http(tmp_path: Path, migrated_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_url) as home:
        stream = await Stream.open(home.port, "/api/events", home.token)
        room = await home.post("/api/channels", {"name": "general", "topic": "all"}, status=201)
        body = {"channel_id": room["id"], "text": "good morning", "idempotency_key": "k1"}
        said = await home.post("/api/messages", body, status=201)
        assert (await home.post("/api/messages", body, status=201))["id"] == said["id"]
        reply = await home.post("/api/messages", {**body, "text": "and to you", "parent_id": said["id"],
                                                  "idempotency_key": None}, status=201)  # fmt: skip
        await home.post(f"/api/messages/{said['id']}/reactions", {"emoji": "👍"})
        history = await home.get(f"/api/channels/{room['id']}/messages")
        thread = await home.get(f"/api/channels/{room['id']}/messages?thread={said['id']}")
        [listed] = await home.get("/api/channels")
        events = await stream.until("reaction_added")
        stream.close()
    assert listed["id"] == room["id"]
    assert [each["text"] for each in history] == ["good morning"]
    assert history[0]["author"] == home.box.person.id, "the sender comes from the token"
    assert [each["id"] for each in thread] == [said["id"], reply["id"]]
    assert [e.data["text"] for e in events if e.name == "message_created"] == ["good morning", "and to you"]


async def test_every_error_is_one_line_with_the_id_of_its_request(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        chat = "/api/agents/research/chat"
        async with httpx2.AsyncClient(base_url=str(home.client.base_url)) as nobody:
            for path in ("/api/channels", "/api/events", "/api/missions"):
                found = await nobody.get(path)
                assert (found.status_code, found.headers["www-authenticate"]) == (401, "Bearer")
            for path in ("/api/missions", "/api/nothing"):
                assert (await nobody.post(path, content=b"{", headers={"content-type": "application/json"})).json()[
                    "status"
                ] == 401, "before its body is looked at"
            reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
            writer.write(b"POST /api/missions HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{")
            assert b" 401 " in await reader.readline(), "before its body has come"
            writer.close()
            assert (await nobody.get("/healthz")).status_code == 200
            assert (await nobody.get("/readyz")).status_code == 200
        assert "`message`" in await problem(home, 422, "POST", chat, json={})
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        told = await problem(home, 415, "POST", chat, content=b'{"message": "x"}', headers=form)
        assert told == "the body is not said to be JSON: send `Content-Type: application/json`"
        assert "not an object" in await problem(home, 422, "POST", chat, json=["x"])
        assert "the body is missing: send a JSON object" in await problem(home, 422, "POST", chat)
        for path in ("/api/tasks?persona=nobody", "/api/ledger?after=led_none"):
            await problem(home, 404, "GET", path)
        for path in ("/api/squad/pause", "/api/squad/resume"):
            assert (await home.client.post(path)).status_code == 200
        told = await problem(home, 422, "GET", "/api/approvals?status=nope")
        assert "`nope` is not a state: use one of pending, approved" in told
        assert "`mesage`" in await problem(home, 422, "POST", chat, json={"message": "x", "mesage": "y"})
        assert "JSON" in await problem(
            home, 400, "POST", chat, content=b"{", headers={"content-type": "application/json"}
        )
        assert "no persona `nobody`" in await problem(
            home, 404, "POST", "/api/agents/nobody/chat", json={"message": "x"}
        )
        assert "nothing at `/api/nothing`" in await problem(home, 404, "GET", "/api/nothing")
        await problem(home, 405, "DELETE", "/api/channels")
        await problem(home, 404, "GET", "/api/channels/chn_none/messages")
        await problem(home, 404, "GET", "/api/missions/tsk_none")
        await problem(home, 422, "GET", "/api/events", headers={"Last-Event-ID": "x"})
        large = json.dumps({"message": "x" * MOST_BYTES}).encode()
        await problem(home, 413, "POST", chat, content=large)
        found = await home.client.get("/api/channels", headers={"X-Request-Id": "mine-1"})
        assert found.headers["x-request-id"] == "mine-1"
        paths = (await home.get("/openapi.json"))["paths"]
    assert {"/api/events", "/api/messages", "/api/channels", "/api/agents/{persona}/chat"} <= set(paths)


async def test_one_chat_call_returns_what_the_stream_ends_with(tmp_path: Path, migrated_url: str) -> None:
    async with house(tmp_path, "Yes.", "No.", "Well.", database_url=migrated_url, projects=SHOP) as home:
        body = {"message": "Really?", "idempotency_key": "once"}
        first, again = await asyncio.gather(*(home.post("/api/agents/research/chat", body) for _ in range(2)))
        elsewhere = await home.post("/api/agents/research/chat", {**body, "project": "shop"})
        mission = await home.post("/api/missions", {"goal": "Compare the vendors", "idempotency_key": "m"}, status=201)
        assert (await home.get(f"/api/missions/{mission['id']}"))["goal"] == "Compare the vendors"
        anew = await home.post("/api/agents/research/reset", {})
    assert len(anew["agents"]) == 1
    assert first == again
    assert elsewhere["response"] == "No."
    assert first["response"] == "Yes."
    assert set(first) == {"response", "tool_calls", "iterations", "run_id", "stop_reason", "cost_usd"}


async def test_records_and_work_can_be_looked_at(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, "Yes.", database_url=migrated_sqlite_url) as home:
        chat = await home.post("/api/agents/research/chat", {"message": "Really?"})
        mission = await home.post("/api/missions", {"goal": "Compare the vendors"}, status=201)
        [research] = [each for each in await home.get("/api/agents") if each["persona"] == "research"]
        assert (await home.get(f"/api/agents/{research['id']}"))["persona"] == "research"
        await problem(home, 404, "GET", "/api/agents/agt_none")
        assert (await home.get(f"/api/ledger?run={chat['run_id']}"))["lines"]
        assert (await home.get(f"/api/runs/{chat['run_id']}"))["steps"]
        assert await home.get(f"/api/tasks/{mission['id']}/messages") == []
        for path in ("transitions", "messages"):
            assert isinstance(await home.get(f"/api/tasks/{mission['id']}/{path}"), list)
        for path in ("tasks", "approvals?status=all", "budget", "alerts?all=true", "lessons", "memories?query=vendors"):
            assert isinstance(await home.get(f"/api/{path}"), list)


async def test_questions_are_answered_by_operators_alone_and_once(tmp_path: Path, migrated_url: str) -> None:
    letter = calls("send_email", to=["bank@example.com"], subject="The loan", body="Yes")
    async with house(tmp_path, *[letter] * 3, "Well.", "Well.", database_url=migrated_url, projects=SHOP) as home:
        asked, runs = [], []
        for _ in range(3):
            chat = await home.post("/api/agents/operations/chat", {"message": "Write to the bank"})
            assert chat["stop_reason"] == "waiting"
            (card,) = [each for each in await home.get("/api/approvals") if each["run_id"] == chat["run_id"]]
            asked.append(f"/api/approvals/{card['id']}")
            runs.append(chat["run_id"])
        yes, no, _ = asked
        for headers, status in (
            (bearer(await home.token_of("viewer")), 403), (bearer(await home.token_of(project="shop")), 404),
        ):  # fmt: skip
            await problem(home, status, "POST", f"{yes}/approve", json={}, headers=headers)
            await problem(home, status, "POST", f"{no}/deny", json={"reason": "no"}, headers=headers)
        assert "do not fit" in await problem(home, 422, "POST", f"{yes}/approve", json={"args": {"to": 7}})
        await problem(home, 422, "POST", f"{no}/deny", json={"reason": " "})
        edited = {"to": ["bank@example.com"], "subject": "The loan", "body": "No"}
        answered = await home.post(f"{yes}/approve", {"args": edited, "note": "go"})
        me = home.box.person
        assert (answered["status"], answered["decided_by"], answered["edited_args"]) == ("approved", me.id, edited)
        assert (await home.post(f"{no}/deny", {"reason": "too dear"}))["status"] == "denied"
        for path, body in ((f"{yes}/approve", {}), (f"{no}/deny", {"reason": "again"})):
            assert me.name in await problem(home, 409, "POST", path, json=body)
        assert (await home.post(f"/api/runs/{runs[2]}/cancel", {}))["changed"]
        assert await home.get("/api/approvals") == []
        said = await home.get("/api/activities?limit=200")
    answers = [row["data"] for row in said if row["action"] == "APPROVAL_ANSWERED"]
    assert [(each["verdict"], each["surface"], each["edited"]) for each in answers] == [
        ("approve", "http", True), ("deny", "http", False),
    ]  # fmt: skip


async def test_token_of_somebody_who_was_erased_is_known_no_more(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        runtime, person = home.box.runtime, home.box.person
        await people.add(runtime, person, "Olga")
        made = await tokens.create(runtime, person, "hers", who="Olga")
        await personal.erase(runtime, person, "Olga")
        await problem(home, 401, "GET", "/api/channels", headers=bearer(made["token"]))


async def test_location_of_an_unavailable_database_is_disclosed_to_nobody(
    tmp_path: Path, migrated_sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    why = 'PostgreSQL went away: connection to server at "10.1.2.3" failed for user "interlock"'

    async def lost(*_: Any) -> Any:
        raise StoreUnavailable(why)

    async with (
        house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home,
        served(home.box, "127.0.0.1", 0, always=True) as door,
    ):
        (url,) = [each.removeprefix("listening at ") for each in door.notices if "listening" in each]
        with monkeypatch.context() as patched:
            patched.setattr(home.box.runtime.store, "read", lost)
            guess = {"Authorization": "Bearer ilk_guess"}
            for path in ("/readyz", "/api/missions"):
                async with httpx2.AsyncClient(base_url=url) as stranger:
                    found = await stranger.get(path, headers=guess)
                said = "the database cannot be used just now: the log of this process says why"
                assert (found.status_code, found.json()["detail"]) == (503, said)
    assert [why in each for each in caplog.messages if "failed: " in each or "not ready" in each] == [True, True]


async def test_people_move_tasks_and_comment_on_them(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url, projects=SHOP) as home:
        mission = (await home.post("/api/missions", {"goal": "Compare A and B"}, 201))["id"]
        said = await home.post(f"/api/tasks/{mission}/messages", {"text": "take care"}, 201)
        (message,) = await home.get(f"/api/tasks/{mission}/messages")
        assert (message["id"], message["text"], message["kind"]) == (said["id"], "take care", "COMMENT")
        wish = {"to": "CANCELED", "reason": "not needed", "idempotency_key": "k"}
        first = await home.post(f"/api/tasks/{mission}/transition", wish)
        assert (first["from"], first["to"], first["changed"]) == ("INBOX", "CANCELED", True)
        again = await home.post(f"/api/tasks/{mission}/transition", wish)
        assert (again["transition_id"], again["changed"]) == (first["transition_id"], False)
        (made,) = await home.get(f"/api/tasks/{mission}/transitions")
        assert (made["actor_kind"], made["actor_id"]) == ("human", home.box.person.id)
        path = f"/api/tasks/{mission}/transition"
        told = await problem(home, 422, "POST", path, json={"to": "REVIEW", "reason": "x"})
        assert "moved by its coordinator" in told
        assert "`to`" in await problem(home, 422, "POST", path, json={"reason": "x"})
        assert "no task" in await problem(home, 404, "POST", "/api/tasks/tsk_none/messages", json={"text": "x"})
        await home.post("/api/missions", {"goal": "x", "project": "shop"}, 201)
        other = bearer(await home.token_of(project="shop"))
        await problem(home, 404, "POST", path, json=wish, headers=other)
        viewer = bearer(await home.token_of("viewer"))
        assert "viewer" in await problem(home, 403, "POST", path, json=wish, headers=viewer)


async def test_agents_and_the_squad_are_controlled(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, "Hello.", database_url=migrated_sqlite_url) as home:
        await home.post("/api/agents/research/chat", {"message": "Hi"})
        words = ("pause", "resume", "quarantine", "release")
        states = [(await home.post(f"/api/agents/research/{word}", {}))["state"] for word in words]
        assert states == ["PAUSED", "ACTIVE", "QUARANTINED", "ACTIVE"]
        modes = [(await home.post(f"/api/squad/{word}", {}))["mode"] for word in ("drain", "stop", "resume")]
        assert modes == ["draining", "stopped", "running"]
        assert (await home.post("/api/agents/research/restart", {}))["runs"] == []
        assert "no agent `nobody`" in await problem(home, 404, "POST", "/api/agents/nobody/pause", json={})


async def test_name_that_leads_nowhere_is_not_found_wherever_it_is_given(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        mission = (await home.post("/api/missions", {"goal": "x"}, 201))["id"]
        for path, body in (
            *((f"/api/agents/nobody/{word}", {}) for word in ("resume", "quarantine", "release", "restart", "reset")),
            ("/api/missions", {"goal": "x", "workflow": "nothing"}),
            ("/api/tasks", {"mission": mission, "title": "x", "persona": "nobody"}),
            ("/api/tasks", {"mission": "mis_none", "title": "x"}),
            ("/api/channels", {"name": "x", "members": ["nobody"]}),
            ("/api/channels", {"persona": "nobody"}),
        ):  # fmt: skip
            await problem(home, 404, "POST", path, json=body)
        for path in (
            "tasks?mission=mis_none",
            "runs?mission=mis_none",
            "memories?persona=nobody",
            "ledger?task=tsk_none",
        ):
            await problem(home, 404, "GET", f"/api/{path}")


def test_move_that_the_table_does_not_allow_is_a_conflict() -> None:
    refusal = TransitionRefused("tsk_1", "DONE", "INBOX", "nothing leaves it")
    assert (status_of(refusal), status_of(Refused("no"))) == (409, 403)
