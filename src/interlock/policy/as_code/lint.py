"""Lints a policy: rules that can never match, are shadowed by others, or have no effect.

Such a policy is still valid; invalid ones are rejected by `policy_file`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from interlock.policy.as_code.condition_terms import ALWAYS, Way, is_contradictory, says_no_more, ways
from interlock.policy.as_code.file_reader import is_known
from interlock.policy.builtin import BASE
from interlock.policy.risk import Risk, Trust
from interlock.policy.rules import Policy, Rule

KINDS: Mapping[str, str] = {
    "unreachable": "it can never match: its condition is never true, or none of its tools is known",
    "unknown-tool": "one of its tools is not known",
    "shadowed": "another rule demands at least as much wherever it matches, or a denial covers all that it matches",
    "no-effect": "its tools have at least this risk already",
    "always": "its condition is always true",
    "too-many": "it and those after it were not compared with all others: there are too many of the same tools",
    "consensus": "it asks models to agree, but the settings do not name three models (a fault)",
    "empty": "there are no rules in the file: a starting process uses the built-in policy, running ones keep theirs",
    "people": "it asks for more people than may answer (reported, but not a fault)",
}
"""The kinds of remarks on rules of a valid file."""
MOST_COMPARED = 50_000
"""The most pairs of rules of the same tools that are compared, which takes a second."""
VOTERS = 3
"""Models that `consensus` needs. Source: row C8."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about a rule that is probably a mistake."""

    where: str
    """`file:line`."""
    kind: str
    """One of `KINDS`."""
    rule: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


def remarks(
    policy: Policy, declared: Mapping[str, str | None] | None = None, known: Collection[str] | None = None
) -> list[Remark]:
    """Remarks on the rules of a file.

    `declared` are the risks that tools declare, `known` the existing tools; None: any.
    """
    found = list(_remarks(policy, declared or {}))
    return found if known is None else [*found, *_unknown(policy, known)]


def without_voters(policy: Policy, models: int) -> list[Remark]:
    """The rules with `consensus`, if fewer than three models are available."""
    if models >= VOTERS:
        return []
    problem = f"asks models to agree: name {VOTERS} of them in the settings (`consensus.models`), there are {models}"
    return [Remark(r.where, "consensus", r.id, f"rule `{r.id}` {problem}") for r in policy.rules if r.consensus]


def without_people(policy: Policy, people: int) -> list[Remark]:
    """The rules that require more approvers than exist, so that their calls can never be approved."""
    found = []
    for rule in policy.rules:
        needed = rule.people + rule.not_requester
        if needed > people:
            asked = f"{rule.people} people" if rule.people > 1 else "somebody other than the requester"
            found.append(
                Remark(rule.where, "people", rule.id, f"rule `{rule.id}` asks for {asked}, and {people} may answer")
            )
    return found


@dataclass(frozen=True)
class _Read:
    """A parsed rule."""

    rule: Rule

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        if self.rule.condition is None:
            return ALWAYS
        known = _known(self.rule)
        return tuple(way for way in ways(self.rule.condition.source) if not is_contradictory(way, known))

    def covers(self, other: "_Read") -> bool:
        """Whether it matches every call that the other matches, and demands no less."""
        mine, theirs = self.rule, other.rule
        if not self.is_wider_than(other):
            return False
        if mine.risk is not None:
            if theirs.risk is None or mine.risk < theirs.risk or mine.people < theirs.people:
                return False
            if (theirs.not_requester and not mine.not_requester) or (theirs.consensus and not mine.consensus):
                return False
            if theirs.expires_s is not None and (mine.expires_s is None or mine.expires_s > theirs.expires_s):
                return False
        return says_no_more(other.ways, self.ways)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.rule.tools)

    @cached_property
    def has_patterns(self) -> bool:
        return any("*" in name for name in self.rule.tools)

    def is_wider_than(self, other: "_Read") -> bool:
        """Whether it applies to every tool that the other applies to."""
        if not self.names or (other.names and other.names <= self.names):
            return True
        if not other.names or not self.has_patterns:
            return False
        return all(name in self.names or ("*" not in name and self.rule.concerns(name)) for name in other.names)


