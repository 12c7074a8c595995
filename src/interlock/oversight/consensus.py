"""Concludes votes that would stay open: lost runs, models that take too long, questions that nobody waits for.

What is asked, and how votes are recorded, is in `agents.special.voting`. Source: rows A10, C8.
"""

from datetime import datetime, timedelta
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.agents.special import voting
from interlock.core.values import ENDED_RUNS
from interlock.policy.ballots import LOST
from interlock.store.mailboxes import leases, mailbox
from interlock.store.runs import traces
from interlock.store.signoff import approvals, consulting, votes
from interlock.store.signoff.approvals import CONSULTING
from interlock.store.tx import Tx

LONGEST_S = 600.0
"""A vote that takes longer is lost: people are asked without it."""
ENOUGH_S = 120.0
"""How long to wait for the third vote once two agree."""


async def sweep(runtime: Runtime) -> str | None:
    """Ends every vote that nothing else would end; returns a summary. Reads first, and writes only if necessary."""
    now, store = runtime.clock.now(), runtime.store
    done = []
    for vote in await store.read(votes.out):
        late = now - vote.created_at >= timedelta(seconds=LONGEST_S)
        if vote.status is None or vote.status in ENDED_RUNS or late or not await store.read(_is_awaited, vote.about):
            done.append(await store.write(_lose, vote.id, vote.about, vote.run_id, now))
    for about, since in await store.read(_unsettled):
        early = now - since >= timedelta(seconds=ENOUGH_S)
        if await store.write(_conclude, about, now, early):
            done.append(f"{about} is decided")
    return "; ".join(each for each in done if each) or None


def _is_awaited(tx: Tx, about: str) -> bool:
    """Whether a vote still matters. Votes on disputes always do: they are kept for the record."""
    kind, _, rest = about.partition(":")
    if kind != "approval":
        return True
    row = approvals.approval(tx, rest)
    return row is not None and row.status == CONSULTING


def _lose(tx: Tx, vote_id: str, about: str, run_id: str | None, now: datetime) -> str | None:
    """Ends a vote: by the result of its run if that has ended, else as lost.

    Locks the lane before the votes, in the same order as a run that ends.
    """
    if run_id is not None:
        mailbox.lock(tx, run_id)
    seats = votes.lock(tx, about)
    vote = next((each for each in seats if each.id == vote_id and each.verdict is None), None)
    run = traces.run(tx, run_id) if run_id else None
    if vote is None:
        return None
    if run is not None and run.status in ENDED_RUNS:
        voting.ended(tx, run, run.status, run.result, now)
        return f"vote {vote.seat} on {about} is taken up"
    votes.give(tx, vote.id, LOST, "no answer in time", run.cost_microusd if run is not None else 0, now)
    if run is not None:
        leases.cancel(tx, run.id, now, "nobody waits for this vote any more")
    voting.conclude(tx, about, now)
    return f"vote {vote.seat} on {about} is lost"


def _unsettled(tx: Tx) -> list[tuple[str, datetime]]:
    """The held calls that are still being voted on, and since when."""
    return [(votes.of_approval(row.id), row.created_at) for row in consulting.consulted(tx)]


def _conclude(tx: Tx, about: str, now: datetime, early: bool) -> Any:
    """Decides if the votes suffice; a question without votes goes to people at once."""
    if not votes.lock(tx, about):
        ident = about.partition(":")[2]
        return consulting.release(tx, ident, now, ["the models could not be asked"]) is not None
    return voting.conclude(tx, about, now, early=early)
