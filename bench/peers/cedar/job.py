"""The question to Cedar through cedarpy, with policies and entities parsed once."""

from typing import Any

from cedarpy import Decision, Entities, PolicySet, is_authorized

from bench.peers.decision_driver import RULES, TOOL, main

CONDITIONS = (
    '["push", "pull_request"].contains(context.args.action)',
    'context.agent.trust == "intern" && context.args.path like "src/*"',
    'context.task.cost_usd.greaterThan(decimal("2.0")) || context.args.message like "*hotfix*"',
)


def _policies() -> str:
    lines = ["permit(principal, action, resource);"]
    for number in range(RULES - len(CONDITIONS)):
        lines.append(_forbid(f"tool_{number}", "context.args has size && context.args.size > 10"))
    return "\n".join([*lines, *(_forbid(TOOL, condition) for condition in CONDITIONS)])


def _forbid(tool: str, condition: str) -> str:
    return f'forbid(principal, action, resource == Tool::"{tool}") when {{ {condition} }};'


POLICIES, ENTITIES = PolicySet.from_str(_policies()), Entities.from_json_str("[]")


def held(tool: str, args: dict[str, Any], agent: dict[str, Any], task: dict[str, Any]) -> bool:
    """Whether it is forbidden."""
    cost = {"__extn": {"fn": "decimal", "arg": str(task["cost_usd"])}}
    request = {
        "principal": {"type": "Agent", "id": agent["name"]},
        "action": {"type": "Action", "id": "call"},
        "resource": {"type": "Tool", "id": tool},
        "context": {"args": args, "agent": agent, "task": {**task, "cost_usd": cost}},
    }
    return bool(is_authorized(request, POLICIES, ENTITIES).decision is not Decision.Allow)


if __name__ == "__main__":
    main(held)
