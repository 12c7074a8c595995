"""Agent files of Claude Code: front matter between two lines of dashes, and the prompt after it.

Source: https://code.claude.com/docs/en/sub-agents for the fields and the names of tools.
"""

import re
from typing import Any

from interlock.agents.imports.foreign import Foreign, Named
from interlock.agents.prompts.quoting import one_line
from interlock.core import strict_yaml
from interlock.core.errors import ConfigError

LONGEST_FRONT = 400
"""Lines."""
LONGEST_VALUE = 20_000
_RUNS = "dropped: it runs commands; once you have read the prompt, add `code_exec` yourself"
_NO_MATCH = "dropped: Interlock has no such tool"
TOOLS = {
    "Read": "file_read",
    "NotebookRead": "file_read",
    "Grep": "file_read",
    "Glob": "file_list",
    "LS": "file_list",
    "Write": "file_write",
    "Edit": "file_edit",
    "MultiEdit": "file_edit",
    "WebFetch": "fetch",
    "WebSearch": "web_search",
    "Bash": _RUNS,
    "BashOutput": _RUNS,
    "KillShell": _RUNS,
    "KillBash": _RUNS,
    "PowerShell": _RUNS,
    "Task": "dropped: agents of Interlock are started by the coordinator",
    "Agent": "dropped: agents of Interlock are started by the coordinator",
    "Skill": "dropped: skills are not carried over",
    "SlashCommand": "dropped: commands are not carried over",
    "NotebookEdit": _NO_MATCH,
    "TodoWrite": _NO_MATCH,
}
_WHY = {
    "color": "it is for another screen",
    "permissionMode": "what an agent may do is the policy's matter here",
    "hooks": "nothing of a file is run",
    "mcpServers": "servers of tools are named in Interlock's settings",
    "skills": "skills are not carried over",
    "maxTurns": "limits are those of an intern",
    "memory": "agents of Interlock remember by their own rules",
    "background": "where an agent runs is the scheduler's matter",
    "effort": "write `thinking: adaptive` if you want that",
    "isolation": "each project has a workspace of its own",
    "initialPrompt": "tasks are given by the coordinator or a person",
}
_SURPRISES = re.compile(
    r": (?:anchor|alias|tag|merge key|nested deeper|more than|a second document|control character|directives|key `)"
)
_KEY = re.compile(r"([A-Za-z][\w-]{0,40}):(?:[ \t]+(.*))?$")
_EXAMPLE = re.compile(r"<example>.*?(?:</example>|\Z)|\b(?:Examples?|Context):.*", re.DOTALL | re.IGNORECASE)
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


def read(raw: bytes, source: str) -> list[Foreign]:
    """The agent defined by a file.

    Raises ConfigError with every fault.
    """
    lines = _lines(raw, source)
    end = next((n for n, line in enumerate(lines[1:LONGEST_FRONT], start=1) if line.rstrip() == "---"), None)
    if not lines or lines[0].rstrip() != "---" or end is None:
        raise ConfigError([f"{source}:1: an agent file begins with fields between two lines of `---`"])
    fields, places = _fields(lines[1:end], source)
    for key in ("name", "description"):
        if not isinstance(fields.get(key), str) or not fields[key].strip():
            raise ConfigError([f"{source}:{places.get(key, 1)}: `{key}` is missing or no text"])
    body = "\n".join(lines[end + 1 :]).strip()
    description = fields["description"]
    found = Foreign(
        source=source, line=places["name"], name=fields["name"].strip(), role=_gist(description),
        soul=f"{_gist(description)}\n", prompt=body or None, known=TOOLS,
    )  # fmt: skip
    if one_line(description, limit=LONGEST_VALUE) != found.role:
        found.note(
            places["description"], "`description` is cut to its first sentence: write `triggers` that call for it"
        )
    found.tools = _tools(fields, "tools", places, found)
    denied = _tools(fields, "disallowedTools", places, found) if "disallowedTools" in fields else ()
    found.refused = frozenset(each.word for each in denied or ())
    if isinstance(fields.get("model"), str):
        found.model = Named(fields["model"].strip(), places["model"])
    for key in fields:
        if key not in ("name", "description", "tools", "disallowedTools", "model"):
            found.note(
                places[key], f"`{one_line(key, limit=40)}` is not carried over: {_WHY.get(key, 'it is unknown')}"
            )
    return [found]


def _lines(raw: bytes, source: str) -> list[str]:
    if len(raw) > strict_yaml.LARGEST_BYTES:
        raise ConfigError([f"{source}:1: larger than 1 MiB: that is not a description of an agent"])
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{source}:{line}: not UTF-8: save the file in that encoding"]) from error
    if "\x00" in text:
        raise ConfigError([f"{source}:{text[: text.index(chr(0))].count(chr(10)) + 1}: control character U+0000"])
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _fields(lines: list[str], source: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The fields with the line of each: as YAML, or, since many such files are none, as lines of `key: text`.

    Raises ConfigError, always for what only a file has that wants to surprise.
    """
    try:
        document = strict_yaml.parse("\n" + "\n".join(lines), source=source)
    except ConfigError as error:
        if any(_SURPRISES.search(fault) for fault in error.faults):
            raise
        return _plain(lines, source)
    if not isinstance(document.data, dict):
        raise ConfigError([f"{source}:2: the fields are `key: value`, one in a line"])
    return document.data, {key: document.line((key,)) for key in document.data}


def _plain(lines: list[str], source: str) -> tuple[dict[str, Any], dict[str, int]]:
    fields: dict[str, Any] = {}
    places: dict[str, int] = {}
    key = ""
    for number, line in enumerate(lines, start=2):
        if (found := _KEY.match(line)) is not None:
            key = found[1]
            if key in fields:
                raise ConfigError([f"{source}:{number}: key `{key}` is already on line {places[key]}: keep one"])
            fields[key], places[key] = (found[2] or "").strip().strip("\"'"), number
        elif key and line.strip():
            fields[key] = f"{fields[key]}\n{line.strip()}"[:LONGEST_VALUE].lstrip("\n")
        elif line.strip() and not line.lstrip().startswith("#"):
            raise ConfigError([f"{source}:{number}: the fields are `key: value`, one in a line"])
    return fields, places


def _gist(description: str) -> str:
    """The first sentence of a description, without its examples."""
    plain = " ".join(_EXAMPLE.sub("", description.replace("\\n", "\n")).split()) or " ".join(description.split())
    first = _SENTENCE.match(plain)
    return one_line(first[1] if first else plain)


def _tools(fields: dict[str, Any], key: str, places: dict[str, int], found: Foreign) -> tuple[Named, ...] | None:
    """The tools of a field; None for all of them, as where it is not there."""
    given = fields.get(key)
    if given is None:
        return None
    if isinstance(given, str) and len(given) <= LONGEST_VALUE:
        words = [word.strip().removeprefix("- ") for word in re.split(r"[,\n](?![^()]{0,200}\))", given)]
    elif isinstance(given, list):
        words = [each.strip() if isinstance(each, str) else "?" for each in given]
    else:
        found.note(places[key], f"`{key}` is not a list of tools: none is carried over")
        words = []
    return tuple(Named(word, places[key]) for word in words if word)
