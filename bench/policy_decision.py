"""How long a policy decision takes: 50 rules, of which three with conditions concern the call."""

import gc
import statistics
import time
from typing import Any

from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.policy_file import policy_from
from interlock.policy.risk import Trust
from interlock.policy.rules import Policy

NAME = "policy decision: 50 rules, 3 conditions evaluated"
TARGET_US = 30.0
CONDITIONS = (
    'args.action in ["push", "pull_request"]',
    'agent.trust == "intern" && args.path.startsWith("src/")',
    "task.cost_usd > 2.0 || args.message.contains('hotfix')",
)


def policy() -> Policy:
    """50 rules: three with conditions for `publish_branch`, 47 with conditions for other tools."""
    lines = ["version: 1", "base: {publish_branch: YELLOW}", "rules:"]
    for number in range(47):
        lines += [f"  - id: other-{number}", f"    tools: [tool_{number}]", "    when: args.size > 10", "    risk: RED"]
    for number, condition in enumerate(CONDITIONS):
        lines += [f"  - id: own-{number}", "    tools: [publish_branch]", "    when: |", f"      {condition}"]
        lines += ["    risk: RED", "    reason: leaves the workspace"]
    return policy_from("\n".join(lines), "bench")


def run(quick: bool) -> dict[str, Any]:
    """Microseconds a decision: the median and the best of several rounds, and the share of it that CEL is."""
    rules = policy()
    who = Caller(agent_name="a1", persona="coder", trust=Trust.SPECIALIST, project="p1", task_type="engineering")
    call = Call(
        tool="publish_branch",
        args={"action": "commit", "path": "src/interlock/app.py", "message": "say why"},
        description="Keeps a branch",
        is_builtin=False,
    )
    bare = Call(tool="file_read", args={"path": "notes/plan.md"}, is_builtin=True)
    rounds, each = (5, 1_000) if quick else (25, 5_000)
    decision = decide(call, who, rules)
    held = [_round(each, call, who, rules) for _ in range(rounds)]
    plain = [_round(each, bare, who, rules) for _ in range(rounds)]
    median = statistics.median(held)
    return {
        "rules": len(rules.rules),
        "conditions_evaluated": len(CONDITIONS),
        "decision": f"{decision.risk} {decision.effect}",
        "decision_us_median": round(median, 2),
        "decision_us_best": round(min(held), 2),
        "decision_without_conditions_us_median": round(statistics.median(plain), 2),
        "target_us": TARGET_US,
        "met": median <= TARGET_US,
    }


def _round(times: int, call: Call, who: Caller, rules: Policy) -> float:
    gc.disable()
    try:
        begun = time.perf_counter()
        for _ in range(times):
            decide(call, who, rules)
        return (time.perf_counter() - begun) / times * 1e6
    finally:
        gc.enable()
