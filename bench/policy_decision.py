"""The time of a policy decision: 50 rules, of which three with conditions apply to the call; and that of other engines.

The others decide the same question in environments of their own (`bench.peers`), from rules that are parsed once.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.peers.decision_driver import AGENT, COMMIT, QUESTIONS, RULES, TASK, TOOL
from bench.peers.environment import PeerFailed, Process, python_of, versions
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Trust
from interlock.policy.rules import Policy

NAME = "policy decisions, microseconds: 50 rules, and other engines over the same question"
CONDITIONS = (
    'args.action in ["push", "pull_request"]',
    'agent.trust == "intern" && args.path.startsWith("src/")',
    "task.cost_usd > 2.0 || args.message.contains('hotfix')",
)
PEERS = ("casbin", "cedar", "rego")


@dataclass(frozen=True)
class Question:
    """Calls with different arguments for each number, so that nothing is cached, and their time limit."""

    name: str
    call: Callable[[int], Call]
    target_us: float


STATEMENTS = {
    "sql": "select id, name from notes where day > {n} order by id",
    "sql_joins": """
        SELECT u.name, count(*) AS n, sum(o.total) FROM users u LEFT JOIN orders o ON o.user_id = u.id
        WHERE o.day BETWEEN '2026-01-01' AND '2026-06-30' AND o.total > {n}
        GROUP BY u.name ORDER BY 2 DESC LIMIT 10""",
    "sql_write_in_with": """
        WITH moved AS (UPDATE tasks SET state = 'done', ended_at = now() WHERE id = {n} RETURNING id, owner)
        INSERT INTO log (task, owner) SELECT id, owner FROM moved""",
    "sql_merge": """
        MERGE INTO stock t USING delivered s ON t.id = s.id WHEN MATCHED AND s.n > {n} THEN UPDATE SET n = s.n
        WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)""",
    "sql_brackets": "SELECT TOP 10 [id], [name] FROM [dbo].[users] WHERE [id] > {n} ORDER BY [name]",
    "sql_backticks": "SELECT `id`, `name` FROM `users` WHERE `name` LIKE 'a\\_%' AND `id` > {n} LIMIT 5",
}


def _statement(text: str, n: int) -> Call:
    return Call(tool="database", args={"sql": text.format(n=n)}, is_builtin=True)


OURS = (
    Question("no_condition", lambda n: Call(tool="file_read", args={"path": f"notes/{n}.md"}, is_builtin=True), 5.0),
    Question(
        "three_conditions",
        lambda n: Call(tool=TOOL, args={**COMMIT, "path": f"src/app/{n}.py"}, description="Keeps a branch"),
        25.0,
    ),
    Question(
        "shell",
        lambda n: Call(
            tool="code_exec", args={"command": f"git log --oneline | head -{n} && cat notes/{n}.md"}, is_builtin=True
        ),
        200.0,
    ),
    *(Question(name, partial(_statement, text), 200.0) for name, text in STATEMENTS.items()),
)


def policy() -> Policy:
    """50 rules: three with conditions for the tool that is asked about, 47 with conditions for other tools."""
    lines = ["version: 1", f"base: {{{TOOL}: YELLOW}}", "rules:"]
    for number in range(RULES - len(CONDITIONS)):
        lines += [f"  - id: other-{number}", f"    tools: [tool_{number}]", "    when: args.size > 10", "    risk: RED"]
    for number, condition in enumerate(CONDITIONS):
        lines += [f"  - id: own-{number}", f"    tools: [{TOOL}]", "    when: |", f"      {condition}"]
        lines += ["    risk: RED", "    reason: leaves the workspace"]
    return policy_from("\n".join(lines), "bench")


def run(quick: bool) -> dict[str, Any]:
    """The median and the best of several rounds for each of our questions, and for each peer."""
    rules, who = policy(), caller(AGENT)
    for args, agent, wanted in QUESTIONS:
        held = decide(Call(tool=TOOL, args=args, description="Keeps a branch"), caller(agent), rules).effect
        if (held is Effect.HOLD) is not wanted:
            raise SystemExit(f"{args} by {agent['trust']} is {held}")
    rounds, each = (5, 500) if quick else (25, 2_000)
    ours: dict[str, Any] = {}
    for question in OURS:
        times = [_round([question.call(r * each + n) for n in range(each)], who, rules) for r in range(rounds)]
        median = statistics.median(times)
        ours[question.name] = {
            "us_median": round(median, 2), "us_best": round(min(times), 2), "target_us": question.target_us,
            "met": median <= question.target_us,
        }  # fmt: skip
    return {
        "rules": RULES,
        "conditions_evaluated": len(CONDITIONS),
        "ours": ours,
        "others": {peer: _peer(peer, quick) for peer in PEERS},
        "peers": {peer: versions(peer) for peer in PEERS},
    }


def table(figures: dict[str, Any]) -> str:
    """The figures as lines."""
    lines = [f"  {'':>18}  {'median':>9}  {'best':>9}  {'target':>7}"]
    for name, found in figures["ours"].items():
        lines.append(f"  {name:>18}  {found['us_median']:9.2f}  {found['us_best']:9.2f}  {found['target_us']:7.0f}")
    for name, found in figures["others"].items():
        if "left_out" in found:
            lines.append(f"  {name:>18}  left out: {found['left_out']}")
        else:
            lines.append(f"  {name:>18}  {found['us_median']:9.2f}  {found['us_best']:9.2f}")
    return "\n".join(lines)


def caller(agent: dict[str, Any]) -> Caller:
    """The caller."""
    return Caller(
        agent_name=agent["name"], persona=agent["persona"], trust=Trust(agent["trust"]), project=TASK["project"],
        task_type=TASK["type"], cost_usd=TASK["cost_usd"],
    )  # fmt: skip


def _peer(name: str, quick: bool) -> dict[str, Any]:
    try:
        process = Process([python_of(name), "-m", f"bench.peers.{name}.job"])
        process.told()
        found = process.ask("3 100" if quick else "15 1000")
        process.end()
    except PeerFailed as error:
        return {"left_out": str(error)}
    return found


def _round(calls: Sequence[Call], who: Caller, rules: Policy) -> float:
    gc.disable()
    try:
        begun = time.perf_counter()
        for call in calls:
            decide(call, who, rules)
        return (time.perf_counter() - begun) / len(calls) * 1e6
    finally:
        gc.enable()
