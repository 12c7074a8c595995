"""Decides a call: its risk, and whether it runs, waits for a person, or is denied. Pure and total."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interlock.policy import meaning, placeholders, taint
from interlock.policy.arguments import Inspection, inspect
from interlock.policy.as_code.conditions import Context, context_of
from interlock.policy.binding import same
from interlock.policy.builtin import BASE
from interlock.policy.calls import ApprovedBinding, Call, Caller, Decision, Raised
from interlock.policy.command_lines import command_tools
from interlock.policy.definitions.tool_definitions import looks_red
from interlock.policy.grants import Grant, covering
from interlock.policy.risk import MATRIX, Effect, Risk, Trust
from interlock.policy.rules import Applicable, Policy, Rule

SECRET_RULE = "builtin:secret"
PRODUCTION_RULE = "builtin:production"
UNFIT_RULE = "builtin:unfit-arguments"
FAILED_RULE = "builtin:undecided"
COORDINATOR_RULE = "builtin:coordinator-reads"
COORDINATOR = "coordinator"
"""The persona that reads the database, and changes nothing in it. Source: row A4."""
DECLARES = "declares itself"
"""What the first reason says of a tool that declared its risk; a replay reads it there."""
MOST_KEPT = 4_096
_UNMADE: Any = object()
_TOO_LARGE = "the arguments are too large for its condition"
_WITHOUT_CONTEXT = "its condition cannot be evaluated over these arguments"


def decide(
    call: Call,
    who: Caller,
    policy: Policy,
    *,
    approval: ApprovedBinding | None = None,
    grants: Sequence[Grant] = (),
    people_for_red: int = 1,
) -> Decision:
    """Decides a call. `grants` are those in force; at least `people_for_red` people must approve a RED call.

    The risk is the maximum of the tool's own risk and that of every rule that matches or cannot be evaluated; it is RED
    if arguments contain what looks like a secret, or name a production system. `MATRIX` maps risk and trust to an
    effect. What cannot be decided is held; arguments to which no approval could be bound are denied.

    INVARIANT: RED is never allowed without an approval of exactly this call; an approval lifts a hold, never a denial;
    a grant lifts only a YELLOW call that is held for its agent's trust alone. Source: rows C1, C2, C4, C7, C9, C10.
    """
    try:
        alone = approval is None and not grants and people_for_red == 1
        return _decide(call, who, policy, _ALONE if alone else _Terms(approval, grants, people_for_red))
    except Exception as error:  # noqa: BLE001 - fail closed
        why = f"the decision failed ({type(error).__name__}): a person has to look at it"
        return Decision(
            Risk.RED, Effect.HOLD, (FAILED_RULE,), (why,), policy_hash=str(getattr(policy, "version_hash", ""))
        )


def base_risk(call: Call, policy: Policy) -> tuple[Risk, str]:
    """A tool's own risk and its source: the policy's table, the built-in one, its author, or its description."""
    if (risk := policy.base.get(call.tool)) is not None:
        return risk, f"`{call.tool}` is {risk} in the policy's base table"
    if call.is_builtin and (risk := BASE.get(call.tool)) is not None:
        return risk, f"`{call.tool}` is {risk} in the built-in table"
    if call.declared_risk is not None:
        risk = Risk(call.declared_risk)
        return risk, f"`{call.tool}` {DECLARES} {risk}"
    red_reason = looks_red(call.tool, call.description, call.input_schema, call.hints, call.args)
    if red_reason and not command_tools.call_only_reads(call):
        return Risk.RED, f"`{call.tool}` has no rule, and {red_reason}"
    return Risk.YELLOW, f"`{call.tool}` has no rule: YELLOW"


@dataclass(slots=True)
class _Verdict:
    """A decision under construction."""

    risk: Risk
    reasons: list[str]
    rules: list[str] = field(default_factory=list)
    held: bool = False
    denied: bool = False
    people: int = 1
    not_requester: bool = False
    consensus: bool = False
    expires_s: int | None = None

    @property
    def is_grantable(self) -> bool:
        """Whether it is held only because of its agent's trust; a grant lifts no other hold. Source: row C7."""
        asks_more = self.held or self.denied or self.not_requester or self.consensus or self.people > 1
        return self.risk is Risk.YELLOW and not asks_more

    def raise_to(self, risk: Risk, rule: str, reason: str) -> None:
        if risk > self.risk:
            self.risk = risk
        self.rules.append(rule)
        self.reasons.append(reason)

    def take(self, found: Raised) -> None:
        self.raise_to(found.risk, found.rule, found.reason)
        self.held |= found.holds

    def deny(self, rule: str, reason: str) -> None:
        self.denied = True
        self.rules.append(rule)
        self.reasons.append(reason)

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


