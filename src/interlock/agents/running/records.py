"""A finished model call as the record that its transaction writes; what the call leads to is the runner's job."""

from collections.abc import Sequence
from datetime import datetime

from interlock.agents.history.conversation import lines_of
from interlock.agents.models.turn import Turn
from interlock.agents.running import calls
from interlock.agents.running.session import Session
from interlock.agents.running.steps import StepRecord
from interlock.core.ids import new_id
from interlock.tools.execute import CallStatus, Proposal


def step_of(session: Session, turn: Turn, proposals: Sequence[Proposal], now: datetime) -> StepRecord:
    """The step of a reply after which the run goes on, with its calls."""
    number, reply = session.claim.steps + 1, turn.reply
    return StepRecord(
        number=number,
        id=new_id("stp"),
        settlement=turn.settlement,
        stop_reason=str(reply.stop_reason),
        usage=reply.usage,
        total_usage=session.usage.plus(reply.usage),
        labels=sorted(session.labels),
        model=str(session.ref),
        attempts=turn.attempts,
        request_id=reply.request_id,
        lines=lines_of(reply.message),
        position=session.position,
        calls=[calls.row_of(session, p, number, now) for p in proposals],
        holds=[calls.hold_of(session, p) for p in proposals if p.status is CallStatus.HELD],
        begun=turn.begun,
    )
