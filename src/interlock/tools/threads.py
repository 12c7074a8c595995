"""Runs functions in threads of their own, for tools that are plain functions.

The event loop's threads are few and shared: tools that hang would take them from everything else in this process.
"""

import asyncio
import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

Call = Callable[[], object]
KEPT = 16
"""How many idle threads are kept, since starting one takes longer than most calls."""
_idle: "deque[SimpleQueue[Call]]" = deque()
os.register_at_fork(after_in_child=_idle.clear)


async def in_a_thread(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`fn(…)` in a daemon thread that runs nothing else meanwhile, with the context variables of the caller.

    If the wait is cancelled, a function that has not begun never does, so that nothing begins after a stop; one that
    has continues unheard, and does not keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    call = partial(contextvars.copy_context().run, fn, *args, **kwargs)
    try:
        calls = _idle.pop()
    except IndexError:
        calls = SimpleQueue()
        threading.Thread(target=_work, args=(calls,), name="tool", daemon=True).start()
    calls.put(partial(_perform, call, loop, done))
    return await done


def _work(calls: "SimpleQueue[Call]") -> None:
    while True:
        calls.get()()
        if len(_idle) >= KEPT:
            return
        _idle.append(calls)


def _perform(call: Call, loop: asyncio.AbstractEventLoop, done: "asyncio.Future[Any]") -> None:
    if done.cancelled():
        return
    result, error = None, None
    try:
        result = call()
    except BaseException as raised:  # noqa: BLE001 (handed to whoever waits for it)
        error = RuntimeError(f"StopIteration: {raised}") if isinstance(raised, StopIteration) else raised
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, done, result, error)


def _settle(done: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)
