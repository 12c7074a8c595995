"""Where a conversation can be cut in two: the older part is summarised, the newer part stays as it is.

Whether that is due, and who writes the summary, is `compaction`'s job. Nothing here reads or writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from interlock.agents.history import window
from interlock.agents.history.conversation import ASSISTANT, CALL, messages_of
from interlock.agents.history.history_repair import joined, mended
from interlock.llm.messages import Block, Message, Text, ToolResult
from interlock.llm.tokens import message_tokens

LEAST_GAIN = 0.1
"""Of what a conversation may grow to: what a cut must save at least."""
SHORTENINGS = (4_000, 1_000, 300, 100)
"""Characters that are left of each long text, where what is to be summed up is too long to be read."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is cut: runs from `from_seq` on stay, and of run `run_id` the rows from `position` on.

    `older` is what was said before it.
    """

    older: tuple[Message, ...]
    from_seq: int
    run_id: str | None = None
    position: int | None = None


def cut(
    history: Sequence[Any], own: Sequence[Any], marker: Any | None, *, seq: int, keep_tokens: int, least_tokens: int
) -> Cut | None:
    """Where to cut a run's conversation so that about `keep_tokens` of it stay; None if that saves too little.

    Rows as `window` takes them; `seq` is the run's own place in its mailbox. The last turn stays whatever its length.
    INVARIANT: a call and its result are on the same side, and so is all that an earlier run has said.
    """
    woke = window.opening_rows(own)
    start = marker.position if marker is not None and marker.position is not None else 0
    turns = _turns([row for row in own[len(woke) :] if row.position >= start])
    kept, room = _kept([_tokens(turn) for turn in turns], keep_tokens, least=1)
    if kept < len(turns):
        older = [row for turn in turns[: len(turns) - kept] for row in turn]
        messages, _ = joined(window.earlier(history, marker), messages_of([*woke, *older]))
        return _worth(Cut(tuple(messages), seq, own[0].run_id, turns[-kept][0].position), least_tokens)
    runs = [list(rows) for _, rows in groupby(history, key=lambda row: row.run_id)]
    kept, _ = _kept([_tokens(run) for run in runs], room)
    if kept == len(runs):
        return None
    older = [row for run in runs[: len(runs) - kept] for row in run]
    later = runs[len(runs) - kept :]
    is_within = marker is not None and any(run[0].run_id == marker.run_id for run in later)
    within = (marker.run_id, marker.position) if marker is not None and is_within else (None, None)
    return _worth(Cut(tuple(window.earlier(older, marker)), later[0][0].seq if later else seq, *within), least_tokens)


def everything(own: Sequence[Any], seq: int) -> Cut:
    """A cut after which only the message that woke the run is left."""
    return Cut((), seq, own[0].run_id, max(row.position for row in own) + 1)


def fitting(messages: Sequence[Message], room_tokens: int) -> list[Message] | None:
    """The messages with their long texts shortened until they fit; None if they do not fit even so."""
    out = list(messages)
    for limit in (None, *SHORTENINGS):
        out = out if limit is None else [Message(m.role, tuple(_shortened(b, limit) for b in m.blocks)) for m in out]
        if sum(map(message_tokens, out)) <= room_tokens:
            return out
    while out and sum(map(message_tokens, out)) > room_tokens:
        out = mended(out[1:])
    return out or None


def _worth(found: Cut, least_tokens: int) -> Cut | None:
    return found if sum(map(message_tokens, found.older)) >= least_tokens else None


def _turns(rows: Sequence[Any]) -> list[list[Any]]:
    """Rows after the message that woke a run, by turns: the model's message, and what followed it."""
    turns: list[list[Any]] = []
    is_told = True
    for row in rows:
        is_said = row.message_type in (ASSISTANT, CALL)
        if is_said and is_told:
            turns.append([])
        if turns:
            turns[-1].append(row)
        is_told = not is_said
    return turns


def _kept(sizes: Sequence[int], room: int, *, least: int = 0) -> tuple[int, int]:
    """How many of the last ones fit, and what is left of the room then."""
    kept = 0
    for size in reversed(sizes):
        if size > room and kept >= least:
            break
        kept, room = kept + 1, max(0, room - size)
    return kept, room


def _tokens(rows: Sequence[Any]) -> int:
    return sum(map(message_tokens, messages_of(rows)))


def _shortened(block: Block, limit: int) -> Block:
    match block:
        case Text(text) if len(text) > limit:
            return Text(_middle_out(text, limit))
        case ToolResult(call_id, content, is_error) if len(content) > limit:
            return ToolResult(call_id, _middle_out(content, limit), is_error)
    return block


def _middle_out(text: str, limit: int) -> str:
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
