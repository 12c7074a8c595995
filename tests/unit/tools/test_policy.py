"""The built-in tools and the built-in policy speak of the same things."""

import pytest

from interlock.agents.prompts.bootstrap import FILES
from interlock.policy.calls import Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from interlock.tools.builtin import builtin_tools
from interlock.tools.contract import Tool
from tests.tool_calls import BOX


def decided(tool: Tool, *, is_builtin: bool = True, **args: object) -> Decision:
    call = Call(
        tool=tool.name, args=args, description=tool.description, input_schema=tool.input_schema,
        declared_risk=tool.risk, is_builtin=is_builtin,
    )  # fmt: skip
    return decide(call, Caller(trust=Trust.LEAD), Policy.builtin())


@pytest.mark.parametrize("tool", builtin_tools(), ids=lambda tool: tool.name)
def test_tool_declares_the_risk_that_the_table_gives_it(tool: Tool) -> None:
    assert tool.risk == str(decided(tool).risk) == str(decided(tool, is_builtin=False).risk)


@pytest.mark.parametrize("name", sorted({*FILES, *(name.lower() for name in FILES)}))
def test_writing_a_file_that_becomes_part_of_prompts_needs_a_person(name: str) -> None:
    tool = BOX.get("file_write")
    assert tool is not None
    decision = decided(tool, path=name, content="be bold")
    assert (decision.risk, decision.effect) == (Risk.RED, Effect.HOLD)
    assert decided(tool, path=f"{name}.txt", content="x").effect is Effect.ALLOW
