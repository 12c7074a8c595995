"""How many earlier runs an agent sees, by its kind and by where people talk with it.

From which run on they count is recorded in markers; they are read in `store.runs.run_context`.
"""

from collections.abc import Mapping
from typing import Any

from interlock.settings.agency import AgentSettings
from interlock.store.mailboxes.posting import CHILD_END

KINDS = ("task", "chat", "subagent", "letter", CHILD_END)
"""Of runs that are shown what was said before."""
BACKGROUND = frozenset({"subagent", "cron", "heartbeat"})
COMMAND_LINE = frozenset({"cli", "python", "local"})
"""Where people talk for longer than in a chat."""
ROWS_A_TURN = 24
"""Words, calls and results of one run, about; of a long run the beginning is left out."""


def history_limit(run_kind: str, descriptor: Mapping[str, Any], limits: AgentSettings) -> int:
    """The maximum number of earlier runs in the prompt; 0 in the workspace chat, which shows its latest messages.

    Source: numbers, "Session history limits"; decisions, "History".
    """
    kind = descriptor.get("kind")
    if run_kind not in KINDS or kind == "room":
        return 0
    if kind in BACKGROUND:
        return limits.background_turns
    if kind == "user" and descriptor.get("connector") in COMMAND_LINE:
        return limits.command_line_turns
    return limits.chat_turns
