"""The built-in policy as data: what each built-in tool risks, and the rules that raise it by arguments.

Data only; `rules` makes a policy of it. The built-in rules hold beside every policy file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class BuiltinRule:
    """A rule of the built-in policy, in the words of a policy file."""

    id: str
    tools: tuple[str, ...]
    when: str
    risk: Risk
    reason: str


_SQL = " + ".join(
    f'(has(args.{name}) ? ";" + string(args.{name}) : "")' for name in ("sql", "query", "statement", "statements")
)
_READS = (
    f'({_SQL}).matches("(?is)^;\\\\s*(select|explain|values)\\\\b[^;]*;?\\\\s*$")'
    f' && !({_SQL}).matches("(?i)\\\\b(insert|update|delete|merge|into|create|alter|drop|truncate|grant|revoke|call|'
    f'copy|do|lock|attach|pragma|vacuum)\\\\b")'
)
_READ_ACTION = (
    f'({_SQL}) == "" && has(args.action) && args.action in '
    f'["read", "select", "query", "get", "list", "count", "describe", "tables", "schema"]'
)

RULES: tuple[BuiltinRule, ...] = (
    BuiltinRule(
        "builtin:git-leaves", ("git_ops",),
        'has(args.action) ? !(args.action in ["status", "log", "diff", "show", "blame", "add", "commit", "branch", '
        '"checkout", "switch", "restore", "init", "stash", "tag"]) : true',
        Risk.RED, "it may leave the workspace",
    ),
    BuiltinRule(
        "builtin:bootstrap-file", ("file_write", "file_edit"),
        'has(args.path) && args.path.matches("(?i)(^|[/\\\\\\\\])\\\\s*(architecture|agents|soul|tools|user|heartbeat|'
        'memory|bootstrap)\\\\.md[\\\\s./\\\\\\\\]*$")',
        Risk.RED, "it changes a file that instructs agents",
    ),
    BuiltinRule(
        "builtin:http-write", ("fetch",),
        '(has(args.method) && !(args.method in ["GET", "HEAD", "get", "head"])) || has(args.body) || has(args.data) '
        "|| has(args.json)",
        Risk.RED, "it writes to the outside",
    ),
    BuiltinRule(
        "builtin:not-public", ("fetch", "browser"),
        'has(args.url) && (!args.url.matches("(?i)^https?://[^/?#@]+([/?#]|$)") || args.url.matches('
        '"(?i)^https?://(\\\\[|localhost|[^/?#]*\\\\.(internal|local|lan|home|corp)([:/?#]|$)|[^./?#]+([:/?#]|$)|'
        '[0-9]+\\\\.[0-9.]+([:/?#]|$)|0x)"))',
        Risk.RED, "its address is not a public page",
    ),
    BuiltinRule(
        "builtin:database-write", ("database",), f"!(({_READS}) || ({_READ_ACTION}))", Risk.YELLOW,
        "it is not plainly a read",
    ),
    BuiltinRule(
        "builtin:database-schema", ("database",),
        f'({_SQL}).matches("(?i)\\\\b(create|alter|drop|truncate|grant|revoke|attach|detach|pragma|vacuum|reindex)\\\\b")'
        ' || (has(args.action) && string(args.action).matches("(?i)create|alter|drop|truncate|migrat|grant|revoke"))',
        Risk.RED, "it changes the schema",
    ),
    BuiltinRule(
        "builtin:database-delete", ("database",),
        f'({_SQL}).matches("(?i)\\\\bdelete\\\\b") '
        '|| (has(args.action) && string(args.action).matches("(?i)delete|remove|purge"))',
        Risk.RED, "it deletes what has no version",
    ),
)  # fmt: skip
"""Rules by arguments. What looks like a secret or names production is RED for every tool, and needs no rule."""
