"""Parses the `tests` of a policy: a list of calls, each with the expected decision.

Tests are run in `cases`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.core.errors import ConfigError
from interlock.core.strict_yaml import Path, parse
from interlock.policy.as_code.file_reader import Reader, near
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Case

_CASE = ("call", "persona", "trust", "task", "project", "labels", "expect")
_CALL = ("tool", "args", "description", "input_schema", "declared_risk", "hints")
_TASK = ("type", "project", "cost_usd")
_EXPECT = ("risk", "effect", "rule")


def cases_from(
    text: str | bytes,
    source: str,
    *,
    known_tools: Collection[str] | None = None,
    known_personas: Collection[str] | None = None,
) -> tuple[Case, ...]:
    """The tests of a separate file: `version: 1` and `tests`, with the syntax of a policy file.

    Raises ConfigError with all faults, each `file:line: problem`.
    """
    reader = CaseReader(parse(text, source=source), known_tools, known_personas)
    top = reader.mapping((), reader.document.data, ("version", "tests"), "a file of tests is a mapping with `tests`")
    if top and "tests" not in top:
        reader.fault((), "`tests` is missing")
    if top.get("version", 1) != 1:
        reader.fault(("version",), f"`version` is `{top['version']}`: write `version: 1`")
    found = tuple(reader.cases(top.get("tests")))
    if reader.faults:
        raise ConfigError(reader.faults)
    return found


@dataclass(slots=True)
class CaseReader(Reader):
    """Parses tests."""

    def cases(self, data: Any) -> list[Case]:
        """All tests of a list."""
        return list(self.each("tests", data, self.case))

    def case(self, path: Path, data: Any) -> Case | None:
        """One test."""
        fields = self.mapping(path, data, _CASE, "a test is a mapping with `call`, `persona` and `expect`")
        if not fields:
            return None
        call = self.mapping((*path, "call"), fields.get("call"), _CALL, "`call` is a mapping with `tool` and `args`")
        if call and not isinstance(call.get("tool"), str):
            self.fault((*path, "call"), "`call` needs a `tool`")
        elif call:
            self.tool((*path, "call", "tool"), call["tool"])
        if "args" in call and not isinstance(call["args"], dict):
            self.fault((*path, "call", "args"), "`args` is a mapping")
        if "declared_risk" in call:
            self.choice((*path, "call", "declared_risk"), call["declared_risk"], Risk, "risk")
        self.caller(path, fields)
        expect = self.mapping((*path, "expect"), fields.get("expect"), _EXPECT, "`expect` is a mapping with `effect`")
        if "expect" in fields and not fields["expect"]:
            self.fault((*path, "expect"), "a test expects at least one of `risk`, `effect` and `rule`")
        if "risk" in expect:
            self.choice((*path, "expect", "risk"), expect["risk"], Risk, "risk")
        if "effect" in expect:
            self.choice((*path, "expect", "effect"), expect["effect"], Effect, "effect")
        if "rule" in expect:
            self.text((*path, "expect", "rule"), expect["rule"])
        question = {key: value for key, value in fields.items() if key != "expect"}
        return Case(where=self.document.at(path), question=question, expect=expect)

    def caller(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Checks the caller that a test names."""
        persona = fields.get("persona")
        if "persona" in fields:
            self.text((*path, "persona"), persona)
        if isinstance(persona, str) and self.personas is not None and persona not in self.personas:
            self.fault((*path, "persona"), f"there is no persona `{persona}`{near(persona, self.personas)}")
        if "trust" in fields:
            self.choice((*path, "trust"), fields["trust"], Trust, "trust")
        if "project" in fields:
            self.text((*path, "project"), fields["project"])
        if "task" in fields:
            task = self.mapping((*path, "task"), fields["task"], _TASK, "`task` is a mapping with `type`, `cost_usd`")
            for name in ("type", "project"):
                if name in task:
                    self.text((*path, "task", name), task[name])
            if type(task.get("cost_usd", 0)) not in (int, float):
                self.fault((*path, "task", "cost_usd"), "`cost_usd` is a number of dollars")
