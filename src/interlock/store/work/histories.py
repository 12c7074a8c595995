"""Reads what was said about a task and the states it has been in, a page at a time; both are written in `tasks`."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import TaskMessage, TaskTransition, table
from interlock.store.tx import Tx

_TIME = UTCDateTime()


class _Pages:
    """The statements over one table of rows that belong to a task, in order of time."""

    def __init__(self, rows: sa.Table) -> None:
        of_task, placed = rows.c.task_id == b("task"), sa.tuple_(rows.c.created_at, rows.c.id)
        self.one = sa.select(rows.c.created_at, rows.c.id).where(of_task, rows.c.id == b("row"))
        self.newest = (
            sa.select(rows).where(of_task).order_by(rows.c.created_at.desc(), rows.c.id.desc()).limit(b("most"))
        )
        self.later = (
            sa.select(rows)
            .where(of_task, placed > sa.tuple_(b("at", type_=_TIME), b("row", type_=sa.String())))
            .order_by(rows.c.created_at, rows.c.id)
            .limit(b("most"))
        )


_THREADS, _CHANGES = _Pages(table(TaskMessage)), _Pages(table(TaskTransition))


def thread(tx: Tx, task_id: str, most: int, after: str | None = None) -> list[Any] | None:
    """The last messages of a task's thread, or the first after one of them; oldest first.

    None if the thread has no such message.
    """
    return _page(tx, _THREADS, task_id, most, after)


def transitions(tx: Tx, task_id: str, most: int, after: str | None = None) -> list[Any] | None:
    """The same of a task's transitions."""
    return _page(tx, _CHANGES, task_id, most, after)


def _page(tx: Tx, pages: _Pages, task_id: str, most: int, after: str | None) -> list[Any] | None:
    if after is None:
        return tx.rows(pages.newest, {"task": task_id, "most": most})[::-1]
    last = tx.one(pages.one, {"task": task_id, "row": after})
    if last is None:
        return None
    return tx.rows(pages.later, {"task": task_id, "at": last.created_at, "row": last.id, "most": most})
