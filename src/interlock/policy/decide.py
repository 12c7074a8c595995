"""The decision over a call: its risk, and whether it runs, waits for a person, or never runs. Pure and total.

Nothing is asked, stored or executed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.policy import meaning, taint
from interlock.policy.arguments import Inspection, inspect
from interlock.policy.binding import same
from interlock.policy.builtin import BASE
from interlock.policy.calls import ApprovedBinding, Call, Caller, Decision, Raised
from interlock.policy.conditions import context_of
from interlock.policy.risk import MATRIX, Effect, Risk, Trust
from interlock.policy.rules import Applicable, Policy, Rule
from interlock.policy.words import looks_red

SECRET_RULE = "builtin:secret"
PRODUCTION_RULE = "builtin:production"
UNFIT_RULE = "builtin:unfit-arguments"
FAILED_RULE = "builtin:undecided"
_WITHOUT_CONTEXT = "its condition cannot be evaluated over these arguments"


def decide(call: Call, who: Caller, policy: Policy, *, approval: ApprovedBinding | None = None) -> Decision:
    """What the policy says of a call.

    The risk is the highest of the tool's own, of every rule that matches or cannot be evaluated, and RED where
    arguments carry what looks like a secret or name production. `MATRIX` makes the effect of it. What cannot be
    decided is held; arguments to which no approval could bind are denied.

    INVARIANT: RED is never allowed without an approval of exactly this call; an approval lifts a hold, never a denial.
    Source: rows C1, C2, C4, C9, C10.
    """
    try:
        return _decide(call, who, policy, approval)
    except Exception as error:  # noqa: BLE001 - fail closed
        why = f"the decision failed ({type(error).__name__}): a person has to look at it"
        return Decision(Risk.RED, Effect.HOLD, (FAILED_RULE,), (why,), policy_hash=str(policy.version_hash))


def base_risk(call: Call, policy: Policy) -> tuple[Risk, str]:
    """A tool's own risk and where it comes from: the policy's table, the built-in one, its author, or its words."""
    if (risk := policy.base.get(call.tool)) is not None:
        return risk, f"`{call.tool}` is {risk} in the policy's base table"
    if call.is_builtin and (risk := BASE.get(call.tool)) is not None:
        return risk, f"`{call.tool}` is {risk} in the built-in table"
    if call.declared_risk is not None:
        risk = Risk(call.declared_risk)
        return risk, f"`{call.tool}` declares itself {risk}"
    if said := looks_red(call.tool, call.description, call.input_schema):
        return Risk.RED, f"`{call.tool}` has no rule, and {said}"
    return Risk.YELLOW, f"`{call.tool}` has no rule: YELLOW"


@dataclass(slots=True)
class _Verdict:
    """A decision in the making."""

    risk: Risk
    reasons: list[str]
    rules: list[str] = field(default_factory=list)
    held: bool = False
    denied: bool = False
    people: int = 1
    not_requester: bool = False
    consensus: bool = False
    expires_s: int | None = None

    def raise_to(self, risk: Risk, rule: str, reason: str) -> None:
        if risk > self.risk:
            self.risk = risk
        self.rules.append(rule)
        self.reasons.append(reason)

    def take(self, found: Raised) -> None:
        self.raise_to(found.risk, found.rule, found.reason)
        self.held |= found.holds

    def match(self, rule: Rule, outcome: bool | str) -> None:
        self.rules.append(rule.id)
        if outcome is not True:
            self.held = True
            self.reasons.append(f"rule `{rule.id}` holds what it cannot judge: {outcome}")
        elif rule.risk is None:
            self.denied = True
            self.reasons.append(
                f"rule `{rule.id}` denies it: {rule.reason}" if rule.reason else f"`{rule.id}` denies it"
            )
        else:
            self.reasons.append(f"{rule.risk} by rule `{rule.id}`" + (f": {rule.reason}" if rule.reason else ""))
        if rule.risk is not None and rule.risk > self.risk:
            self.risk = rule.risk
        self.people = max(self.people, rule.people)
        self.not_requester |= rule.not_requester
        self.consensus |= rule.consensus
        if rule.expires_s is not None:
            self.expires_s = min(rule.expires_s, self.expires_s or rule.expires_s)


def _decide(call: Call, who: Caller, policy: Policy, approval: ApprovedBinding | None) -> Decision:
    seen = inspect(call.args)
    if seen.unfit is not None:
        why = f"{seen.unfit}: nobody could approve exactly this, make a simpler call"
        return Decision(Risk.RED, Effect.DENY, (UNFIT_RULE,), (why,), policy_hash=policy.version_hash)
    risk, why = base_risk(call, policy)
    verdict = _Verdict(risk, [why])
    _look(verdict, seen)
    for found in (*meaning.findings(call, policy), *taint.findings(call, who)):
        verdict.take(found)
    applicable = policy.applicable(call.tool)
    if applicable.rules or applicable.denials:
        _judge(verdict, applicable, call, who)
    effect = _effect(verdict, who.trust)
    if effect is Effect.HOLD and approval is not None:
        effect = _lifted(verdict, approval)
    return Decision(
        verdict.risk, effect, tuple(verdict.rules), tuple(verdict.reasons), verdict.people, verdict.not_requester,
        verdict.consensus, verdict.expires_s, policy.version_hash,
    )  # fmt: skip


def _look(verdict: _Verdict, seen: Inspection) -> None:
    if seen.secrets:
        found = seen.secrets[0]
        verdict.raise_to(Risk.RED, SECRET_RULE, f"RED: `{found.where}` looks like a secret ({found.kind})")
    if seen.production:
        verdict.raise_to(Risk.RED, PRODUCTION_RULE, f"RED: `{seen.production[0]}` names a production system")


def _judge(verdict: _Verdict, applicable: Applicable, call: Call, who: Caller) -> None:
    try:
        context = context_of({name: _value(name, fields, call, who) for name, fields in applicable.reads.items()})
    except ValueError:
        context = None
    for rule in (*applicable.rules, *applicable.denials):
        outcome: bool | str = True
        if rule.condition is not None:
            outcome = _WITHOUT_CONTEXT if context is None else rule.condition.holds(context)
        if outcome is not False:
            verdict.match(rule, outcome)


def _value(name: str, fields: frozenset[str] | None, call: Call, who: Caller) -> Any:
    """A variable of conditions, with no more of it than they read."""
    if name == "tool":
        return call.tool
    if name == "project":
        return who.project
    if name == "args":
        whole: Mapping[str, Any] = call.args
    elif name == "agent":
        whole = {"name": who.agent_name, "trust": str(who.trust), "persona": who.persona}
    else:
        whole = {"type": who.task_type or "", "project": who.project, "cost_usd": float(who.cost_usd)}
    return whole if fields is None else {field: whole[field] for field in fields if field in whole}


def _effect(verdict: _Verdict, trust: Trust) -> Effect:
    if verdict.denied:
        return Effect.DENY
    effect = MATRIX[verdict.risk][trust]
    if effect is Effect.HOLD:
        whom = "everyone" if verdict.risk is Risk.RED else f"{trust}s"
        verdict.reasons.append(f"{verdict.risk} is held for {whom}")
    return Effect.HOLD if verdict.held else effect


def _lifted(verdict: _Verdict, approval: ApprovedBinding) -> Effect:
    if not same(approval.subject, approval.presented):
        verdict.reasons.append(f"approval `{approval.approval_id}` is for another call")
    elif approval.people < verdict.people:
        verdict.reasons.append(f"{verdict.people} people must approve, {approval.people} did")
    elif verdict.not_requester and not approval.not_requester:
        verdict.reasons.append("somebody other than the requester must approve")
    else:
        verdict.reasons.append(f"approved by `{approval.approval_id}`")
        return Effect.ALLOW
    return Effect.HOLD
