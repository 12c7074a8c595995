"""What is left of a run after SIGKILL: each variant is killed in its second tool call, and another process continues.

Nothing is timed. Two model calls and one tool call were finished by then; what the second process repeats was lost.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.databases import Databases, databases
from bench.peers.driver import ANSWER, MODEL_CALLS, TOOL_CALLS
from bench.peers.environment import PeerFailed, Process, python_of, work_folder

NAME = "what is left of a run that is killed with SIGKILL in its second tool call"
NUMBER, DIES_AT = 7, 2
RECOVERY_S = 60.0


@dataclass(frozen=True)
class Victim:
    """A variant; if it can resume, the way is called `resume`, otherwise its user can only ask again."""

    key: str
    label: str
    module: str
    engine: str = "sqlite"
    peer: str | None = None
    resumes: bool = True


VICTIMS = (
    Victim("interlock_sqlite", "Interlock, SQLite", "bench.durable_job"),
    Victim("interlock_postgresql", "Interlock, PostgreSQL", "bench.durable_job", "postgresql"),
    Victim("langchain_sqlite", "langchain create_agent, SQLite checkpointer, sync", "bench.peers.langchain.job",
           peer="langchain"),
    Victim("langchain_postgresql", "the same, PostgreSQL checkpointer", "bench.peers.langchain.job", "postgresql",
           "langchain"),
    Victim("pydantic_ai_dbos_sqlite", "pydantic-ai on DBOS, SQLite", "bench.peers.pydantic_ai.job",
           peer="pydantic_ai"),
    Victim("agno_sqlite", "agno, SQLite", "bench.peers.agno.job", peer="agno", resumes=False),
    Victim("agent_framework", "agent-framework-core, nothing stored", "bench.peers.agent_framework.job",
           peer="agent_framework", resumes=False),
)  # fmt: skip


def run(quick: bool) -> dict[str, Any]:
    """Model and tool calls that were repeated after the kill, by variant."""
    found: dict[str, Any] = {}
    with work_folder() as folder, databases(folder) as made:
        for victim in VICTIMS:
            try:
                found[victim.key] = killed(victim, made)
            except PeerFailed as error:
                if victim.peer is None:
                    raise
                found[victim.key] = {"left_out": str(error)}
    return {"left": found}


def killed(victim: Victim, made: Databases) -> dict[str, Any]:
    """The calls that one variant repeats. Raises PeerFailed if it does not finish."""
    python = python_of(victim.peer) if victim.peer else sys.executable
    command = [python, "-m", victim.module, "--database", made.url(victim.engine), "--once", str(NUMBER)]
    first = Process([*command, "--die-at", str(DIES_AT)])
    try:
        first.told()
        if (code := first.popen.wait(RECOVERY_S)) != -9:
            raise PeerFailed(f"the process ended with {code} before it could be killed: {first.last_words()}")
    finally:
        first.kill()
    second = Process([*command, *(("--way", "resume") if victim.resumes else ())])
    try:
        second.told(RECOVERY_S)
        told = second.told(RECOVERY_S)
        second.end()
    finally:
        second.kill()
    if told["answer"] != ANSWER:
        raise PeerFailed(f"the run ended with `{told['answer']}`")
    model, tool = (told[f"{kind}_calls"] for kind in ("model", "tool"))
    again = {"model_calls_again": model - (MODEL_CALLS - DIES_AT), "tool_calls_again": tool - (TOOL_CALLS - DIES_AT)}
    return {**again, "left": _left(**again)}


def _left(*, model_calls_again: int, tool_calls_again: int) -> str:
    """The call in which the process died was unfinished: repeating it loses nothing."""
    if model_calls_again <= 0 and tool_calls_again <= 1:
        return "all steps"
    if model_calls_again >= DIES_AT and tool_calls_again >= DIES_AT:
        return "nothing"
    return "some steps"


def table(figures: Mapping[str, Any]) -> str:
    """What is left, by variant."""
    lines = [f"  {'':52}{'left':12}{'model calls again':>19}{'tool calls again':>18}"]
    for victim in VICTIMS:
        told = figures["left"][victim.key]
        if "left_out" in told:
            lines.append(f"  {victim.label:52}left out: {told['left_out']}")
        else:
            model, tool = told["model_calls_again"], told["tool_calls_again"]
            lines.append(f"  {victim.label:52}{told['left']:12}{model:>19}{tool:>18}")
    return "\n".join(lines)
