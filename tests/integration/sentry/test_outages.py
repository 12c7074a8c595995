"""A Sentry that is dead, silent, refuses, or breaks inside: runs go as they would without it."""

import asyncio
import socket
from pathlib import Path
from time import monotonic

import pytest
from pydantic import SecretStr

from interlock.core.errors import ConfigError
from interlock.core.telemetry import Fact
from interlock.integrations.sentry.telemetry import CLOSE_S, Sentry
from interlock.settings.services import SentrySettings
from interlock.testing.scripted import ScriptedModel, calls
from tests.integration.sentry.receiver import Receiver, receiving
from tests.integration.sentry.scene import played, sentry_for

SLACK_S = 8.0
"""For threads on a busy machine."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def _runs(home: Path, receiver: Receiver, count: int = 5) -> float:
    """Works some runs, closes, and returns how long closing took."""
    model = ScriptedModel(otherwise=lambda request: calls("lookup", order="1") if len(request.messages) < 2 else "done")
    sentry = sentry_for(receiver)
    async with played(home, model, sentry) as stage:
        runs = [await stage.think(name=str(number)) for number in range(count)]
        await stage.work()
        assert {await stage.ended(run) for run in runs} == {("completed", "end_turn")}
        begun = monotonic()
        await asyncio.to_thread(sentry.close)
        return monotonic() - begun


async def test_dead_sentry_changes_nothing(tmp_path: Path) -> None:
    receiver = Receiver()
    receiver.port = free_port()
    assert await _runs(tmp_path, receiver) < CLOSE_S + SLACK_S


async def test_sentry_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    with receiving(answers=False) as receiver:
        assert await _runs(tmp_path, receiver) < CLOSE_S + SLACK_S
        assert receiver.asked.is_set()
        assert receiver.bodies == []


@pytest.mark.parametrize("status", [400, 413, 429, 500])
async def test_sentry_that_refuses_changes_nothing(tmp_path: Path, status: int) -> None:
    with receiving(status=status) as receiver:
        await _runs(tmp_path, receiver)
        assert receiver.asked.is_set()


async def test_what_cannot_be_told_is_left_out(tmp_path: Path) -> None:
    """Fields that nobody foresaw, and facts that are not whole, reach neither the run nor Sentry."""

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("not to be shown")

    with receiving() as receiver:
        sentry = sentry_for(receiver)
        async with played(tmp_path, ScriptedModel("done"), sentry) as stage:
            with sentry.span("step", step=Odd(), unheard="canary") as span:  # type: ignore[arg-type]
                span.tell(status=Odd(), more="canary")  # type: ignore[arg-type]
                sentry.count("unheard of")
                sentry.committed([Fact("run_posted", {}), Fact("call_decided", {}), Fact("unheard", {"a": 1})], 0.1)
            run = await stage.think()
            await stage.work()
            assert await stage.ended(run) == ("completed", "end_turn")
    assert len(receiver.spans.of("gen_ai.invoke_agent")) == 1
    assert "canary" not in receiver.everything


async def test_after_closing_nothing_is_told_and_nothing_fails(tmp_path: Path) -> None:
    with receiving() as receiver:
        sentry = sentry_for(receiver)
        sentry.close()
        async with played(tmp_path, ScriptedModel("done"), sentry) as stage:
            run = await stage.think()
            await stage.work()
            assert await stage.ended(run) == ("completed", "end_turn")
        assert receiver.items("span") == []


async def test_error_of_the_run_is_not_swallowed(tmp_path: Path) -> None:
    with receiving() as receiver:
        sentry = sentry_for(receiver)
        with pytest.raises(ZeroDivisionError), sentry.span("step"):
            raise ZeroDivisionError
        with pytest.raises(asyncio.CancelledError), sentry.span("model"):
            raise asyncio.CancelledError
        sentry.close()
    statuses = {span["name"]: span["status"] for span in receiver.items("span")}
    assert statuses == {"step": "error", "chat": "ok"}


@pytest.mark.parametrize("dsn", ["nonsense", "http://127.0.0.1/1", "http://key@127.0.0.1/name", "http://key@h:x/1"])
def test_what_is_no_dsn_is_said_without_showing_it(dsn: str) -> None:
    with pytest.raises(ConfigError) as told:
        Sentry(SentrySettings(dsn=SecretStr(dsn)))
    assert "sentry.dsn" in str(told.value)
    assert dsn not in str(told.value)
