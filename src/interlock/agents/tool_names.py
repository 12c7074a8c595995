"""The tool names that persona files may use; which of them are installed is the registry's business."""

COMMON_TOOLS = frozenset(
    {
        "submit_deliverable",
        "post_progress",
        "post_comment",
        "ask_operator",
        "do_nothing",
        "store_memory",
        "recall_memories",
        "search_memories",
        "memory_search",
        "memory_get",
        "update_memory",
    }
)
"""What every persona is offered without naming it. Source: interfaces, "Tool names"."""

FIXED_TOOLS = COMMON_TOOLS | frozenset(
    {
        "create_task",
        "update_task",
        "list_tasks",
        "get_task",
        "create_goal",
        "update_goal",
        "list_goals",
        "get_goal",
        "create_event",
        "update_event",
        "list_events",
        "get_event",
        "delete_event",
        "send_email",
        "web_search",
        "fetch",
        "send_message",
        "react_to_message",
        "send_agent_message",
        "start_background_agent",
        "sessions_spawn",
        "file_read",
        "file_list",
        "file_write",
        "file_edit",
        "code_exec",
        "git_ops",
        "browser",
        "database",
        "notification",
    }
)
"""Every name that is fixed, installed or not. Source: interfaces, "Tool names"."""

COORDINATOR = "coordinator"
"""The persona that gives work out."""
COORDINATION_TOOLS = frozenset(
    {"create_task", "update_task", "list_tasks", "get_task", "file_read", "database", "notification"}
)
"""What the coordinator may have beside the tools of all personas, whatever a file or a setting says. Source: row A4."""
