"""Recalling matching memories among 10,000 of one persona, and storing another one, on both databases.

Word frequencies of memories and queries are as unequal as those of a language.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

from bench.databases import databases
from interlock.core.values import SYSTEM
from interlock.memory import archive, blocks, recall
from interlock.memory.archive import KINDS, Note
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate

NAME = "memory: recalling five of 10,000 memories"
GOAL_MS = 5.0
"""For the median on SQLite, with a message of eight words."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT, PERSONA = "bench", "coder"
VOCABULARY, WORDS = 8_000, 18
"""Words there are, and words of a memory."""
_SOUNDS = ("bcdfghklmnprst", "aeiou", "bcdfgklmnprt", "aeiou", "bdgklmnprtx")


def run(quick: bool) -> dict[str, Any]:
    """Milliseconds per recall by the words of a message, and for words that match nothing."""
    count, rounds = (1_000, 50) if quick else (10_000, 300)
    with tempfile.TemporaryDirectory() as folder, databases(Path(folder)) as found:
        figures: dict[str, Any] = {"memories": count, "goal_ms": GOAL_MS}
        for engine in ("sqlite", "postgresql"):
            figures |= asyncio.run(_measured(engine, found.url(engine), count, rounds))
    return figures


async def _measured(engine: str, url: str, count: int, rounds: int) -> dict[str, Any]:
    chance, figures = Random(1), {}
    words = ["".join(chance.choice(sounds) for sounds in _SOUNDS) + str(at) for at in range(VOCABULARY)]
    weights = [1 / (at + 10) for at in range(VOCABULARY)]

    def some(many: int) -> str:
        return " ".join(chance.choices(words, weights, k=many))

    await migrate.upgrade(url)
    async with Store(url) as store:
        await store.write(squad.ensure_project, PROJECT, "UTC", NOW)
        for at in range(0, count, 500):
            await store.write(_fill, [some(WORDS) for _ in range(min(500, count - at))], chance)
        for many in (3, 8, 30):
            asked = [some(many) for _ in range(rounds)]
            figures[f"{engine}_recall_{many}_words_ms"] = await store.read(_timed, _recalls(asked, PERSONA))
        figures[f"{engine}_nothing_kept_ms"] = await store.read(_timed, _recalls([some(8)] * rounds, "qa"))
        figures[f"{engine}_keep_ms"] = await _kept(store, [some(WORDS) for _ in range(rounds)])
    return figures


def _fill(tx: Tx, texts: list[str], chance: Random) -> None:
    for text in texts:
        note = Note(
            project_id=PROJECT, persona=PERSONA, type=chance.choice(KINDS), text=text, importance=chance.random()
        )
        archive.keep(tx, note, SYSTEM, "bench", NOW - timedelta(days=90 * chance.random()))


def _recalls(asked: list[str], persona: str) -> list[Callable[[Tx], object]]:
    def one(text: str) -> Callable[[Tx], object]:
        return lambda tx: (recall.recall(tx, PROJECT, persona, text, NOW), blocks.held(tx, PROJECT, persona))

    return [one(text) for text in asked]


def _timed(tx: Tx, work: list[Callable[[Tx], object]]) -> dict[str, float]:
    took = []
    for each in work:
        begun = perf_counter()
        each(tx)
        took.append((perf_counter() - begun) * 1_000)
    return _told(took)


async def _kept(store: Store, texts: list[str]) -> dict[str, float]:
    took = []
    for text in texts:
        note = Note(project_id=PROJECT, persona=PERSONA, type="fact", text=text)
        begun = perf_counter()
        await store.write(archive.keep, note, SYSTEM, "bench", NOW)
        took.append((perf_counter() - begun) * 1_000)
    return _told(took)


def _told(took: list[float]) -> dict[str, float]:
    took.sort()
    return {
        "median": round(statistics.median(took), 3), "p95": round(took[len(took) * 95 // 100], 3),
        "max": round(took[-1], 3),
    }  # fmt: skip
