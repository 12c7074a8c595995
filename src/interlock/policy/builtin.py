"""The built-in policy as data: what each built-in tool risks before its arguments are looked at.

Data only; what arguments raise by what they mean is the business of `meaning`.
"""

from collections.abc import Mapping

from interlock.policy.risk import Risk

_GREEN = (
    "ask_operator", "database", "do_nothing", "fetch", "file_list", "file_read", "get_event", "get_goal", "get_task",
    "list_events", "list_goals", "list_tasks", "memory_get", "memory_search", "post_comment", "post_progress",
    "react_to_message", "recall_memories", "search_memories", "send_agent_message", "send_message", "store_memory",
    "submit_deliverable", "update_memory", "web_search",
)  # fmt: skip
_YELLOW = (
    "browser", "code_exec", "create_event", "create_goal", "create_task", "file_edit", "file_write", "git_ops",
    "notification", "sessions_spawn", "start_background_agent", "update_event", "update_goal", "update_task",
)  # fmt: skip
_RED = ("delete_event", "send_email")

BASE: Mapping[str, Risk] = {
    **dict.fromkeys(_GREEN, Risk.GREEN),
    **dict.fromkeys(_YELLOW, Risk.YELLOW),
    **dict.fromkeys(_RED, Risk.RED),
}
"""The risk of each built-in tool before its arguments are looked at. Source: numbers, "Risk and trust"."""