class _Terms(NamedTuple):
    """Existing approvals and grants, and how many people must approve a RED call."""

    approval: ApprovedBinding | None
    grants: Sequence[Grant]
    people_for_red: int


_ALONE = _Terms(None, (), 1)


def _decide(call: Call, who: Caller, policy: Policy, terms: _Terms) -> Decision:
    seen = inspect(call.args)
    if seen.unfit is not None:
        why = f"{seen.unfit}: nobody could approve exactly this, make a simpler call"
        return Decision(Risk.RED, Effect.DENY, (UNFIT_RULE,), (why,), policy_hash=policy.version_hash)
    found = meaning.findings(call, policy, seen.hidden)
    if who.labels:
        found = (*found, *taint.findings(call, who, policy.base.get(call.tool)))
    if seen.has_braces:
        found = (*found, *placeholders.findings(call))
    applicable = policy.applicable(call.tool)
    matching = _matches(applicable, call, who) if applicable.all else ()
    if not (found or matching or seen.secrets or seen.production):
        kept = _plain(call, who, policy, terms)
        if terms.approval is None and not (terms.grants and kept.grantable):
            return kept
    verdict = _initial_verdict(call, policy)
    _look(verdict, seen)
    for each in found:
        verdict.take(each)
    for rule, outcome in matching:
        verdict.match(rule, outcome)
    if who.persona == COORDINATOR and call.tool == "database" and any("database-" in each.rule for each in found):
        verdict.deny(COORDINATOR_RULE, "the coordinator does no work itself: it only reads the database")
    return _decision(verdict, call, who, policy, terms)


def _initial_verdict(call: Call, policy: Policy) -> _Verdict:
    risk, why = base_risk(call, policy)
    return _Verdict(risk, [why])


def _plain(call: Call, who: Caller, policy: Policy, terms: _Terms) -> Decision:
    """The decision for a call to which only the tool's own risk applies, without approval or grants.

    It is the same for all such calls, so it is cached with the policy.
    """
    alone = terms._replace(approval=None, grants=()) if terms.approval or terms.grants else terms
    if call.tool not in policy.base and not call.is_builtin and call.declared_risk is None:
        return _decision(_initial_verdict(call, policy), call, who, policy, alone)
    key = (call.tool, call.is_builtin, call.declared_risk, who.trust, terms.people_for_red)
    if (kept := policy.plain.get(key)) is None:
        if len(policy.plain) >= MOST_KEPT:
            policy.plain.clear()
        kept = policy.plain[key] = _decision(_initial_verdict(call, policy), call, who, policy, alone)
    return kept


def _decision(verdict: _Verdict, call: Call, who: Caller, policy: Policy, terms: _Terms) -> Decision:
    if verdict.risk is Risk.RED:
        verdict.people = max(verdict.people, terms.people_for_red)
    effect, grant = _effect(verdict, who.trust), None
    grantable = effect is Effect.HOLD and verdict.is_grantable
    if effect is Effect.HOLD and terms.approval is not None:
        effect = _lifted(verdict, terms.approval)
    if effect is Effect.HOLD and grantable and (grant := covering(terms.grants, call, who)) is not None:
        verdict.reasons.append(f"allowed by grant `{grant.id}`")
        effect = Effect.ALLOW
    return Decision(
        verdict.risk, effect, tuple(verdict.rules), tuple(verdict.reasons), verdict.people, verdict.not_requester,
        verdict.consensus, verdict.expires_s, policy.version_hash, grantable, grant.id if grant else None,
    )  # fmt: skip


