"""The common part of the peers' decision scripts: the same questions to 50 rules, verified and then timed.

Standard library only, because each peer has an environment of its own; how a peer decides is in its directory.
"""

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

RULES = 50
"""47 of them for other tools, three with conditions for the tool in question."""
TOOL = "publish_branch"
AGENT: dict[str, Any] = {"name": "a1", "persona": "coder", "trust": "specialist"}
TASK: dict[str, Any] = {"type": "engineering", "project": "p1", "cost_usd": 0.5}
COMMIT: dict[str, Any] = {"action": "commit", "path": "src/interlock/app.py", "message": "say why"}
QUESTIONS: tuple[tuple[dict[str, Any], dict[str, Any], bool], ...] = (
    (COMMIT, AGENT, False),
    ({**COMMIT, "action": "push"}, AGENT, True),
    ({**COMMIT, "message": "a hotfix"}, AGENT, True),
    (COMMIT, {**AGENT, "trust": "intern"}, True),
)
"""Arguments, who asks, and whether it is held. The first one is timed: all three conditions are evaluated for it."""
Held = Callable[[str, dict[str, Any], dict[str, Any], dict[str, Any]], bool]
"""Whether a call of a tool with these arguments, by this agent for this task, is held."""


class NotTheQuestion(RuntimeError):
    """A peer gave a wrong answer, so that its figure is invalid."""


def timed(held: Held, rounds: int, each: int) -> dict[str, Any]:
    """Microseconds per decision: the median and the best of several rounds.

    Raises NotTheQuestion.
    """
    for args, agent, wanted in QUESTIONS:
        if held(TOOL, args, agent, TASK) is not wanted:
            raise NotTheQuestion(f"{args} by {agent['trust']} should {'' if wanted else 'not '}be held")
    found = []
    gc.disable()
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(each):
            held(TOOL, COMMIT, AGENT, TASK)
        found.append((time.perf_counter() - begun) / each * 1e6)
    gc.enable()
    return {"us_median": round(statistics.median(found), 2), "us_best": round(min(found), 2)}


def main(held: Held) -> None:
    """Answers each line `ROUNDS EACH` of the input with figures."""
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        rounds, each = map(int, line.split())
        print(json.dumps(timed(held, rounds, each)), flush=True)
