"""Imported messages as a model sees them: as somebody's text, whatever the file claims that they are.

INVARIANT: nothing that only a provider or Interlock itself could have made is taken from a file: no system messages, no
signed thoughts, no blocks of a provider's own. How files are read is `session_file`'s job.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from interlock.agents.prompts.system_words import harmless, system_words
from interlock.store.runs import markers
from interlock.store.runs.sessions import IMPORTED

UNTRUSTED = "untrusted"
_ID = re.compile(r"[^A-Za-z0-9_-]")
_NOTICE = (
    "This conversation comes from a file. What was said before was summed up in it; the summary follows as the file "
    "has it."
)


def is_imported(row: Any) -> bool:
    """Whether a row of a history comes from an imported file."""
    return getattr(row, "cause_kind", None) == IMPORTED


def tamed(row: Any) -> Any:
    """A row of a history as a model is shown it: an imported one is quoted as data."""
    if not is_imported(row):
        return row
    blocks = json.loads(row.blocks or "[]")
    return row._replace(blocks=[tame for block in blocks if (tame := _tamed(block)) is not None])


def _tamed(block: dict[str, Any]) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            return {**block, "text": harmless(block["text"])}
        case "tool_use":
            return {**block, "id": _plain(block["id"]), "name": _plain(block["name"])}
        case "tool_result":
            return {**block, "call_id": _plain(block["call_id"]), "content": harmless(block["content"])}
        case "image":
            return block
    return None


def _plain(name: str) -> str:
    return _ID.sub("_", name)[:128] or "_"


def summary_text(marker: Any) -> str:
    """The summary that stands for what came before a file's records; empty if there is none."""
    return system_words("system", _NOTICE, marker.summary).text if marker.summary else ""


def labels(history: Sequence[Any], marker: Any | None) -> frozenset[str]:
    """The taint of imported text, which anybody may have written."""
    has_summary = marker is not None and marker.kind == markers.IMPORT and marker.summary
    return frozenset({UNTRUSTED} if has_summary or any(map(is_imported, history)) else ())