def _known(rule: Rule) -> dict[str, Sequence[Any]]:
    known: dict[str, Sequence[Any]] = {"agent.trust": [each.value for each in Trust]}
    if rule.tools and not any("*" in name for name in rule.tools):
        known["tool"] = rule.tools
    return known


def _unknown(policy: Policy, known: Collection[str]) -> Iterator[Remark]:
    for rule in (*policy.rules, *policy.denials):
        if missing := [name for name in rule.tools if not is_known(name, known)]:
            names = ", ".join(f"`{name}`" for name in missing)
            kind = "unreachable" if len(missing) == len(rule.tools) else "unknown-tool"
            what = "is unreachable" if kind == "unreachable" else "names an unknown tool"
            hint = "those of an MCP server are known with `--tools FILE`"
            yield Remark(rule.where, kind, rule.id, f"rule `{rule.id}` {what}: no {names} is known here, {hint}")


def _remarks(policy: Policy, declared: Mapping[str, str | None]) -> Iterator[Remark]:
    rules, denials = [_Read(rule) for rule in policy.rules], [_Read(rule) for rule in policy.denials]
    pairs = 0
    for place, read in enumerate([*rules, *denials]):
        pairs += sum(other.is_wider_than(read) for other in (*rules, *denials)) - 1
        if pairs > MOST_COMPARED:
            problem = "is not compared with all others: there are too many for the same tools"
            yield Remark(read.rule.where, "too-many", read.rule.id, f"rule `{read.rule.id}` {problem}")
            rules, denials = rules[:place], denials[: max(0, place - len(rules))]
            break
    for place, read in enumerate(rules):
        others = [*denials, *rules[:place], *rules[place + 1 :]]
        if found := list(_remark(read, others, rules[place + 1 :])):
            yield from found
        elif why := _without_effect(read.rule, policy, declared):
            yield Remark(read.rule.where, "no-effect", read.rule.id, f"rule `{read.rule.id}` raises nothing: {why}")
    for place, read in enumerate(denials):
        yield from _remark(read, [*denials[:place], *denials[place + 1 :]], denials[place + 1 :])


def _remark(read: _Read, others: Sequence[_Read], later: Sequence[_Read]) -> Iterator[Remark]:
    """Remarks due to a rule's own text, or to another rule. Of two that cover each other, the later one gets it."""
    rule = read.rule
    if not read.ways:
        yield Remark(rule.where, "unreachable", rule.id, f"rule `{rule.id}` is unreachable: its condition never holds")
        return
    if rule.condition is not None and () in read.ways:
        yield Remark(rule.where, "always", rule.id, f"the condition of rule `{rule.id}` always holds: leave `when` out")
    for other in others:
        if other.ways and other.covers(read) and not (other in later and read.covers(other)):
            verb = "denies" if other.rule.risk is None else "already raises as high"
            yield Remark(
                rule.where, "shadowed", rule.id,
                f"rule `{rule.id}` is shadowed: `{other.rule.id}` ({other.rule.where}) {verb} whatever it matches",
            )  # fmt: skip
            return


def _without_effect(rule: Rule, policy: Policy, declared: Mapping[str, str | None]) -> str | None:
    if rule.people > 1 or rule.not_requester or rule.consensus or rule.expires_s is not None or rule.risk is None:
        return None
    if rule.risk is Risk.GREEN:
        return "every call is GREEN or more already"
    if not rule.tools or any("*" in name for name in rule.tools):
        return None
    found = [_own_risk(name, policy, declared) for name in rule.tools]
    if any(own is None or own < rule.risk for own in found):
        return None
    names = ", ".join(f"`{name}`" for name in rule.tools)
    return f"{names} {'is' if len(found) == 1 else 'are'} {rule.risk} or more already"


def _own_risk(tool: str, policy: Policy, declared: Mapping[str, str | None]) -> Risk | None:
    """A tool's risk without its arguments; None if it depends on its definition."""
    if (risk := policy.base.get(tool, BASE.get(tool))) is not None:
        return risk
    own = declared.get(tool)
    return Risk(own) if own is not None else None
