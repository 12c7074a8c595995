"""Errors for answers that come too late: already answered, expired, or for arguments that were edited since.

Whether an answer is valid is decided in `approvals`.
"""

from typing import Any

from interlock.core.errors import Conflict


class Changed(Conflict):
    """The question's arguments were edited after the approver last saw them."""

    def __init__(self, approval_id: str) -> None:
        self.approval_id = approval_id
        super().__init__(
            f"somebody changed the arguments of `{approval_id}` since it was asked: look at it as it is now with"
            f" `interlock approvals {approval_id}`, which says how to approve that"
        )


class AlreadyAnswered(Conflict):
    """Somebody else has answered the question first."""

    def __init__(self, row: Any, name: str | None) -> None:
        self.approval_id, self.status, self.by = row.id, row.status, row.decided_by
        super().__init__(f"approval `{row.id}` {_became(row, name)}")


def _became(row: Any, name: str | None) -> str:
    """How the question ended, and what can be done instead."""
    if row.status == "void":
        return f"is no longer asked: {row.note or 'what it was about is over'}"
    if row.status == "expired":
        return expired(row)
    when = f" at {row.answered_at:%Y-%m-%d %H:%M:%S} UTC" if row.answered_at else ""
    return f"was already {'approved' if row.status == 'used' else row.status}{f' by {name}' if name else ''}{when}"


def expired(row: Any) -> str:
    """The error for an answer to an expired question, with the next step."""
    then = f"`interlock task {row.task_id}` shows what waits now" if row.task_id else "ask its agent again"
    return f"expired at {row.expires_at:%Y-%m-%d %H:%M} UTC without an answer: {then}"
