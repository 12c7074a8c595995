"""The run that the current asyncio task executes, so that waiting for oneself can be refused."""

from contextvars import ContextVar

RUN: ContextVar[str | None] = ContextVar("interlock_run", default=None)
"""Its id; None outside of runs. Set by the worker; tasks and threads that a run starts are in it too."""
