"""The time to build a system prompt: every layer with eight tools, seven instruction files and 20 messages.

Each round has another time, other memories, tasks and messages, so that these are rendered again; what stays the same
between runs is cached, as in a worker.
"""

import gc
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from interlock.agents.persona import load_personas
from interlock.agents.prompts.bootstrap import FILES, BootstrapFolder
from interlock.agents.prompts.prompt import LAYERS, LessonNote, PromptData, build_prompt
from interlock.agents.prompts.prompt_input import BlockNote, MemoryNote, Place, SaidNote, TaskNote
from interlock.agents.prompts.prompt_sources import Cleaner
from interlock.llm.tokens import text_tokens
from interlock.tools.builtin import builtin_tools
from interlock.tools.registry import Toolbox
from interlock.tools.secrets import Vault

NAME = "a system prompt, milliseconds: all layers and 20 messages"
TARGET_MS = 2.0
MESSAGES, MEMORIES, TASKS, BLOCKS = 20, 5, 10, 4
NOW = datetime(2026, 2, 8, 21, 30, tzinfo=UTC)
WORDS = (
    "Anna's numbers for Q3 are in + the vendor's offer (50 %) & its terms; see reports/q3.md, ask her before Friday. "
)


def run(quick: bool) -> dict[str, Any]:
    """The median and the worst of many prompts, and the first in a process."""
    rounds = 100 if quick else 1_000
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in FILES[:-1]:
            (place / name).write_text(f"# {name}\n\n" + WORDS * 20, "utf-8")
        began = time.perf_counter()
        found = BootstrapFolder(place, place / "workspaces").look_now()
        files_ms = (time.perf_counter() - began) * 1e3
    data = data_of(found.files)
    first_ms = _took_ms(data)
    times = [_took_ms(anew(data, number)) for number in range(1, rounds + 1)]
    prompt = build_prompt(data)
    median = statistics.median(times)
    return {
        "layers": f"{len(prompt.parts)} of {len(LAYERS)}",
        "tokens": sum(text_tokens(part.text) for part in prompt.parts),
        "files_read_ms": round(files_ms, 3),
        "first_ms": round(first_ms, 3),
        "median_ms": round(median, 3),
        "p99_ms": round(statistics.quantiles(times, n=100)[98], 3),
        "target_ms": TARGET_MS,
        "met": median <= TARGET_MS,
    }


def data_of(files: tuple[Any, ...]) -> PromptData:
    """The data of a prompt with every layer; a vault with six values masks it."""
    toolbox = Toolbox(builtin_tools())
    persona = load_personas(True, [], known_tools=frozenset(toolbox.names)).personas["coder"]
    clean = Cleaner(Vault(known={f"KEY_{n}": f"value-that-nobody-may-see-{n:04d}" for n in range(6)}))
    data = PromptData(
        persona=persona, tools=tuple(toolbox.offered(persona.offered_tools)), now=NOW, agent_id="agt1",
        project="acme", model="anthropic/claude-sonnet-5-5", timezone="Europe/Berlin", max_turns=10,
        run_budget_microusd=750_000, text_is_delivered=True, host="Linux x86_64", codebase=("a Git repository",),
        place=Place("room", channel="general"), heartbeat_s=1800.0, files=files, extra=WORDS, clean=clean,
        clean_lines=clean.lines,
        rules=tuple(LessonNote(f"les_{n}", "fix", WORDS, 0.9) for n in range(3)),
        lessons=tuple(LessonNote(f"les_1{n}", "fix", WORDS, 0.5, is_untrusted=n == 1) for n in range(5)),
        blocks=tuple(BlockNote(f"block {n}", WORDS * 5) for n in range(BLOCKS)),
    )  # fmt: skip
    return anew(data, 0)


def anew(data: PromptData, number: int) -> PromptData:
    """The same agent some minutes later, with other data."""
    now = NOW + timedelta(minutes=number)
    return replace(
        data,
        now=now,
        memories=tuple(MemoryNote(f"mem_{n}", "fact", f"{number}.{n}: {WORDS * 2}", 0.8, NOW) for n in range(MEMORIES)),
        tasks=tuple(TaskNote(f"tsk_{n}", f"{number}.{n}: compare", "ASSIGNED", "high") for n in range(TASKS)),
        said=tuple(SaidNote("person", "Anna", f"{number}.{n}: {WORDS * 3}", now) for n in range(MESSAGES)),
    )


def _took_ms(data: PromptData) -> float:
    gc.disable()
    try:
        began = time.perf_counter()
        build_prompt(data)
        return (time.perf_counter() - began) * 1e3
    finally:
        gc.enable()
