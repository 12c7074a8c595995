"""Evaluates calls given as JSON: the `tests` of a policy file, and `policy explain`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.policy.builtin import BASE
from interlock.policy.calls import Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.risk import Trust
from interlock.policy.rules import Case, Policy


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed test of a policy file."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Defaults for what a query may leave out."""

    trust_of: Mapping[str, str] = field(default_factory=dict)
    """The trust of personas."""
    declared: Mapping[str, str | None] = field(default_factory=dict)
    """The risk that installed tools declare."""
    labels_of: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The labels of installed tools."""


NOWHERE = Surroundings()


def run_tests(policy: Policy, trust_of: Mapping[str, str] | None = None, further: Iterable[Case] = ()) -> list[Failure]:
    """Runs the policy's own `tests`, and `further` ones; returns the failures.

    `trust_of` maps personas to trust; a test may name its own, and without either the caller is a specialist.
    """
    known = Surroundings(trust_of or {})
    found = ((case, _problem(case, policy, known)) for case in (*policy.cases, *further))
    return [Failure(case.where, problem) for case, problem in found if problem]


def answer(policy: Policy, question: Mapping[str, Any], known: Surroundings = NOWHERE) -> Decision:
    """The decision on `{tool, args, description?, input_schema?, hints?, declared_risk?, persona?, trust?, task?,
    project?, labels?}`; `labels` are those of the run, `hints` the annotations of an MCP tool.

    A name of the built-in table counts as that tool, unless the question describes one of its own. Total: a malformed
    question is held or denied. Source: row C6.
    """
    return decide(*_parts(question, known), policy)


def _parts(question: Mapping[str, Any], known: Surroundings) -> tuple[Call, Caller]:
    tool = str(question.get("tool", ""))
    described = not question.keys().isdisjoint(("description", "input_schema", "hints"))
    hints, persona = question.get("hints"), str(question.get("persona") or "")
    task = question.get("task")
    task = task if isinstance(task, Mapping) else {}
    call = Call(
        tool=tool,
        args=question.get("args", {}),
        description=str(question.get("description") or ""),
        input_schema=question.get("input_schema"),
        declared_risk=question.get("declared_risk") or (None if described else known.declared.get(tool)),
        is_builtin=not described and "declared_risk" not in question and tool in BASE,
        labels=frozenset() if described else known.labels_of.get(tool, frozenset()),
        hints=hints if isinstance(hints, Mapping) else {},
    )
    who = Caller(
        agent_name=persona,
        persona=persona,
        trust=_trust(question.get("trust") or known.trust_of.get(persona)),
        project=str(task.get("project") or question.get("project") or ""),
        task_type=task.get("type") if isinstance(task.get("type"), str) else None,
        cost_usd=_number(task.get("cost_usd")),
        labels=_labels(question.get("labels")),
    )
    return call, who


def _number(value: Any) -> float:
    """A cost; anything that is no number, or too large for one, counts as infinite."""
    try:
        return float(value) if type(value) in (int, float) else 0.0 if value is None else math.inf
    except OverflowError:
        return math.inf


def _labels(value: Any) -> frozenset[str]:
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()


def _trust(name: Any) -> Trust:
    if name is None:
        return Trust.SPECIALIST
    return Trust(name) if name in [t.value for t in Trust] else Trust.INTERN


def _problem(case: Case, policy: Policy, known: Surroundings) -> str | None:
    question = {**case.question, **case.question.get("call", {})}
    decision = answer(policy, question, known)
    got = {"risk": str(decision.risk), "effect": str(decision.effect)}
    wrong = [
        f"{name} is {got[name]}, not {case.expect[name]}"
        for name in got
        if case.expect.get(name, got[name]) != got[name]
    ]
    if (rule := case.expect.get("rule")) is not None and rule not in decision.rules:
        wrong.append(f"rule `{rule}` did not match (matched: {', '.join(decision.rules) or 'none'})")
    return f"`{question.get('tool')}`: {'; '.join(wrong)}" if wrong else None
