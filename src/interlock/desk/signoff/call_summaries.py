"""Summarises a tool call in one plain sentence; `proposal` renders its arguments in full."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from interlock.core.text import amount
from interlock.desk.chats.wording import line
from interlock.policy.secrets import scrub_value

LONGEST = 140
MOST_NAMED = 3
"""How many recipients or arguments are named; the rest are counted."""
Args = Mapping[str, Any]


def deed(tool: str, args: Any) -> str:
    """What a tool call does, on one line without secrets: `send an e-mail to ana@x.y about “Lunch”`."""
    given: Args = scrub_value(dict(args)) if isinstance(args, Mapping) else {}
    summarise = _SAID.get(tool)
    said = summarise(given) if summarise is not None else None
    return line(said or _called(tool, given), LONGEST)


def _email(args: Args) -> str | None:
    to = _several([*_texts(args.get("to")), *_texts(args.get("cc"))])
    if not to:
        return None
    files = _texts(args.get("attachments"))
    more = f" with {amount(len(files), 'attachment')}" if files else ""
    about = f" about “{args['subject']}”" if args.get("subject") else ""
    return f"send an e-mail{more} to {to}{about}"


def _write(args: Args) -> str | None:
    path, content = args.get("path"), args.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return None
    lines = amount(content.count("\n") + (not content.endswith("\n") and bool(content)), "line")
    return f"add {lines} to the end of {path}" if args.get("append") else f"write {lines} to {path}"


def _edit(args: Args) -> str | None:
    return f"change {args['path']}" if isinstance(args.get("path"), str) else None


def _command(args: Args) -> str | None:
    for name in ("command", "cmd", "code", "script", "argv"):
        value = args.get(name)
        text = " ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(text, str) and text.strip():
            first, *rest = text.strip().splitlines()
            kind = "code" if name in ("code", "script") else "command"
            return f"run this {kind}: {first}" + (f" (and {amount(len(rest), 'more line')})" if rest else "")
    return None


def _search(args: Args) -> str | None:
    return f"search the web for “{args['query']}”" if args.get("query") else None


def _fetch(args: Args) -> str | None:
    return f"read {args['url']}" if args.get("url") else None


def _notify(args: Args) -> str | None:
    return f"tell the operators: {args['message']}" if args.get("message") else None


def _ask(args: Args) -> str | None:
    return f"ask: {args['question']}" if args.get("question") else None


_SAID: Mapping[str, Callable[[Args], str | None]] = {
    "send_email": _email,
    "file_write": _write,
    "file_edit": _edit,
    "shell": _command,
    "bash": _command,
    "code_exec": _command,
    "web_search": _search,
    "web_fetch": _fetch,
    "fetch": _fetch,
    "notification": _notify,
    "ask_operator": _ask,
}


def _called(tool: str, args: Args) -> str:
    short = [f"{name} {_spelled(value)}" for name, value in args.items() if value not in (None, "", [], {})]
    named = short[:MOST_NAMED]
    more = f" and {amount(len(short) - len(named), 'more argument')}" if len(short) > len(named) else ""
    return f"call {tool}" + (f" with {', '.join(named)}{more}" if named else "")


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return _several(list(map(_spelled, value)))
    if isinstance(value, Mapping):
        return f"{{{', '.join(map(str, value))}}}"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [value] if isinstance(value, str) else []


def _several(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
