"""Core memory: blocks that are always in a persona's prompt, which it edits itself and may share with others.

INVARIANT: each change is a version with its author and reason, and no block is overwritten by somebody who has not
seen its content. Rendering in prompts is done elsewhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.values import Actor
from interlock.memory.archive import NoVersion, Secret, secret_in
from interlock.policy.taint import PRIVATE
from interlock.store.knowledge import blocks as rows
from interlock.store.knowledge import memory_versions
from interlock.store.tx import Ask, Tx

MOST_CHARS = 4_000
"""Of a block."""
MOST_BLOCKS = 12
"""Of a persona."""
LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Block:
    """A block as shown to its holder. `labels` are the taint that readers acquire."""

    id: str
    label: str
    content: str
    labels: frozenset[str]
    can_write: bool
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a block: new `content`, a text to `append`, or `new` in place of `old`."""

    content: str | None = None
    append: str | None = None
    old: str | None = None
    new: str | None = None
    seen: int | None = None
    """The version that its author saw; None if only the time is known."""
    since: datetime | None = None
    """When its author was shown the block; later changes by others are unseen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """Who edits blocks, in which project and for whom, with the taint of what is written."""

    project_id: str
    persona: str
    author: Actor
    labels: Sequence[str] = ()
    run_id: str | None = None
    call_id: str | None = None
    """The id of an agent's call; a repeated call changes nothing more."""


def as_seen(change: Edit, since: datetime | None) -> Edit:
    """The same change, by somebody who was shown the block at that time."""
    return replace(change, since=since)


class Changed(Conflict):
    """The block has changed since its author saw it."""

    def __init__(self, row: Any) -> None:
        super().__init__(
            f"the block `{row.label}` was changed in the meantime and nothing was written: it is now version "
            f"{row.version} and reads: {row.content}"
        )


def select_held(project_id: str, persona: str) -> Ask:
    """The statement whose rows `blocks_of` takes, to be combined with other reads."""
    return rows.select_held(project_id, persona)


def blocks_of(found: Iterable[Any]) -> list[Block]:
    """The blocks in the rows of `select_held`."""
    return [_block(row) for row in found]


def held(tx: Tx, project_id: str, persona: str) -> list[Block]:
    """The blocks of a persona, always in the same order. Source: row H2."""
    return blocks_of(tx.rows(*select_held(project_id, persona)))


def edit(tx: Tx, who: Editor, label: str, change: Edit, reason: str, now: datetime) -> Block:
    """Changes a block of a persona, creating it if there is none of that name; returns the block afterwards.

    Raises Changed if its content is not what `who` has seen, Refused if it is read-only, UsageError for an invalid
    edit, Secret.
    """
    held = rows.by_label(tx, who.project_id, who.persona, label)
    if held is None:
        rows.lock(tx, who.project_id, who.persona)
        held = rows.by_label(tx, who.project_id, who.persona, label)
    if held is None:
        return _made(tx, who, label, change, reason, now)
    if not held.can_write:
        raise Refused(f"the block `{label}` can only be read here: whoever shares it writes it")
    row = rows.block(tx, held.id, to_change=True)
    if row is None:
        raise UsageError(f"the block `{label}` is gone: write it anew")
    if memory_versions.by_call(tx, row.id, who.call_id) is not None:
        return _block(held._replace(**row._asdict()))
    content = _checked(label, _changed(tx, who, row, change))
    kept = () if change.content is not None else row.labels
    labels = sorted({*who.labels, *kept})
    if content != row.content or labels != list(row.labels):
        version = rows.write(tx, row, content, labels, now)
        _version(tx, who, row.id, version, label, content, labels, reason, now)
        row = row._replace(content=content, labels=labels, version=version)
    return _block(held._replace(**row._asdict()))


def share(tx: Tx, block_id: str, persona: str, *, can_write: bool) -> None:
    """Shares a block with another persona, or changes whether that one may write it.

    Raises NotFound, Conflict if it has another block of that name, UsageError if it has too many.
    """
    row = _known(tx, block_id)
    rows.lock(tx, row.project_id, persona)
    held = rows.held(tx, row.project_id, persona)
    others = [each for each in held if each.id != row.id]
    if any(each.label == row.label for each in others):
        raise Conflict(f"`{persona}` has a block `{row.label}` of its own")
    if len(others) >= MOST_BLOCKS:
        raise UsageError(f"`{persona}` has {len(others)} blocks already, which is as many as fit")
    rows.hold(tx, row, persona, can_write=can_write)
    if not any(each.persona == persona for each in rows.holders(tx, row.id)):
        raise Conflict(f"`{persona}` has just got a block `{row.label}` of its own")


