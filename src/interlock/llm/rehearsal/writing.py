"""Readable deliverables, marked as rehearsal, from what a prompt and its tool results hold.

When to write one is decided in `working`; a mission's compiled deliverable is in `compiling`.
"""

import re

from interlock.llm.rehearsal.protocol import Brief, Call, Part

MARK = (
    "> **Rehearsal.** The offline model wrote this from the prompt alone. "
    "It shows the shape of the work; nothing in it is a checked fact."
)
_HEADINGS = {
    "research": "Findings",
    "content": "Draft",
    "social": "Posts",
    "email": "Message",
    "seo": "Recommendations",
    "engineering": "Approach",
    "docs": "Text",
    "ops": "Steps",
}
_QUOTE_CHARS = 600
_LINE_CHARS = 220
_COMPARED = re.compile(r"\bcompar\w*\s+(?:the\s+)?([^.;:\n]+)", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus|with)\s+", re.IGNORECASE)
_ENOUGH = 2
_MOST = 6


def deliverable(brief: Brief, room: int) -> str:
    """The text for a task, of at most `room` characters."""
    pieces = [
        f"# {brief.title}",
        MARK,
        f"## Summary\n\n{_summary(brief)}",
        f"## What was asked\n\n{_asked(brief)}",
        f"## {_HEADINGS.get(_type(brief), 'Result')}\n\n{_body(brief)}",
        f"## Where it comes from\n\n{_origins(brief)}",
    ]
    if feedback := brief.section("Feedback"):
        pieces.append(f"## Changed since the last version\n\nTaken up from what was sent back:\n\n{quoted(feedback)}")
    if problems := failures(brief.calls):
        pieces.append("## What could not be done\n\n" + "\n".join(f"- {problem}" for problem in problems))
    pieces.append(f"## What comes next\n\n{_next(brief)}")
    return fit("\n\n".join(pieces) + "\n", room)


def failures(calls: tuple[Call, ...]) -> list[str]:
    """A line for each call that brought nothing."""
    return [f"`{c.use.name}`: {gist(c.result.content) if c.result else 'no result'}" for c in calls if c.failed]


def gist(text: str) -> str:
    """The first line outside a table that says something, without Markdown's marks."""
    for line in text.splitlines():
        if line.lstrip().startswith("|"):
            continue
        said = re.sub(r"^[#>*\-\s|`]+", "", line).strip(" *`")
        if said and not said.startswith("Rehearsal.") and any(c.isalpha() for c in said):
            return said if len(said) <= _LINE_CHARS else said[:_LINE_CHARS].rsplit(" ", 1)[0] + " …"
    return "nothing readable"


def substance(text: str) -> str:
    """What a deliverable found: the gist of its part after summary and question, else of all of it."""
    sections = re.split(r"^## .+$", text, flags=re.MULTILINE)
    return gist(sections[3]) if len(sections) > _ENOUGH + 1 else gist(text)


def quoted(text: str) -> str:
    """The beginning of a text as a quotation."""
    cut = text if len(text) <= _QUOTE_CHARS else text[:_QUOTE_CHARS].rsplit(" ", 1)[0] + " …"
    return "\n".join(f"> {line}".rstrip() for line in cut.splitlines())


def fit(text: str, room: int) -> str:
    """The text, or its beginning and a line that says it was cut."""
    note = "\n\n(cut to fit)\n"
    if len(text) <= room:
        return text
    kept = text[: max(room - len(note), 0)]
    return (kept.rsplit("\n\n", 1)[0] if "\n\n" in kept else kept) + note


def _type(brief: Brief) -> str:
    return brief.section("Type").split()[0].lower() if brief.section("Type") else "other"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _summary(brief: Brief) -> str:
    used = [call for call in brief.calls if not call.failed]
    who = brief.persona or "The assignee"
    basis = f"{_count(len(brief.parts('Inputs')), 'earlier result')} and {_count(len(used), 'tool call')}"
    open_points = len(brief.calls) - len(used)
    rest = f" {_count(open_points, 'call')} brought nothing; see below." if open_points else ""
    return f"{who} worked on “{brief.title}”, from {basis}.{rest}"


def _asked(brief: Brief) -> str:
    expected = brief.section("Expected deliverable")
    asked = quoted(brief.section("Description") or brief.title)
    return asked + (f"\n\nExpected: {gist(expected)}" if expected else "")


def _body(brief: Brief) -> str:
    points = [f"- From “{part.title}”: {substance(part.text)}" for part in brief.parts("Inputs")]
    points += [f"- From {_label(call)}: {gist(call.result.content)}" for call in _read(brief) if call.result]
    table = _comparison(f"{brief.title}\n{brief.section('Description')}")
    if not points and not table:
        points = [f"- The point to work out: {gist(brief.section('Description') or brief.title)}"]
    return "\n\n".join(piece for piece in (table, "\n".join(points)) if piece)


def _comparison(text: str) -> str:
    match = _COMPARED.search(text)
    options = [option.partition(" for ")[0].strip() for option in _BETWEEN.split(match[1])] if match else []
    options = list(dict.fromkeys(option for option in options if option and len(option.split()) <= _MOST))
    if not _ENOUGH <= len(options) <= _MOST:
        return ""
    rows = "\n".join(f"| {option} | to be found | to be found | to be found |" for option in options)
    return f"| Option | Strengths | Weaknesses | Cost |\n| --- | --- | --- | --- |\n{rows}"


def _read(brief: Brief) -> list[Call]:
    return [c for c in brief.calls if not c.failed and c.use.name in {"web_search", "fetch", "file_read", "send_email"}]


def _label(call: Call) -> str:
    args = call.use.args or {}
    about = next((value for value in args.values() if isinstance(value, str) and value), "")
    return f"`{call.use.name}`" + (f" ({gist(about)[:80]})" if about else "")


def _origins(brief: Brief) -> str:
    lines = [f"- {part.title} ({part.id})" for part in brief.parts("Inputs")]
    lines += [f"- {_label(call)}" for call in _read(brief)]
    return "\n".join(lines) or "- The task's own words; no earlier result and no tool was at hand."


def _next(brief: Brief) -> str:
    steps = ["- Run the same goal with a real model to fill this shape with facts."]
    if failures(brief.calls):
        steps.append("- Look at what could not be done, and decide whether it is needed.")
    return "\n".join(steps)


def listed(parts: tuple[Part, ...]) -> str:
    """Parts as a list of their titles and gists."""
    return "\n".join(f"- **{part.title}**: {substance(part.text)}" for part in parts)
