"""Whether what came of a step's calls makes its task a loop; the rules and what follows are the store's `loops`'."""

from collections.abc import Sequence
from datetime import datetime

from interlock.policy.loops import Limits
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.messages import agent_mail
from interlock.store.tx import Tx
from interlock.store.work import loops, tasks
from interlock.tools.execute import CallStatus, Done


def closed(tx: Tx, claim: Claim, done: Sequence[Done], limits: Limits, now: datetime) -> bool:
    """Whether these recorded outcomes complete a loop; then the task is blocked and its run cancelled.

    Only failures, words in the task's thread and messages to other agents are looked at; nothing is read where there
    are none. Source: row I1.
    """
    task_id = claim.run.task_id
    if task_id is None or claim.run.kind != "task":
        return False
    rules = {"failed_calls"} if any(one.status is CallStatus.FAILED for one in done) else set()
    if any(unit is tasks.add_message for one in done for unit, _, _ in one.writes):
        rules |= {"comments", "messages"}
    if any(unit is agent_mail.send for one in done for unit, _, _ in one.writes):
        rules.add("messages")
    return bool(rules) and loops.check(tx, task_id, limits, now, rules=rules, states=loops.AT_WORK) is not None