def _look(verdict: _Verdict, seen: Inspection) -> None:
    if seen.secrets:
        found = seen.secrets[0]
        verdict.raise_to(Risk.RED, SECRET_RULE, f"RED: `{found.where}` looks like a secret ({found.kind})")
    if seen.production:
        verdict.raise_to(Risk.RED, PRODUCTION_RULE, f"RED: `{seen.production[0]}` names a production system")


def _matches(applicable: Applicable, call: Call, who: Caller) -> list[tuple[Rule, bool | str]]:
    """The rules that match (True), or that could not be evaluated (the reason)."""
    flat = whole = _UNMADE
    args = call.args
    found: list[tuple[Rule, bool | str]] = []
    for rule in applicable.all:
        if (condition := rule.condition) is None:
            found.append((rule, True))
            continue
        if condition.effort is not None and condition.effort.exceeded_by(args):
            found.append((rule, _TOO_LARGE))
            continue
        if condition.flat is not None and condition.flat.needs <= args.keys():
            if flat is _UNMADE:
                flat = _flat_context(applicable, call, who)
            outcome = _WITHOUT_CONTEXT if flat is None else condition.holds(flat, flat=True)
        else:
            if whole is _UNMADE:
                whole = _context(applicable, call, who)
            outcome = _WITHOUT_CONTEXT if whole is None else condition.holds(whole)
        if outcome is not False:
            found.append((rule, outcome))
    return found


def _flat_context(applicable: Applicable, call: Call, who: Caller) -> Context | None:
    """The scalar values that conditions read, if they exist; None if they cannot be converted."""
    args = call.args
    values = {variable: args[name] for variable, name in applicable.flat_args if name in args}
    for variable, owner, name in applicable.flat_fields:
        values[variable] = _FIELDS[owner, name](call, who)
    return _converted(values)


def _context(applicable: Applicable, call: Call, who: Caller) -> Context | None:
    """Only the values that conditions read; None if they cannot be converted."""
    values: dict[str, Any] = {}
    for name, fields in applicable.reads.items():
        if name == "args":
            args = call.args
            values["args"] = args if fields is None else {each: args[each] for each in fields if each in args}
        elif (name, "") in _FIELDS:
            values[name] = _FIELDS[name, ""](call, who)
        else:
            values[name] = {each: read(call, who) for (owner, each), read in _FIELDS.items() if owner == name}
    return _converted(values)


def _converted(values: dict[str, Any]) -> Context | None:
    try:
        return context_of(values)
    except ValueError:
        return None


_FIELDS: Mapping[tuple[str, str], Callable[[Call, Caller], Any]] = {
    ("tool", ""): lambda call, who: call.tool,
    ("project", ""): lambda call, who: who.project,
    ("agent", "name"): lambda call, who: who.agent_name,
    ("agent", "trust"): lambda call, who: who.trust._value_,
    ("agent", "persona"): lambda call, who: who.persona,
    ("task", "type"): lambda call, who: who.task_type or "",
    ("task", "project"): lambda call, who: who.project,
    ("task", "cost_usd"): lambda call, who: float(who.cost_usd),
}
"""The source of each field that conditions can read, except `args`."""


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
    elif verdict.consensus and not approval.consulted:
        verdict.reasons.append("models have to vote on these arguments before a person is asked")
    else:
        verdict.reasons.append(f"approved by `{approval.approval_id}`")
        return Effect.ALLOW
    return Effect.HOLD
