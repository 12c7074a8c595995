"""What a viewer sees of questions that were asked in private, and of closed channels, on every surface."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from interlock.core.events import Event
from interlock.core.values import SYSTEM
from interlock.desk.agents import conversation
from interlock.desk.chats.commands import carry_out
from interlock.desk.chats.requests import Place, Request
from interlock.desk.context import Person
from interlock.desk.identities import people, tokens
from interlock.desk.signoff import asking, signing
from interlock.llm.messages import ModelError, ModelFault
from interlock.oversight import reminders
from interlock.store.auditing import audit
from interlock.store.runs import traces
from interlock.store.schema import Approval, Run
from interlock.store.signoff import approvals as store
from interlock.testing.scripted import calls
from tests.contract.desk.front import text_of, until
from tests.contract.web.house import House, house

SECRET = "we-sell-the-shop"
LETTER: dict[str, Any] = {"to": ["bank@example.com"], "subject": SECRET, "body": SECRET}


async def enter(home: House, name: str, role: str) -> tuple[Person, dict[str, str]]:
    """Somebody with a token."""
    runtime = home.box.runtime
    found = await people.add(runtime, home.box.person, name, role=role)
    made = await tokens.create(runtime, home.box.person, f"x {uuid4()}", who=name)
    return Person(found["id"], name, role, "slack"), {"Authorization": f"Bearer {made['token']}"}


async def said_in_chat(home: House, person: Person, words: str) -> str:
    """What a command in a chat says to somebody."""
    command, _, rest = words.partition(" ")
    place = Place("slack", "C1", user="U1")
    request = Request(
        key=f"slack:{words}", identity="slack:U1", name=person.name, place=place, command=command, words=rest
    )
    return text_of(await carry_out(home.box.runtime, person, request))


async def test_question_of_a_private_talk_shows_viewers_who_asks_and_not_what(
    tmp_path: Path, database_url: str
) -> None:
    letter = calls("send_email", **LETTER)
    async with house(tmp_path, letter, database_url=database_url) as home:
        vera, hers = await enter(home, "Vera", "viewer")
        olga, her_own = await enter(home, "Olga", "operator")
        said = await home.post("/api/agents/operations/chat", {"message": SECRET})
        assert said["stop_reason"] == "waiting"
        (whole,) = await home.get("/api/approvals", headers=her_own)
        (seen,) = await home.get("/api/approvals", headers=hers)
        ident = seen["id"]
        chat = [await said_in_chat(home, vera, f"approvals{more}") for more in ("", f" {ident}")]
        operators = await said_in_chat(home, olga, f"approvals {ident}")
        card = text_of(await asking.approval_card(home.box.runtime, ident, taps=False, reader=vera))
        log = await home.get("/api/activities?limit=1000", headers=hers)
        complete = await home.get("/api/activities?limit=1000", headers=her_own)
    assert (whole["args"]["subject"], whole["withheld"]) == (SECRET, False)
    assert SECRET in operators
    assert SECRET not in json.dumps([seen, *chat, card, log])
    assert seen["withheld"]
    kept = ("id", "kind", "risk", "rules", "asked_by", "tool", "created_at", "expires_at", "on_behalf_of", "status")
    assert {name: seen[name] for name in kept} == {name: whole[name] for name in kept}
    assert all("send_email" in each and "RED" in each for each in (*chat, card))
    (asked,) = [row for row in log if row["action"] == "APPROVAL_ASKED"]
    assert (asked["subject"], asked["data"], asked["withheld"]) == (
        ident, {"kind": "TOOL_CALL", "risk": "RED", "tool": "send_email"}, True,
    )  # fmt: skip
    assert [row["id"] for row in log] == [row["id"] for row in complete]
    assert not any(row["withheld"] for row in complete)


async def test_viewer_reads_their_own_questions_and_those_of_missions(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, calls("send_email", **LETTER), database_url=migrated_sqlite_url) as home:
        runtime = home.box.runtime
        await home.post("/api/agents/operations/chat", {"message": "Write to the bank"})
        owner = Person(home.box.person.id, "x", "viewer", "slack")
        vera, _ = await enter(home, "Vera", "viewer")
        (own,) = await signing.approvals(runtime, reader=owner)
        (others,) = await signing.approvals(runtime, reader=vera)

        def unbind(tx: Any) -> None:
            row: Any = store.approval(tx, own["id"])
            asked = {**row._asdict(), "id": "apr_ofmission", "run_id": None, "subject": "s"}
            tx.add(Approval, **asked)

        await runtime.store.write(unbind)
        found = await signing.approval(runtime, "apr_ofmission", reader=vera)
    assert own["args"]["subject"] == SECRET
    assert others["args"] is None
    assert (found["args"]["subject"], found["withheld"]) == (SECRET, False)


async def test_question_of_a_closed_channel_is_its_members_to_read(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, calls("send_email", **LETTER), database_url=database_url) as home:
        _, hers = await enter(home, "Vera", "viewer")
        _, members = await enter(home, "Mia", "viewer")
        closed = {"name": "takeover", "kind": "private", "members": ["operations", "Mia"]}
        room = await home.post("/api/channels", closed, status=201)
        said = await home.post("/api/messages", {"channel_id": room["id"], "text": "do it"}, status=201)
        assert said["runs"]

        async def is_asked() -> bool:
            return await signing.waiting(home.box.runtime) == 1

        await until(is_asked)
        (seen,) = await home.get("/api/approvals", headers=hers)
        (whole,) = await home.get("/api/approvals", headers=members)
        log = await home.get("/api/activities?limit=1000", headers=hers)
        inside = await home.get("/api/activities?limit=1000", headers=members)
    assert (seen["args"], seen["withheld"]) == (None, True)
    assert whole["args"]["subject"] == SECRET
    assert "takeover" not in json.dumps(log)
    assert room["id"] not in json.dumps(log)
    assert "takeover" in json.dumps(inside)
    assert "CHANNEL_CREATED" in [row["action"] for row in log]


async def test_alerts_about_a_private_question_do_not_say_what_it_asks(tmp_path: Path, database_url: str) -> None:
    asked = calls("ask_operator", question=SECRET)
    async with house(tmp_path, asked, database_url=database_url) as home:
        _, hers = await enter(home, "Vera", "viewer")
        await home.post("/api/agents/operations/chat", {"message": "Ask me"})
        runtime, (question,) = home.box.runtime, await signing.approvals(home.box.runtime)
        now = runtime.clock.now() + timedelta(hours=1)
        assert await runtime.store.write(reminders.remind, question["id"], now, now)
        (alert,) = await home.get("/api/alerts", headers=hers)
    assert SECRET not in alert["text"]
    assert "QUESTION of ask_operator" in alert["text"]


async def test_error_of_a_private_run_is_shown_to_its_operators_and_its_person(
    tmp_path: Path, database_url: str
) -> None:
    fault = ModelError(ModelFault.INVALID, SECRET, provider="acme", status=400)
    async with house(tmp_path, fault, database_url=database_url) as home:
        _, hers = await enter(home, "Vera", "viewer")
        said = await home.post("/api/agents/operations/chat", {"message": SECRET})
        (whole,) = await home.get("/api/runs")
        (seen,) = await home.get("/api/runs", headers=hers)
        agents = [await home.get("/api/agents", headers=each) for each in (None, hers)]
        agents += [[await home.get(f"/api/agents/{seen['agent_id']}", headers=hers)]]
    assert said["stop_reason"] == whole["stop_reason"]
    assert (SECRET in whole["error"], whole["withheld"]) == (True, False)
    assert {**whole, "error": None, "withheld": True} == seen
    assert [SECRET in json.dumps(each) for each in agents] == [True, False, False]


async def test_viewer_gets_no_live_events_of_what_a_private_run_started(
    tmp_path: Path, migrated_sqlite_url: str
) -> None:
    async with house(tmp_path, "Hello.", executes=False, database_url=migrated_sqlite_url) as home:
        vera, _ = await enter(home, "Vera", "viewer")
        olga, _ = await enter(home, "Olga", "operator")
        runtime, owner = home.box.runtime, replace(home.box.person, role="viewer")
        first = await conversation.say(runtime, home.box.person, "research", "Hi")
        for ident, cause in (("run_vote", "event"), ("run_free", "schedule")):
            await runtime.store.write(_caused, first, ident, cause)
        heard = [
            await home.live.may_see(person, Event(name="assistant", payload={}, project_id="default", run_id=ident))
            for person in (vera, olga, owner)
            for ident in ("run_vote", "run_free")
        ]
    assert heard == [False, True, True, True, True, True]


def _caused(tx: Any, first: str, ident: str, cause: str) -> None:
    """A run that was started by another one, or by a schedule."""
    row: Any = traces.run(tx, first)
    given = {**row._asdict(), "id": ident, "seq": len(ident), "idempotency_key": ident, "cause_kind": cause}
    tx.add(Run, **{**given, "seq": row.seq + (1 if cause == "event" else 2), "cause_id": first})


async def test_channel_that_is_open_is_named_to_all(tmp_path: Path, migrated_sqlite_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=migrated_sqlite_url) as home:
        _, hers = await enter(home, "Vera", "viewer")
        await home.post("/api/channels", {"name": "general"}, status=201)
        await home.box.runtime.store.write(_odd, home.box.runtime.clock.now())
        log = await home.get("/api/activities?limit=1000", headers=hers)
    (made,) = [row for row in log if row["action"] == "CHANNEL_CREATED"]
    (odd,) = [row for row in log if row["action"] == "ODD"]
    assert (made["data"]["name"], made["withheld"]) == ("general", False)
    assert odd["data"] == {"name": "x"}


def _odd(tx: Any, now: Any) -> None:
    """An entry about a channel that there is no more."""
    audit.note(tx, "ODD", SYSTEM, now, project_id="default", subject="chn_gone", name="x")
