"""One mission from goal to deliverable: command line, the provider's own SDK, a mail server, people at terminals."""

import asyncio
import email.message
import json
import signal
import socket
from collections.abc import Iterator
from email import message_from_bytes
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from interlock.store.schema import RunMessage, RunStep, ToolCall
from tests.e2e.books import at_rest, check_books, check_rest, questions, rows
from tests.e2e.conftest import World
from tests.e2e.home import until
from tests.e2e.story import GOAL, PURPOSES, answer, blocks_of, cost_of, usage_of


class Mailbox:
    """A mail server that keeps what it takes."""

    def __init__(self) -> None:
        self.letters: list[email.message.Message] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.letters.append(message_from_bytes(envelope.content))
        return "250 taken"

    @property
    def env(self) -> dict[str, str]:
        return {
            "INTERLOCK_POSTAL__BASE_URL": "",
            "INTERLOCK_SMTP__HOST": "127.0.0.1",
            "INTERLOCK_SMTP__PORT": str(self.port),
            "INTERLOCK_SMTP__STARTTLS": "false",
            "INTERLOCK_SMTP__SENDER": "shop@example.com",
        }


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    yield box
    controller.stop()


async def test_goal_becomes_a_deliverable_with_held_calls_answered_from_other_terminals(
    world: World, mailbox: Mailbox
) -> None:
    home, story = world.home, world.story
    home.env |= mailbox.env
    story.together = frozenset({"facts:0", "code:0"})
    up = await home.up()

    first = await home.run("run", GOAL, "--json", "--approve", "queue")
    assert first.code == 3
    waiting = first.json
    assert (waiting["standing"], len(waiting["approvals"])) == ("waiting", 2)
    assert story.most_at_once >= 2
    assert mailbox.letters == []

    cards = {card["args"]["to"][0]: card for card in (await home.run("approvals", "--json")).json}
    ana, ben = cards["ana@example.com"], cards["ben@example.com"]
    assert {card["risk"] for card in (ana, ben)} == {"RED"}
    assert (await home.run("approve", ana["id"], "--note", "checked")).code == 0
    assert [r["status"] for r in (await home.run("runs", "--json")).json if r["id"] == ana["run_id"]] == ["waiting"]
    assert (mailbox.letters, story.count("mail:1")) == ([], 0)
    assert (await home.run("deny", ben["id"], "--reason", "Ben has left")).code == 0

    await until(lambda: story.count("mail:2"), "the run to go on after the last answer")
    assert [letter["To"] for letter in mailbox.letters] == ["ana@example.com"]
    told = story.last("mail:1").body["messages"][-1]["content"]
    assert [(block["tool_use_id"], block.get("is_error", False)) for block in told] == [
        ("toolu_m1", False),
        ("toolu_m2", True),
    ]
    assert "Ben has left" in json.dumps(told[1])

    async with home.desk() as (context, _):
        [review] = await questions(context)
        assert (await home.run("approve", review, "--json")).json["kind"] == "TASK_REVIEW"
        await at_rest(context, waiting["mission_id"])
        assert (await home.run("deliverable", waiting["mission_id"])).out.rstrip("\n") == (
            "# Decision\n\n- Code: The code is in store.py.\n- Facts: Redis is fast.\n- Mail: People were told."
        )
        up.signal(signal.SIGINT)
        assert (await up.ended(within_s=15)).code == 0

        await check_rest(context)
        assert await check_books(context) == {"known": sum(cost_of(usage_of(a)) for a in story.asked), "estimated": 0}
        await _check_records(world, context)
    [mission] = (await home.run("missions", "--json")).json
    assert (mission["status"], mission["tasks_done"], mission["tasks_total"]) == ("DONE", 3, 3)


async def _check_records(world: World, context: Any) -> None:
    """Every step, call and message that the server saw is shown by `interlock trace`."""
    runs = [run["id"] for run in (await world.home.run("runs", "--json")).json if run["kind"] != "mission"]
    shown = await asyncio.gather(*(world.home.run("trace", run, "--json") for run in runs))
    traces = {_purpose(ran.json): ran.json for ran in shown}
    assert traces.keys() == {asked.purpose for asked in world.story.asked}
    for asked in world.story.asked:
        step = traces[asked.purpose]["steps"][asked.turn]
        assert (step["step_number"], round(step["cost_usd"] * 1e6)) == (asked.turn + 1, cost_of(usage_of(asked)))
        wished = [b for b in blocks_of(asked) if b["type"] == "tool_use"]
        calls = [c for c in traces[asked.purpose]["tool_calls"] if c["step_number"] == asked.turn + 1]
        assert [(c["call_id"], c["tool"]) for c in calls] == [(b["id"], b["name"]) for b in wished]
        assert all(call["ended_at"] and call["result"] for call in calls)
    assert {c["call_id"]: c["status"] for t in traces.values() for c in t["tool_calls"]} == {
        "toolu_f1": "refused", "toolu_f2": "refused", "toolu_f3": "denied", "toolu_f4": "done", "toolu_f5": "done",
        "toolu_c1": "done", "toolu_c2": "done", "toolu_c3": "done", "toolu_c4": "done",
        "toolu_m1": "done", "toolu_m2": "denied", "toolu_m3": "done",
    }  # fmt: skip
    steps, messages = await rows(context, RunStep), await rows(context, RunMessage)
    assert len(steps) == len(world.story.asked)
    assert len(await rows(context, ToolCall)) == sum(len(t["tool_calls"]) for t in traces.values())
    thoughts = [block["signature"] for m in messages for block in m.blocks or () if block.get("type") == "thinking"]
    answered = [b for asked in world.story.asked for b in answer(asked).blocks]
    assert sorted(thoughts) == sorted(b["signature"] for b in answered if b["type"] == "thinking")


def _purpose(trace: dict[str, Any]) -> str:
    words = next(m["content"] for m in trace["messages"] if m["message_type"] == "user_message")
    return next(purpose for heading, purpose in PURPOSES.items() if words.startswith(heading))
