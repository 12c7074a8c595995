"""`interlock chat`: one message, one through a pipe, and a conversation on a terminal; nothing is lost by Ctrl-C."""

import asyncio
import contextlib
import os
import pty
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, Scripted, text
from tests import processes
from tests.e2e.home import LOOK_S, Home

MAIL = {"to": ["board@example.com"], "subject": "Plan", "body": "The plan."}


@pytest.fixture
def answers() -> list[Scripted]:
    """What the model says, in order."""
    return []


@pytest.fixture
async def api(answers: list[Scripted]) -> AsyncIterator[MessagesApi]:
    async with MessagesApi(lambda _, number: answers[number - 1]) as found:
        yield found


@pytest.fixture
async def home(tmp_path: Path, api: MessagesApi) -> AsyncIterator[Home]:
    found = Home(
        tmp_path / "work", ANTHROPIC_API_KEY="local", ANTHROPIC_BASE_URL=api.base_url,
        INTERLOCK_MODEL="anthropic/claude-sonnet-5-5",
    )  # fmt: skip
    yield found
    await found.close()


def says(words: str, **more: Any) -> Answer:
    """The model speaks."""
    return Answer([text(words)], **more)


def mails() -> Answer:
    """The model wants to send a letter."""
    return Answer([{"type": "tool_use", "id": "toolu_1", "name": "send_email", "input": MAIL}])


class Terminal:
    """A process on a terminal of its own, what it shows, and what somebody types there."""

    def __init__(self, home: Home, *args: str) -> None:
        self._controller, inside = pty.openpty()
        os.set_blocking(self._controller, False)
        with os.fdopen(inside, "r+b", buffering=0) as standard:
            self.process = processes.start(
                ("-m", "interlock.cli", *args), folder=home.folder, environment={**home.env, "TERM": "dumb"},
                stdin=standard, stdout=standard, stderr=standard,
            )  # fmt: skip
        self.shown = ""

    def type(self, text: str) -> None:
        """Types something."""
        os.write(self._controller, text.encode())

    async def until(self, words: str) -> None:
        """Waits until it shows these words after what was waited for before."""
        async with asyncio.timeout(60):
            while words not in self.shown:
                with contextlib.suppress(BlockingIOError, OSError):
                    self.shown += os.read(self._controller, 65_536).decode("utf-8", "replace")
                await asyncio.sleep(LOOK_S)
        self.shown = self.shown.partition(words)[2]


async def test_a_message_is_answered_on_the_terminal_and_as_json(
    home: Home, api: MessagesApi, answers: list[Scripted]
) -> None:
    answers += [says("Three vendors."), says("Still three."), Answer([])]
    said = await home.run("chat", "research", "What did you find?")
    assert (said.code, said.out, said.err) == (0, "Three vendors.\n", "")
    again = (await home.run("chat", "research", "Sure?", "--json")).json
    assert (again["response"], again["stop_reason"]) == ("Still three.", "end_turn")
    assert "Three vendors." in str(api.requests[1].body)
    silent = await home.run("chat", "research", "And now?")
    assert (silent.code, silent.out) == (0, "")
    assert "has nothing to say" in silent.err


async def test_a_held_call_waits_for_a_person_and_the_command_says_how_to_answer(
    home: Home, api: MessagesApi, answers: list[Scripted]
) -> None:
    answers.append(mails())
    held = await home.run("chat", "operations", "Mail the plan to the board")
    assert held.code == 3
    assert "waits for a person: `interlock approve apr_" in held.err


async def test_a_conversation_goes_on_until_the_end_of_the_input(
    home: Home, api: MessagesApi, answers: list[Scripted]
) -> None:
    answers += [says("Hello Ann."), mails(), says("Then I will not.")]
    talk = Terminal(home, "chat", "operations")
    await talk.until("> ")
    talk.type("I am Ann\n")
    await talk.until("Hello Ann.")
    await talk.until("> ")
    talk.type("/reset\n")
    await talk.until("begins anew")
    await talk.until("> ")
    talk.type("Mail the plan to the board\n")
    await talk.until("board@example.com")
    await talk.until("> ")
    talk.type("d\n")
    await talk.until("reason > ")
    talk.type("not today\n")
    await talk.until("Then I will not.")
    await talk.until("> ")
    talk.type("\x04")
    assert await asyncio.wait_for(talk.process.ended(), 60) == 0
    assert "not today" in str(api.requests[-1].body)
    assert "I am Ann" not in str(api.requests[-1].body)


async def test_lines_that_were_there_before_a_question_do_not_answer_it(
    home: Home, api: MessagesApi, answers: list[Scripted]
) -> None:
    answers += [mails(), says("Then I will not.")]
    talk = Terminal(home, "chat", "operations")
    await talk.until("> ")
    talk.type("Mail the plan to the board\na\napprove\n")
    await talk.until("[s]kip > ")
    talk.type("d\n")
    await talk.until("reason > ")
    talk.type("not today\n")
    await talk.until("Then I will not.")
    await talk.until("> ")
    talk.type("/exit\n")
    assert await asyncio.wait_for(talk.process.ended(), 60) == 0
    assert "not today" in str(api.requests[-1].body)


async def test_ctrl_c_stops_an_answer_and_the_conversation_goes_on(
    home: Home, api: MessagesApi, answers: list[Scripted]
) -> None:
    answers += [says("one two three four", pause_s=5.0), says("Fine.")]
    talk = Terminal(home, "chat", "research")
    await talk.until("> ")
    talk.type("Count\n")
    async with asyncio.timeout(60):
        while not api.requests:
            await asyncio.sleep(LOOK_S)
    talk.process.send_signal(signal.SIGINT)
    await talk.until("did not finish (cancelled)")
    await talk.until("> ")
    talk.type("Are you there?\n")
    await talk.until("Fine.")
    talk.type("/exit\n")
    assert await asyncio.wait_for(talk.process.ended(), 60) == 0
