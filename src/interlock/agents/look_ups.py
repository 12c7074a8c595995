"""The one transaction of a step whose calls only looked something up: nothing but answers came of them.

Which steps these are, and how long they are waited for, is the matter of `attending`.
"""

from datetime import datetime

from interlock.agents import circles, conversation
from interlock.agents.steps import Reservation, Results, StepRecord, book, set_aside, write_trace
from interlock.store import ledger, mailbox
from interlock.store.ledger import Spender
from interlock.store.mailbox import Claim
from interlock.store.tx import Tx


def commit_look(
    tx: Tx,
    claim: Claim,
    spender: Spender,
    step: StepRecord,
    results: Results,
    reserve: Reservation | None,
    now: datetime,
) -> bool:
    """Transactions A and B of a step of which nothing but answers came, as one; fenced as A is.

    False where these results made the task a loop, as `commit_results`.
    """
    step = step.answered(results, now)
    mailbox.own(tx, claim, step.progress, steps=step.number)
    told = conversation.rows_of(claim.run.id, results.position, results.lines, now)
    write_trace(tx, claim, step, now, told)
    goes_on = results.loops is None or not circles.closed(tx, claim, results.done, results.loops, now)
    settlement = step.settlement
    if reserve is None or not goes_on or settlement.actual_microusd > settlement.reservation.worst_microusd:
        book(tx, spender, settlement, now)
        if reserve is not None and goes_on:
            set_aside(tx, spender, reserve, now)
        return goes_on
    ledger.roll(
        tx, spender, settlement.reservation, settlement.actual_microusd, reserve, now, estimated=settlement.estimated
    )  # fmt: skip
    return True
