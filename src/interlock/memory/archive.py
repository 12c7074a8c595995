"""Stores memories: deduplicated, versioned with author and reason, and restorable after deletion.

Search is in `recall`; the scheduler lets memories fade.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from interlock.core.errors import Conflict, NotFound, UsageError
from interlock.core.ids import new_id
from interlock.core.values import Actor
from interlock.memory.ranking import Pace, faded, is_gone
from interlock.memory.words import same_text, words_of
from interlock.policy.secrets import first_secret
from interlock.settings.agency import MemorySettings
from interlock.store.knowledge import memories, memory_versions, memory_writes
from interlock.store.knowledge.memory_versions import ByCall
from interlock.store.tx import Tx

FACT, CONVERSATION, DECISION, OBSERVATION, LEARNING = KINDS = (
    "fact", "conversation", "decision", "observation", "learning",
)  # fmt: skip
LONGEST = 2_000
"""In characters."""
_AGAIN = 0.1
"""The increase in importance when a memory is stored again, and its maximum."""
_AGAIN_MOST = 0.85


_SAID = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pin|api[ -]?key|token)\b[\w ]{0,30}?\b(?:is|was|are)\b[ :]*[\"'`]?"
    r"(?=[^\s]*[\d!@#$%^&*_+=])[^\s]{4,}",
    re.IGNORECASE,
)
"""A password stated in a sentence."""


class Secret(UsageError):
    """A note that looks like it contains a secret."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"this looks like a secret ({kind}), which no memory may hold: leave it out, and name where it is kept"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something to remember; `importance` is 0 to 1, `labels` the taint of the author."""

    project_id: str
    persona: str
    type: str
    text: str
    importance: float = 0.5
    labels: Sequence[str] = ()
    person_id: str | None = None
    theirs_alone: bool = False
    """Whether it is recalled for that person only, as conversations are."""
    run_id: str | None = None
    call_id: str | None = None
    """Of the call by which an agent keeps it: made again, it keeps nothing more."""
    rehearsal: bool = False


class Kept(NamedTuple):
    """The result of storing a note: the memory, and whether it is new."""

    id: str
    is_new: bool


def secret_in(text: str) -> str | None:
    """The kind of secret that a text seems to contain; None if there is none. Source: row G8."""
    return first_secret(text) or ("password" if _SAID.search(text) else None)


def attributed(note: Note, person_id: str | None, *, theirs_alone: bool) -> Note:
    """The same note, attributed to a person."""
    return replace(note, person_id=person_id, theirs_alone=theirs_alone)


def keep(tx: Tx, note: Note, author: Actor, reason: str, now: datetime) -> Kept:
    """Stores a note. The same text is stored once: its importance grows, and its decay is reset.

    Raises Secret. Source: row H3.
    """
    text = note.text.strip()
    if (kind := secret_in(text)) is not None:
        raise Secret(kind)
    words, scope = words_of(text), _scope(note)
    memory_id, importance = new_id("mem"), min(max(note.importance, 0.0), 1.0)
    values = {
        "id": memory_id, "project_id": note.project_id, "persona": note.persona, "scope": scope, "type": note.type,
        "person_id": note.person_id, "text": text, "length": words.total(), "importance": importance,
        "digest": same_text(text), "labels": sorted(note.labels), "run_id": note.run_id, "created_at": now,
        "used_at": now, "decayed_at": now,
    }  # fmt: skip
    row = memory_writes.add(tx, values)
    if row.id != memory_id:
        return _again(tx, row, note, importance, author, reason, now)
    memory_writes.index(tx, memory_id, note.project_id, scope, words)
    _version(tx, memory_id, 1, values, author, reason, now, note.call_id)
    return Kept(memory_id, is_new=True)


def _scope(note: Note) -> str:
    kind = CONVERSATION if note.theirs_alone else note.type
    return memories.scope_of(note.persona, kind, note.person_id, rehearsal=note.rehearsal)


def _again(tx: Tx, row: Any, note: Note, importance: float, author: Actor, reason: str, now: datetime) -> Kept:
    if memory_versions.by_call(tx, row.id, note.call_id) is not None:
        return Kept(row.id, is_new=True)
    matters = max(row.importance, importance, min(row.importance + _AGAIN, _AGAIN_MOST))
    changes = {
        "importance": round(matters, 6),
        "type": row.type if row.type == FACT else note.type,
        "labels": sorted({*row.labels, *note.labels}),
        "person_id": row.person_id if row.person_id == note.person_id else None,
        "archived_at": None,
    }  # fmt: skip
    if any(getattr(row, name) != value for name, value in changes.items()):
        _rewrite(tx, row, changes, author, f"kept again: {reason}", now, note.call_id)
    memory_writes.used(tx, [row.id], now)
    return Kept(row.id, is_new=False)


