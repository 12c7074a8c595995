"""What a new agent is told about the work of a lost agent on the same task, and what people are asked about it.

That an agent was lost is judged by the heartbeat in the oversight layer.
"""

from datetime import datetime
from typing import Any

from interlock.agents.prompts.quoting import one_line
from interlock.core.ids import new_id
from interlock.core.values import canonical_json, digest
from interlock.policy.secrets import scrub, scrub_value
from interlock.store.identities import principals
from interlock.store.mailboxes import lost_workers
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.tools.registry import Toolbox

LONGEST_ARGS, LONGEST_RESULT, MOST_CALLS = 400, 400, 60
ASKED_BY = "system:heartbeat"
UNKNOWN = "UNKNOWN_OUTCOME"
_TOLD = {"done": "done", "failed": "failed", "unknown": "uncertain"}


def ask_about_uncertain(
    tx: Tx, toolbox: Toolbox, run: Any, task: Any, expires_at: datetime, now: datetime
) -> list[str]:  # fmt: skip
    """Asks people about each call of a lost run that may or may not have had its effect; returns the questions' ids.

    Calls that can be repeated without harm need no question. Source: row E9.
    """
    asked = []
    for call in traces.calls(tx, run.id):
        tool = toolbox.get(call.tool)
        if call.status not in ("started", "unknown") or (tool is not None and tool.idempotent):
            continue
        asked.append(new_id("apr"))
        summary = (
            f"{call.tool} may or may not have had its effect, its agent was lost while it ran: "
            "approve to let the next agent do it again, deny to go on without"
        )
        approvals.ask(
            tx,
            id=asked[-1],
            kind=UNKNOWN,
            project_id=run.project_id,
            mission_id=task.mission_id,
            task_id=task.id,
            tool_call_id=call.id,
            subject=call.subject or digest([run.id, call.id]),
            request={
                "tool": call.tool, "args": scrub_value(call.args), "tool_digest": call.tool_digest, "files": {},
                "call_id": call.call_id, "summary": summary, "persona": task.persona, "task": task.title,
                "simulated": run.simulated,
            },
            risk=call.risk,
            rules=call.rules,
            reasons=call.reasons,
            asked_by=ASKED_BY,
            on_behalf_of=principals.of_call(tx, run.id, call.id) or principals.of_run(tx, run.id),
            created_at=now,
            expires_at=expires_at,
        )  # fmt: skip
    return asked


def earlier_work(tx: Tx, task: Any) -> tuple[str, ...]:
    """What the lost agents of a task did: a line for each call that had, or may have had, an effect."""
    calls = [call for run_id in lost_workers.of_task(tx, task.id) for call in traces.calls(tx, run_id)]
    notable = [call for call in calls if call.status in _TOLD]
    answers = _answers(tx, task) if any(call.status == "unknown" for call in notable) else {}
    lines = [_line(call, answers.get(call.id)) for call in notable[-MOST_CALLS:]]
    left_out = len(notable) - len(lines)
    return (*([f"{left_out} earlier calls are left out"] if left_out else []), *lines)


def _answers(tx: Tx, task: Any) -> dict[str, Any]:
    return {row.tool_call_id: row for row in approvals.about_calls(tx, task.id, UNKNOWN)}


def _line(call: Any, answer: Any | None) -> str:
    args = one_line(scrub(canonical_json(call.args)), limit=LONGEST_ARGS)
    result = one_line(scrub(call.result or ""), limit=LONGEST_RESULT)
    if call.status != "unknown":
        return f"{_TOLD[call.status]}: {call.tool} {args}" + (f" -> {result}" if result else "")
    return f"uncertain: {call.tool} {args}: it may have happened; {_verdict(answer)}"


def _verdict(answer: Any | None) -> str:
    if answer is None:
        return "it can be repeated without harm"
    note = f": {one_line(answer.note)}" if answer.note else ""
    if answer.status in ("approved", "used"):
        return f"a person decided that it is to be done again{note}"
    return f"a person decided that it is not to be done again{note}"
