"""Decides calls with arguments that a person edited, at the time of the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.core.errors import Refused, UsageError
from interlock.policy.binding import subject_hash
from interlock.policy.calls import Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from interlock.store import squad
from interlock.store.runs import traces
from interlock.store.signoff.approvals import Edit
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.tools.definitions import rebuilt_call
from interlock.tools.schema import ArgumentCheck
from interlock.tools.secrets import Vault, Who


@dataclass(frozen=True, slots=True)
class Judge:
    """The policy for edited calls, and the secrets that they may be given."""

    policy: Policy
    people_for_red: int
    vault: Vault

    def edit(self, tx: Tx, row: Any, args: Mapping[str, Any]) -> Edit:
        """Decides a question's call with a person's arguments under the current policy. Source: rows C4, C9.

        Raises UsageError if there is no call, or the arguments do not match its schema; Refused if the policy
        denies them, or they name a secret that the call cannot be given.
        """
        asked, given = row.request, dict(args)
        if row.kind != "TOOL_CALL" or row.run_id is None:
            raise UsageError(
                f"approval `{row.id}` is a {row.kind} question without arguments to edit: answer without them"
            )
        if (definition := asked.get("definition")) is None:
            raise Refused(f"approval `{row.id}` was asked by an earlier version: deny it, or approve it as it stands")
        if errors := ArgumentCheck(asked["tool"], definition["input_schema"]).errors(given):
            raise UsageError(f"the arguments do not fit `{asked['tool']}`: {'; '.join(errors)}")
        caller = caller_of(tx, row)
        who = Who(asked["tool"], caller.persona)
        if (problem := self.vault.refusal(who, given)) is not None:
            raise Refused(problem)
        may_use = self.vault.may_use(who, given)
        call = rebuilt_call(asked["tool"], asked["tool_digest"], definition, given, may_use)
        decision = decide(call, caller, self.policy, people_for_red=self.people_for_red)
        if decision.effect is Effect.DENY:
            why = "; ".join(decision.reasons[1:]) or "; ".join(decision.reasons)
            raise Refused(f"the policy denies these arguments ({', '.join(decision.rules)}): {why}")
        return Edit(
            args=given,
            subject=subject_hash(
                row.run_id, asked["call_id"], asked["tool_digest"], given, asked.get("files") or {}
            ),
            risk=str(decision.risk),
            rules=decision.rules,
            reasons=decision.reasons,
            people=decision.people,
            not_requester=decision.not_requester,
            asks_anew=decision.risk > Risk(row.risk),
        )  # fmt: skip


def caller_of(tx: Tx, row: Any) -> Caller:
    """The caller on whose behalf a question's call is made, from the rows of its run."""
    run: Any = traces.run(tx, row.run_id)
    agent: Any = squad.agent(tx, run.agent_id)
    member: Any = squad.member(tx, agent.member_id)
    about = run.task_id or run.mission_id
    task = tasks.task(tx, about) if about else None
    return Caller(
        agent_name=agent.id,
        persona=agent.persona,
        trust=Trust(member.trust),
        project=run.project_id,
        task_type=task.type if task else None,
        cost_usd=run.cost_microusd / 1_000_000,
        labels=frozenset(run.labels),
        task_id=task.id if task else None,
    )
