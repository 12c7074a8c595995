"""The built-in tools by name, for code that needs their metadata without loading what executes them.

Their implementations and descriptions are in `tools.builtin`, their risks in `policy.builtin`.
"""

from collections.abc import Mapping

from interlock.tools.contract import OUTWARD, PRIVATE, UNTRUSTED

_NONE: frozenset[str] = frozenset()
_PRIVATE = frozenset({PRIVATE})
BUILTIN: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("file_read", "file_list"), _PRIVATE),
    **dict.fromkeys(("recall_memories", "search_memories", "memory_search", "memory_get"), _PRIVATE),
    **dict.fromkeys(("file_write", "submit_deliverable", "post_progress", "post_comment", "ask_operator"), _NONE),
    **dict.fromkeys(("notification", "do_nothing", "store_memory", "update_memory"), _NONE),
    **dict.fromkeys(("send_message", "react_to_message"), _NONE),
    **dict.fromkeys(("start_background_agent", "sessions_spawn", "send_agent_message"), _NONE),
    "web_search": frozenset({UNTRUSTED}),
    "send_email": frozenset({OUTWARD}),
}
"""Labels of each tool: of its results, or OUTWARD if it sends."""
