"""Recalls the few memories that are worth showing for a text, and counts their use.

Memories are stored in `archive`; words and ranks are computed in `words` and `ranking`.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.memory import ranking
from interlock.memory.words import query_terms
from interlock.policy.taint import PRIVATE
from interlock.store.knowledge import memories, memory_writes
from interlock.store.tx import Ask, Tx

RECALLED = 5
"""Source: numbers, "Memory"."""
MOST = 1_000
"""The most memories listed without a query."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recalled memory. `labels` are the taint that its readers acquire."""

    id: str
    type: str
    text: str
    importance: float
    score: float
    """0 to 1, greater being better."""
    labels: frozenset[str]
    created_at: datetime
    decay: float = 1.0
    person_id: str | None = None
    """Whom it was heard from."""
    run_id: str | None = None
    """In which run it was kept."""


def candidates(
    project_id: str, persona: str, text: str, person_id: str | None = None, *, rehearsal: bool = False
) -> Ask:  # fmt: skip
    """The statement whose rows `best` takes, to be combined with other reads."""
    return memories.candidates(project_id, persona, query_terms(text), person_id, rehearsal=rehearsal)


def best(
    rows: Iterable[Any],
    now: datetime,
    most: int = RECALLED,
    person_id: str | None = None,
    *,
    in_sight: Container[str | None] = (),
) -> list[Recalled]:
    """The best of the rows of `candidates`, best first, each once.

    Memories without a word in common must be important, and belong to nobody or to the person who speaks. Conversations
    of runs `in_sight` are left out, because they are shown anyway.
    """
    found: dict[str, Any] = {}
    for row in rows:
        if row.type == "conversation" and row.run_id in in_sight:
            continue
        if row.weight or row.person_id in (None, person_id):
            found.setdefault(row.id, row)
    return _ranked(found.values(), now, most)


def recall(
    tx: Tx,
    project_id: str,
    persona: str,
    text: str,
    now: datetime,
    person_id: str | None = None,
    most: int = RECALLED,
    *,
    rehearsal: bool = False,
) -> list[Recalled]:
    """The memories of a persona that are worth showing for a text, best first: matching ones, and important ones.

    Conversations are recalled only for the `person_id` they were with. Reads only: uses are counted by `used`.
    Source: row H3.
    """
    rows = tx.rows(*candidates(project_id, persona, text, person_id, rehearsal=rehearsal))
    return best(rows, now, most, person_id)


def search(
    tx: Tx,
    project_id: str,
    persona: str,
    text: str,
    now: datetime,
    person_id: str | None = None,
    most: int = RECALLED,
    *,
    kinds: Sequence[str] = (),
    rehearsal: bool = False,
) -> list[Recalled]:
    """The memories that match a text, best first; without words, the most important ones. Source: row H4."""
    words = query_terms(text)
    if words:
        rows = memories.fitting(tx, project_id, persona, words, person_id, rehearsal=rehearsal)
    else:
        rows = memories.most_important(tx, project_id, persona, MOST, person_id, rehearsal=rehearsal)
    return _ranked([row for row in rows if not kinds or row.type in kinds], now, most)


def search_each(
    tx: Tx, project_id: str, scopes: Sequence[str], text: str, now: datetime, most: int, *, kinds: Sequence[str] = ()
) -> list[tuple[str, Recalled]]:
    """The memories of several scopes that match a text, each with its scope; all asked for together."""
    found = memories.fitting_each(tx, project_id, scopes, query_terms(text))
    return [
        (scope, each)
        for scope, rows in zip(scopes, found, strict=True)
        for each in _ranked([row for row in rows if not kinds or row.type in kinds], now, most)
    ]


def most_important(
    tx: Tx, project_id: str, scopes: Sequence[str], now: datetime, most: int, *, kinds: Sequence[str] = ()
) -> list[tuple[str, Recalled]]:
    """The most important memories of several scopes, each with its scope; one statement, whatever their number."""
    rows = {row.id: row for row in memories.weightiest_of(tx, project_id, scopes, kinds, MOST)}
    return [(rows[each.id].scope, each) for each in _ranked(rows.values(), now, most)]


def used(tx: Tx, ids: Sequence[str], now: datetime) -> None:
    """Counts uses of memories, and resets their decay."""
    memory_writes.used(tx, ids, now)


def as_recalled(row: Any, now: datetime, weight: int = 0) -> Recalled:
    """A row as a recalled memory."""
    return _recalled(row, _worth(row, now, weight))


def _worth(row: Any, now: datetime, weight: int) -> float:
    return ranking.score(weight, row.length, row.importance, row.decay, now - row.created_at)


def _recalled(row: Any, worth: float) -> Recalled:
    return Recalled(
        row.id, row.type, row.text, row.importance, worth, frozenset({*row.labels, PRIVATE}), row.created_at,
        row.decay, row.person_id, row.run_id,
    )  # fmt: skip


def _ranked(rows: Iterable[Any], now: datetime, most: int) -> list[Recalled]:
    found = [(_worth(row, now, row.weight), row.id, row) for row in rows]
    found.sort(key=lambda each: each[:2], reverse=True)
    return [_recalled(row, worth) for worth, _, row in found[:most]]
