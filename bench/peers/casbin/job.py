"""The question to Casbin's fast enforcer, which finds the rules of a tool by its name; conditions are attributes."""

from collections.abc import Callable
from typing import Any

from casbin import FastEnforcer
from casbin.model import FastModel

from bench.peers.decision_driver import RULES, TOOL, main

MODEL = """
[request_definition]
r = tool, act, args, agent, task
[policy_definition]
p = tool, act, rule, eft
[policy_effect]
e = !some(where (p.eft == deny))
[matchers]
m = r.tool == p.tool && r.act == p.act && holds(p.rule, r.args, r.agent, r.task)
"""
CONDITIONS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "action": lambda args, agent, task: args["action"] in ("push", "pull_request"),
    "intern": lambda args, agent, task: agent["trust"] == "intern" and args["path"].startswith("src/"),
    "cost": lambda args, agent, task: task["cost_usd"] > 2.0 or "hotfix" in args["message"],
}
"""As functions of Python, since rules in text (`eval`) take it milliseconds."""


def _enforcer() -> FastEnforcer:
    model = FastModel([0, 1])
    model.load_model_from_text(MODEL)
    enforcer = FastEnforcer(model, enable_log=False, cache_key_order=[0, 1])
    enforcer.add_function("holds", lambda rule, *seen: CONDITIONS[rule](*seen))
    for number in range(RULES - len(CONDITIONS)):
        enforcer.add_policy(f"tool_{number}", "call", "cost", "deny")
    for condition in CONDITIONS:
        enforcer.add_policy(TOOL, "call", condition, "deny")
    return enforcer


ENFORCER = _enforcer()


def held(tool: str, args: dict[str, Any], agent: dict[str, Any], task: dict[str, Any]) -> bool:
    """Whether a rule matches."""
    return not ENFORCER.enforce(tool, "call", args, agent, task)


if __name__ == "__main__":
    main(held)
