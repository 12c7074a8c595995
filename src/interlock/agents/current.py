"""Which run the present task is at work on, so that what would wait for itself is refused; nothing about the run."""

from contextvars import ContextVar

RUN: ContextVar[str | None] = ContextVar("interlock_run", default=None)
"""Its id; None outside of runs. Set by the worker; tasks and threads that a run starts are in it too."""
