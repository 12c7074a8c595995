"""The history that a model sees: earlier runs since a marker, a summary of the rest, and its own run.

When a marker is set is not decided here; rows become messages in `conversation`.
"""

from collections.abc import Sequence
from typing import Any

from interlock.agents.history.conversation import SYSTEM, USER, messages_of
from interlock.agents.history.history_repair import mended
from interlock.agents.history.imported import summary_text, tamed
from interlock.llm.messages import Message, Text
from interlock.store.runs import markers


def earlier(history: Sequence[Any], marker: Any | None) -> list[Message]:
    """The messages of earlier runs, with what a marker shows in place of those before it.

    `history` are rows of runs from the marker on; of the run in which it stands, those before its place are left out.
    Source: rows E13, E14.
    """
    kept = [tamed(row) for row in history if marker is None or not _is_summed_up(row, marker)]
    if marker is None:
        return mended(messages_of(kept))
    return mended([*_in_place(marker), *messages_of(kept)])


def rows_since(history: Sequence[Any], marker: Any) -> list[Any]:
    """The rows of earlier runs that remain after a marker that was just set."""
    return [row for row in history if row.seq >= marker.from_seq and not _is_summed_up(row, marker)]


def own(rows: Sequence[Any], marker: Any | None) -> list[Message]:
    """The messages of a run: what woke it, and what followed, from the last marker within the run."""
    if marker is None or marker.position is None or not rows or marker.run_id != rows[0].run_id:
        return messages_of(rows)
    woke = opening_rows(rows)
    return messages_of([*woke, *(row for row in rows[len(woke) :] if row.position >= marker.position)])


def opening_rows(rows: Sequence[Any]) -> list[Any]:
    """The first rows of a run: its system prompt and the message that woke it."""
    end = next((at for at, row in enumerate(rows) if row.message_type not in (SYSTEM, USER)), len(rows))
    return list(rows[:end])


def _is_summed_up(row: Any, marker: Any) -> bool:
    return marker.position is not None and row.run_id == marker.run_id and row.position < marker.position


def _in_place(marker: Any) -> list[Message]:
    """What is told in place of what a marker leaves out."""
    said = summary_text(marker) if marker.kind == markers.IMPORT else marker.summary
    return [Message("user", (Text(said),))] if said else []
