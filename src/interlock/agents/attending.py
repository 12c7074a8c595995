"""Waits for the calls of a step while they are made; a step may wait with them, off the record, for a moment.

What the calls are and what comes of them is the matter of `calls`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from interlock.agents.session import Session
from interlock.policy.risk import Risk
from interlock.tools.execute import CallStatus, Proposal

GRACE_S = 3.0
"""How long a call that runs when the process is told to end may take to end by itself."""
CANCEL_S = 1.0
"""How long it may take once it is cancelled."""
LOOK_S = 0.005
"""How long a reply is kept off the record for a call that changes nothing."""


def only_look(proposals: Sequence[Proposal]) -> bool:
    """Whether no call of a turn changes, sends or asks anything: what they answer is recorded with the turn itself.

    Source: row E9.
    """
    return bool(proposals) and all(_only_looks(one) for one in proposals)


def _only_looks(proposal: Proposal) -> bool:
    tool, decision = proposal.tool, proposal.decision
    is_free = proposal.status is CallStatus.READY and decision is not None and decision.risk is Risk.GREEN
    return is_free and tool is not None and tool.read_only and not tool.outside


async def until_ended(session: Session, jobs: Sequence[asyncio.Task[Any]]) -> None:
    """Waits for calls. When one fails or the waiter is cancelled, no call goes on behind the run's back.

    They get a moment to end by themselves, unless a person wants the run stopped. A step that is not on record is
    put there while they go on, where they do not answer at once.
    """
    first = asyncio.FIRST_EXCEPTION
    try:
        await asyncio.sleep(0)  # by then what waits for nothing has ended
        if session.unwritten is not None and not _are_done(jobs):
            await asyncio.wait(jobs, timeout=LOOK_S, return_when=first)
            if not _are_done(jobs):
                await session.catch_up()
        if not _are_done(jobs):
            await asyncio.wait(jobs, return_when=first)
    except asyncio.CancelledError:
        reason = session.interrupt.reason
        if jobs:
            await asyncio.wait(jobs, timeout=0 if reason and reason.is_at_once else GRACE_S)
        raise
    finally:
        late = [job for job in jobs if not job.done()]
        for job in late:
            job.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_S)


def _are_done(jobs: Sequence[asyncio.Task[Any]]) -> bool:
    return all(job.done() for job in jobs)
