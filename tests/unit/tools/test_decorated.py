"""`@tool` on users' functions."""

import asyncio
import sys
import threading
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from interlock.core.errors import UsageError
from interlock.tools.registry import Outcome, Toolbox, ToolContext, ToolError, tool, tool_of
from tests import processes
from tests.tool_calls import context

MORE_THAN_A_LOOP_HAS = 40
"""Threads."""


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Line(BaseModel):
    sku: str
    amount: int = Field(ge=1)


@tool(risk="YELLOW", idempotent=True)
async def lookup_order(order_id: str) -> dict[str, str]:
    """Finds an order
    by its number.

    What follows is for programmers.
    """
    return {"order": order_id}


async def test_decorated_function_can_still_be_called() -> None:
    assert await lookup_order("A1") == {"order": "A1"}


def test_tool_is_made_from_name_docstring_and_hints() -> None:
    made = tool_of(lookup_order)
    assert (made.name, made.description, made.risk, made.idempotent) == (
        "lookup_order", "Finds an order by its number.", "YELLOW", True,
    )  # fmt: skip
    assert made.input_schema == {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    }


async def test_return_value_reaches_the_model_as_json(tmp_path: Path) -> None:
    outcome = await tool_of(lookup_order).call(context(tmp_path), {"order_id": "Ä1"})
    assert outcome == Outcome('{"order":"Ä1"}')


def test_bare_decorator_leaves_the_risk_to_policy() -> None:
    @tool
    def plain(x: int) -> str:
        """Says x."""
        return str(x)

    assert tool_of(plain).risk is None
    assert plain(3) == "3"