def restore(tx: Tx, block_id: str, number: int, author: Actor, now: datetime) -> int:
    """Makes an earlier version of a block the current one; returns its new version.

    Raises NotFound for an unknown block or version. Source: row H7.
    """
    row, old = rows.block(tx, block_id, to_change=True), memory_versions.version(tx, block_id, number)
    if row is None:
        raise NoBlock(block_id)
    if old is None:
        raise NoVersion("block", block_id, number)
    content, labels = old.content["content"], old.content["labels"]
    version = rows.write(tx, row, content, labels, now)
    kept = {"label": row.label, "content": content, "labels": labels}
    memory_versions.write(tx, block_id, version, kept, author, f"restored version {number}", now)
    return version


class NoBlock(NotFound):
    """No block with that id."""

    def __init__(self, ident: str) -> None:
        super().__init__("block", ident)
        self.args = (f"no block `{ident}`: `interlock memory search` lists what there is",)


def _made(tx: Tx, who: Editor, label: str, change: Edit, reason: str, now: datetime) -> Block:
    if change.old is not None:
        raise UsageError(f"you have no block `{label}` in which something could be replaced: write its `content`")
    if not label.strip() or len(label) > LONGEST_LABEL or any(not char.isprintable() for char in label):
        raise UsageError(f"a block's label is a line of 1 to {LONGEST_LABEL} characters")
    content = _checked(label, change.content if change.content is not None else change.append or "")
    if (kind := secret_in(label)) is not None:
        raise Secret(kind)
    held = rows.held(tx, who.project_id, who.persona)
    if len(held) >= MOST_BLOCKS:
        names = ", ".join(f"`{row.label}`" for row in held)
        raise UsageError(f"you have {len(held)} blocks, which is as many as fit: write into one of {names}")
    block_id, labels = new_id("blk"), sorted(who.labels)
    rows.add(tx, block_id, who.project_id, label, content, labels, now)
    row = _known(tx, block_id)
    rows.hold(tx, row, who.persona, can_write=True)
    held_now = rows.by_label(tx, who.project_id, who.persona, label)
    if held_now is None or held_now.id != block_id:
        raise Changed(held_now or row)
    _version(tx, who, block_id, 1, label, content, labels, reason, now)
    return Block(block_id, label, content, frozenset({*labels, PRIVATE}), can_write=True)


def _changed(tx: Tx, who: Editor, row: Any, change: Edit) -> str:
    """The new content of a block, which is locked against concurrent changes."""
    if change.seen is not None and change.seen != row.version:
        raise Changed(row)
    if change.append is not None:
        return f"{row.content}\n{change.append}" if row.content else change.append
    if change.old is not None:
        found = row.content.count(change.old)
        if found == 0:
            raise Changed(row)
        if found > 1:
            raise UsageError(f"`old` is {found} times in the block `{row.label}`: give more of what stands around it")
        return str(row.content.replace(change.old, change.new or ""))
    if change.content is None:
        raise UsageError("say what changes: `content`, `append`, or `old` with `new`")
    if change.seen is None and _unseen(tx, who, row, change):
        raise Changed(row)
    return change.content


def _unseen(tx: Tx, who: Editor, row: Any, change: Edit) -> bool:
    """Whether the block was last written by others, after its author was shown it."""
    last = memory_versions.latest(tx, row.id)
    if last is None or change.since is None or last.created_at < change.since:
        return False
    return who.run_id is None or last.content.get("run") != who.run_id


def _checked(label: str, content: str) -> str:
    if (kind := secret_in(content)) is not None:
        raise Secret(kind)
    if len(content) > MOST_CHARS:
        raise UsageError(
            f"the block `{label}` would have {len(content):,} characters, {MOST_CHARS:,} fit: shorten it, or keep the "
            "rest with store_memory"
        )
    return content


def _version(
    tx: Tx, who: Editor, block_id: str, number: int, label: str, content: str, labels: Sequence[str], reason: str,
    now: datetime,
) -> None:  # fmt: skip
    kept = {"label": label, "content": content, "labels": list(labels), "run": who.run_id, "persona": who.persona}
    memory_versions.write(tx, block_id, number, kept, who.author, reason, now, who.call_id)


def _known(tx: Tx, block_id: str) -> Any:
    row = rows.block(tx, block_id)
    if row is None:
        raise NoBlock(block_id)
    return row


def _block(row: Any) -> Block:
    labels = frozenset({*row.labels, PRIVATE})
    return Block(row.id, row.label, row.content, labels, bool(row.can_write), row.version)
