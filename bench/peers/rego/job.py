"""The question to Rego through regopy (rego-cpp), with the modules compiled once into a bundle."""

from typing import Any

from regopy import Input, Interpreter

from bench.peers.decision_driver import RULES, TOOL, main

CONDITIONS = (
    'input.args.action in {"push", "pull_request"}',
    'input.agent.trust == "intern"\n  startswith(input.args.path, "src/")',
    "input.task.cost_usd > 2.0",
    'contains(input.args.message, "hotfix")',
)
"""The third rule is two, since a body of Rego is a conjunction."""


def _module() -> str:
    lines = ["package calls", "import rego.v1", "default held := false"]
    for number in range(RULES - 3):
        lines.append(_rule(f"tool_{number}", "input.args.size > 10"))
    return "\n".join([*lines, *(_rule(TOOL, condition) for condition in CONDITIONS)])


def _rule(tool: str, condition: str) -> str:
    return f'held if {{\n  input.tool == "{tool}"\n  {condition}\n}}'


REGO = Interpreter()
REGO.add_module("calls", _module())
BUNDLE = REGO.build("data.calls.held", [])


def held(tool: str, args: dict[str, Any], agent: dict[str, Any], task: dict[str, Any]) -> bool:
    """Whether a rule matches; a query for what is false has no answer."""
    REGO.set_input(Input({"tool": tool, "args": args, "agent": agent, "task": task}))
    return str(REGO.query_bundle(BUNDLE)) != "undefined"


if __name__ == "__main__":
    main(held)