async def test_annotations_defaults_and_models_become_schema_and_values(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    @tool(name="order")
    async def function(
        lines: Annotated[list[Line], Field(description="What to order.", min_length=1)],
        size: Size,
        speed: Literal["slow", "fast"] = "slow",
        copy: bool = False,
        due: date | None = None,
    ) -> None:
        """Orders."""
        seen.update(lines=lines, size=size, speed=speed, copy=copy, due=due)

    made = tool_of(function)
    assert made.input_schema["properties"]["lines"]["description"] == "What to order."
    assert made.input_schema["required"] == ["lines", "size"]
    args = {"lines": [{"sku": "a", "amount": 2}], "size": "large", "due": "2026-05-01"}
    assert Toolbox([function]).validate(made, args) == []
    assert await made.call(context(tmp_path), args) == Outcome("done")
    assert seen == {
        "lines": [Line(sku="a", amount=2)], "size": Size.LARGE, "speed": "slow", "copy": False,
        "due": date(2026, 5, 1),
    }  # fmt: skip


async def test_context_is_filled_in_and_not_shown(tmp_path: Path) -> None:
    @tool
    async def who(ctx: ToolContext, greeting: str = "hi") -> str:
        """Says who calls."""
        return f"{greeting} {ctx.persona}"

    assert list(tool_of(who).input_schema["properties"]) == ["greeting"]
    assert (await tool_of(who).call(context(tmp_path), {})).content == "hi coder"


async def test_context_that_a_tool_prints_says_whose_call_it_is_and_nothing_that_was_lent(tmp_path: Path) -> None:
    @tool
    async def shown(ctx: ToolContext) -> str:
        """Prints what it was given."""
        return f"{ctx}"

    lent = context(tmp_path, secrets=partial("{}{}".format, "s3cret-"))
    assert (await tool_of(shown).call(lent, {})).content == "<ToolContext tcl_1 of run_1>"


async def test_plain_function_runs_in_a_thread(tmp_path: Path) -> None:
    @tool
    def where() -> str:
        """Says where it runs."""
        return threading.current_thread().name

    outcome = await tool_of(where).call(context(tmp_path), {})
    assert outcome.content != threading.current_thread().name


async def test_plain_function_that_is_stopped_before_it_begins_never_does(tmp_path: Path) -> None:
    begun: list[int] = []

    @tool
    def act() -> str:
        """Does something."""
        begun.append(1)
        return "done"

    await tool_of(act).call(context(tmp_path), {})
    usual = sys.getswitchinterval()
    sys.setswitchinterval(60)  # the thread gets its turn only when this one waits
    try:
        stopped = asyncio.create_task(tool_of(act).call(context(tmp_path), {}))
        await asyncio.sleep(0)
        stopped.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
    finally:
        sys.setswitchinterval(usual)
    await tool_of(act).call(context(tmp_path), {})
    assert begun == [1, 1]


async def test_plain_functions_that_hang_take_no_thread_from_others(tmp_path: Path) -> None:
    goes_on = threading.Event()

    @tool
    def hang() -> str:
        """Waits for a service that does not answer."""
        goes_on.wait()
        return "answered"

    hanging = [asyncio.create_task(tool_of(hang).call(context(tmp_path), {})) for _ in range(MORE_THAN_A_LOOP_HAS)]
    try:
        await asyncio.sleep(0)
        async with asyncio.timeout(30):
            assert await asyncio.to_thread(lambda: "free") == "free"
    finally:
        goes_on.set()
    assert {outcome.content for outcome in await asyncio.gather(*hanging)} == {"answered"}


async def test_plain_function_that_takes_from_what_is_empty_fails_at_once(tmp_path: Path) -> None:
    @tool
    def first() -> str:
        """Takes the first of none."""
        return next(iter(()))

    async with asyncio.timeout(30):
        with pytest.raises(RuntimeError, match="StopIteration"):
            await tool_of(first).call(context(tmp_path), {})


HANGS_AT_THE_END = """
import asyncio, sys, threading
from pathlib import Path
from interlock.tools.registry import tool, tool_of
from tests.tool_calls import context

async def main():
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool
    def hang() -> str:
        "Waits for a service that does not answer."
        loop.call_soon_threadsafe(begun.set)
        threading.Event().wait()

    calling = asyncio.create_task(tool_of(hang).call(context(Path(sys.argv[1])), {}))
    await begun.wait()
    calling.cancel()

asyncio.run(main())
"""


async def test_plain_function_that_hangs_does_not_keep_its_process_from_ending(tmp_path: Path) -> None:
    command = ("-c", HANGS_AT_THE_END, str(tmp_path))
    with processes.running(command, folder=tmp_path, environment={}) as process:
        async with asyncio.timeout(60):
            assert await process.ended() == 0


async def test_what_a_schema_cannot_say_is_checked_before_the_call(tmp_path: Path) -> None:
    called = False

    @tool
    async def on(day: date) -> None:
        """Does it on a day."""
        nonlocal called
        called = True

    with pytest.raises(ToolError, match="`day`"):
        await tool_of(on).call(context(tmp_path), {"day": "never"})
    assert not called


async def test_value_that_is_no_json_is_still_an_outcome(tmp_path: Path) -> None:
    @tool
    async def odd() -> object:
        """Returns something odd."""
        loop: list[Any] = [object()]
        loop.append(loop)
        return loop

    assert "object object" in (await tool_of(odd).call(context(tmp_path), {})).content


async def test_half_a_surrogate_in_a_result_is_replaced(tmp_path: Path) -> None:
    @tool
    async def half() -> str:
        """Returns half a character."""
        return "a\ud800b"

    assert (await tool_of(half).call(context(tmp_path), {})).content == "a?b"


async def test_cancelling_a_call_cancels_the_function(tmp_path: Path) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    @tool
    async def forever() -> None:
        """Waits."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(tool_of(forever).call(context(tmp_path), {}))
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert cancelled.is_set()


def _without_docstring(x: int) -> None: ...


def _without_hint(x) -> None:  # type: ignore[no-untyped-def]
    """Has no hint."""


def _with_stars(*names: str) -> None:
    """Takes any number."""


def _by_position(x: int, /) -> None:
    """Takes it by position."""


def _with_unknown_type(x: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Has a type that does not exist."""


def _with_thread(x: threading.Thread) -> None:
    """Has a type that no JSON can be."""


def _with_callable(x: Callable[[], None]) -> None:
    """Has a type that validates, but has no schema."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_without_docstring, "docstring"),
        (_without_hint, "parameter `x` of `_without_hint` needs a type hint"),
        (_with_stars, r"`\*names: str`"),
        (_by_position, "passed by name"),
        (_with_unknown_type, "cannot be read: name 'Nowhere'"),
        (_with_thread, "cannot become a schema"),
        (_with_callable, "cannot become a schema"),
    ],
)
def test_function_that_cannot_be_a_tool_is_refused_in_one_line(function: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tool(function)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": "BLUE"}, "BLUE"),
        ({"name": "no spaces"}, "no spaces"),
        ({"labels": frozenset({"secret"})}, "secret"),
        ({"timeout_s": 0}, "timeout"),
    ],
)
def test_option_that_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    def fine() -> None:
        """Is fine."""

    with pytest.raises(UsageError, match=message):
        tool(**options)(fine)


def test_unmarked_function_is_no_tool() -> None:
    with pytest.raises(UsageError, match="@tool"):
        Toolbox([_without_docstring])
