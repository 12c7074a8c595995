"""Helpers to store and recall memories in tests; no test and no check lives here."""

from datetime import UTC, datetime, timedelta
from typing import Any

from interlock.core.values import Actor, ActorKind
from interlock.memory import archive, recall
from interlock.memory.archive import Kept, Note
from interlock.memory.recall import Recalled
from interlock.store.engine import Store
from interlock.store.knowledge import memory_versions

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROJECT, OTHER = "demo", "other"
ANN = Actor(ActorKind.HUMAN, "per_ann")
CODER = Actor(ActorKind.AGENT, "agent1")


def after(days: float) -> datetime:
    """A time so many days after the start of the tests."""
    return NOW + timedelta(days=days)


def note(text: str, **more: Any) -> Note:
    """A memory of the project's coder."""
    given: dict[str, Any] = {"project_id": PROJECT, "persona": "coder", "type": "fact", "text": text, **more}
    return Note(**given)


async def keep(store: Store, text: str, *, days: float = 0, **more: Any) -> Kept:
    """Stores a memory."""
    return await store.write(archive.keep, note(text, **more), CODER, "because", after(days))


async def recalled(store: Store, text: str, *, days: float = 0, persona: str = "coder", **more: Any) -> list[Recalled]:
    """The memories recalled for a text."""
    project = more.pop("project", PROJECT)
    return await store.read(lambda tx: recall.recall(tx, project, persona, text, after(days), **more))


async def found(store: Store, text: str, *, persona: str = "coder", **more: Any) -> list[str]:
    """The texts that a search finds, best first."""
    project = more.pop("project", PROJECT)
    rows = await store.read(lambda tx: recall.search(tx, project, persona, text, NOW, **more))
    return [row.text for row in rows]


async def versions(store: Store, ident: str) -> list[tuple[int, str, str]]:
    """Number, author and reason of each version."""
    rows = await store.read(memory_versions.of, ident)
    return [(row.version, row.author_id, row.reason) for row in rows]
