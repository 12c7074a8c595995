"""Questions to a policy in JSON: the `tests` of its file, and single calls that somebody wants explained.

The decision itself is `decide`'s; nothing is read or printed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.policy.builtin import BASE
from interlock.policy.calls import Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.risk import Trust
from interlock.policy.rules import Case, Policy


@dataclass(frozen=True, slots=True)
class Failure:
    """A test of a policy file that did not come out as expected."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


def run_tests(policy: Policy, trust_of: Mapping[str, str] | None = None) -> list[Failure]:
    """What the policy's own `tests` found; empty where all is as expected.

    `trust_of` maps personas to trust; a test may name its own, and without either the caller is a specialist.
    """
    found = ((case, _problem(case, policy, trust_of or {})) for case in policy.cases)
    return [Failure(case.where, problem) for case, problem in found if problem]


def answer(
    policy: Policy,
    question: Mapping[str, Any],
    trust_of: Mapping[str, str] | None = None,
    declared: Mapping[str, str | None] | None = None,
) -> Decision:
    """The decision on `{tool, args, description?, input_schema?, declared_risk?, persona?, trust?, task?, project?}`.

    `declared` are the risks that installed tools declare. A name of the built-in table counts as that tool, unless
    the question describes one of its own. Total: a malformed question is held or denied. Source: row C6.
    """
    return decide(*_parts(question, trust_of or {}, declared or {}), policy)


def _parts(
    question: Mapping[str, Any], trust_of: Mapping[str, str], declared: Mapping[str, str | None]
) -> tuple[Call, Caller]:
    tool, described = str(question.get("tool", "")), "description" in question or "input_schema" in question
    persona = str(question.get("persona") or "")
    task = question.get("task")
    task = task if isinstance(task, Mapping) else {}
    cost = task.get("cost_usd", 0.0)
    call = Call(
        tool=tool,
        args=question.get("args", {}),
        description=str(question.get("description") or ""),
        input_schema=question.get("input_schema"),
        declared_risk=question.get("declared_risk") or (None if described else declared.get(tool)),
        is_builtin=not described and "declared_risk" not in question and tool in BASE,
    )
    who = Caller(
        agent_name=persona,
        persona=persona,
        trust=_trust(question.get("trust") or trust_of.get(persona)),
        project=str(task.get("project") or question.get("project") or ""),
        task_type=task.get("type") if isinstance(task.get("type"), str) else None,
        cost_usd=float(cost) if isinstance(cost, (int, float)) else 0.0,
    )
    return call, who


def _trust(name: Any) -> Trust:
    if name is None:
        return Trust.SPECIALIST
    return Trust(name) if name in [t.value for t in Trust] else Trust.INTERN


def _problem(case: Case, policy: Policy, trust_of: Mapping[str, str]) -> str | None:
    question = {**case.question, **case.question.get("call", {})}
    decision = answer(policy, question, trust_of)
    got = {"risk": str(decision.risk), "effect": str(decision.effect)}
    wrong = [
        f"{name} is {got[name]}, not {case.expect[name]}"
        for name in got
        if case.expect.get(name, got[name]) != got[name]
    ]
    if (rule := case.expect.get("rule")) is not None and rule not in decision.rules:
        wrong.append(f"rule `{rule}` did not match (matched: {', '.join(decision.rules) or 'none'})")
    return f"`{question.get('tool')}`: {'; '.join(wrong)}" if wrong else None