def forget(tx: Tx, memory_id: str, author: Actor, reason: str, now: datetime) -> None:
    """Archives a memory: it is no longer shown, but any version of it can be restored.

    Raises NotFound, and Conflict if it is already archived.
    """
    row = _held(tx, memory_id)
    if row.archived_at is not None:
        raise Conflict(f"memory `{memory_id}` is put away already: `interlock memory versions {memory_id}` says why")
    _rewrite(tx, row, {"archived_at": now}, author, reason, now)


def restore(tx: Tx, memory_id: str, number: int, author: Actor, now: datetime) -> int:
    """Makes an earlier version of a memory the current one and resets its decay; returns its new version.

    Raises NotFound, and Conflict if another memory has the same text. Source: row H7.
    """
    row, old = _held(tx, memory_id), memory_versions.version(tx, memory_id, number)
    if old is None:
        raise NoVersion("memory", memory_id, number)
    content = {name: old.content[name] for name in ("text", "type", "importance", "labels")}
    other = memory_writes.same(tx, row.project_id, row.scope, same_text(content["text"]))
    if other is not None and other.id != memory_id:
        raise Conflict(f"memory `{other.id}` says the same: look with `interlock memory show {other.id}`")
    version = _rewrite(tx, row, {**content, "archived_at": None}, author, f"restored version {number}", now)
    memory_writes.used(tx, [memory_id], now)
    return version


class NoMemory(NotFound):
    """No memory with that id."""

    def __init__(self, ident: str) -> None:
        super().__init__("memory", ident, "memory search")


class NoVersion(NotFound):
    """No version of that number of a memory or a block."""

    def __init__(self, what: str, ident: str, number: int) -> None:
        message = f"{what} `{ident}` has no version {number}: `interlock memory versions {ident}` lists them"
        super().__init__("version", str(number), message=message)


def age(tx: Tx, rows: Sequence[Any], pace: Pace, by: Actor, now: datetime) -> int:
    """Stores the decay of unused memories, and archives those that are forgotten by it.

    Returns how many were archived; memories used in the meantime are skipped. Source: row H3.
    """
    forgotten = 0
    for row in rows:
        left = faded(row.decay, row.decayed_at, now, pace)
        if left is None or not memory_writes.fade(tx, row.id, *left, row.decayed_at):
            continue
        if is_gone(left[0], row.type, row.importance, pace):
            forget(tx, row.id, by, f"not used for {(now - row.used_at).days} days", now)
            forgotten += 1
    return forgotten


def pace_of(settings: MemorySettings) -> Pace:
    """The decay parameters from the settings."""
    return Pace(settings.daily_decay, settings.remove_below, settings.keep_importance)


def _held(tx: Tx, memory_id: str) -> Any:
    row = memory_writes.to_change(tx, memory_id)
    if row is None:
        raise NoMemory(memory_id)
    return row


def _rewrite(
    tx: Tx, row: Any, changes: Mapping[str, Any], author: Actor, reason: str, now: datetime, call: ByCall = None
) -> int:
    """Changes a memory and its index, and writes the version."""
    text = str(changes.get("text", row.text))
    words = words_of(text)
    derived = {"digest": same_text(text), "length": words.total()} if text != row.text else {}
    version = memory_writes.change(tx, row, {**changes, **derived})
    was_live, is_live = row.archived_at is None, changes.get("archived_at", row.archived_at) is None
    if was_live and (derived or not is_live):
        memory_writes.unindex(tx, row.id)
    if is_live and (derived or not was_live):
        memory_writes.index(tx, row.id, row.project_id, row.scope, words)
    _version(tx, row.id, version, {**row._asdict(), **changes}, author, reason, now, call)
    return version


def _version(
    tx: Tx, memory_id: str, number: int, values: Mapping[str, Any], author: Actor, reason: str, now: datetime,
    call: ByCall = None,
) -> None:  # fmt: skip
    content = {name: values[name] for name in ("text", "type", "importance", "labels")}
    if values.get("archived_at") is not None:
        content["archived"] = True
    memory_versions.write(tx, memory_id, number, content, author, reason, now, call)
