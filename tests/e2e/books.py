"""Waiting for a home's records, and what must hold of them at rest: money to the cent, nothing open, an intact file."""

import asyncio
import contextlib
import sqlite3
from collections import defaultdict
from typing import Any

import sqlalchemy as sa

from interlock.desk.context import DeskContext
from interlock.desk.reading.progress import Progress, progress
from interlock.desk.signoff import signing
from interlock.llm.messages import Usage
from interlock.store.schema import Account, LedgerEntry, Run, RunStep, ToolCall, table
from tests.e2e.home import LONGEST_S, LOOK_S
from tests.e2e.story import cost_of


async def rows(context: DeskContext, model: Any) -> list[Any]:
    """All rows of a table."""
    found: list[Any] = await context.store.read(lambda tx: tx.rows(sa.select(table(model))))
    return found


async def questions(context: DeskContext, least: int = 1) -> list[str]:
    """The ids of the open questions, once there are so many."""
    async with asyncio.timeout(LONGEST_S):
        while len(found := await signing.approvals(context)) < least:
            await asyncio.sleep(LOOK_S)
    return [card["id"] for card in found]


async def at_rest(context: DeskContext, mission_id: str) -> Progress:
    """How a mission stands once it is done and nothing of it is queued or at work."""
    async with asyncio.timeout(LONGEST_S):
        while (found := await progress(context, mission_id)).busy or found.status != "DONE":
            await asyncio.sleep(LOOK_S)
    return found


async def check_books(context: DeskContext, *, killed: bool = True) -> dict[str, int]:
    """Checks ledger, accounts, runs and steps against each other; returns micro-dollars, known and estimated.

    A settled reservation is what its step's usage costs by the price table, or, where the call was cut off, an
    estimate within the reservation: all of it where the process that made the call was killed.
    """
    lines = [line for line in await rows(context, LedgerEntry) if line.kind in ("reserve", "settle")]
    steps = {(s.run_id, s.step_number): s for s in await rows(context, RunStep)}
    reserved = {line.reservation_id: line for line in lines if line.kind == "reserve"}
    settled = {line.reservation_id: line for line in lines if line.kind == "settle"}
    assert len(reserved) + len(settled) == len(lines)
    assert reserved.keys() == settled.keys()
    known, estimated = 0, 0
    for ident, line in settled.items():
        if line.estimated:
            assert 0 < line.amount_microusd <= reserved[ident].amount_microusd
            assert line.amount_microusd == reserved[ident].amount_microusd or not killed
            estimated += line.amount_microusd
        elif line.amount_microusd:
            assert line.amount_microusd == _cost_of(steps.pop((line.run_id, line.step_number)))
            known += line.amount_microusd
    assert not steps
    await _check_sums(context, list(settled.values()))
    return {"known": known, "estimated": estimated}


def _cost_of(step: Any) -> int:
    usage = Usage(**step.token_usage)
    cost = cost_of(
        {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_write_5m_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
        }
    )
    assert step.cost_microusd == cost
    return cost


async def _check_sums(context: DeskContext, settled: list[Any]) -> None:
    by_account: dict[str, int] = defaultdict(int)
    by_run: dict[str, int] = defaultdict(int)
    for line in settled:
        by_run[line.run_id] += line.amount_microusd
        for account in line.accounts:
            by_account[account] += line.amount_microusd
    for account in await rows(context, Account):
        assert (account.reserved_microusd, account.settled_microusd) == (0, by_account[account.id])
        assert account.settled_microusd <= account.limit_microusd
    for run in await rows(context, Run):
        assert run.cost_microusd == by_run[run.id]


async def check_rest(context: DeskContext) -> None:
    """Nothing is running or half done, and an SQLite file is intact."""
    left = [(run.kind, run.status, run.error) for run in await rows(context, Run) if run.status != "completed"]
    assert not left, left
    assert {call.status for call in await rows(context, ToolCall)} <= {"done", "denied", "refused", "failed"}
    if context.settings.is_embedded:
        with contextlib.closing(sqlite3.connect(context.settings.database_url.removeprefix("sqlite:///"))) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
