"""What a person allowed and nobody has used yet, taken back when they lose the right to allow it.

Who loses which role is the desk's to say; what a call does without its approval is decided where it is executed.
"""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.schema import Approval, ApprovalAnswer, table
from interlock.store.signoff import approvals, grants
from interlock.store.tx import Tx

APPROVALS, ANSWERS = table(Approval), table(ApprovalAnswer)
_a, _an = APPROVALS.c, ANSWERS.c
_UNUSED = (
    sa.select(_a.id, _a.run_id, _a.project_id, _a.mission_id, _a.task_id)
    .where(
        _a.status == "approved",
        _a.kind.in_(("TOOL_CALL", "UNKNOWN_OUTCOME")),
        sa.exists().where(_an.approval_id == _a.id, _an.person_id == b("who"), _an.verdict == "approve"),
    )
    .order_by(_a.run_id, _a.id)
)
"""Yeses to calls that have not started. Any other yes took effect as it was given."""


def take_back(tx: Tx, person_id: str, role: str, actor: Actor, now: datetime) -> None:
    """Ends the grants that a person gave and voids their unused approvals, unless `role` still lets them answer.

    A call that waited to start by one of them is decided anew, and asked about again.
    """
    if role in approvals.ROLES_THAT_ANSWER:
        return
    for grant_id in grants.given_by(tx, person_id, now):
        grants.revoke(tx, grant_id, actor, now, reason=f"who gave it has the role {role} now")
    for row in tx.rows(_UNUSED, {"who": person_id}):
        if row.run_id is not None:
            mailbox.lock(tx, row.run_id)
        approvals.void(tx, row.id, f"who approved it has the role {role} now")
        audit.note(
            tx, "APPROVAL_WITHDRAWN", actor, now, project_id=row.project_id, mission_id=row.mission_id,
            task_id=row.task_id, run_id=row.run_id, subject=row.id, approved_by=person_id,
        )  # fmt: skip
