"""The next step of a task: which tools to call now, judging by the calls that were already made.

What a deliverable says is in `writing`, how a review judges in `reviewing`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.llm.messages import ToolSpec
from interlock.llm.rehearsal.arguments import arguments
from interlock.llm.rehearsal.planning import ADDRESS
from interlock.llm.rehearsal.protocol import Brief
from interlock.llm.rehearsal.reviewing import review
from interlock.llm.rehearsal.writing import deliverable, failures, gist

_PATH = re.compile(r"(?<![\w/:.@-])(?:[\w-]+/)*[\w-]+\.(?:md|txt|csv|json|yaml|yml|html|py)\b")
_SEARCHING = re.compile(r"\b(research|compar|find|look up|analy|search|market|option)", re.IGNORECASE)
_MAILING = re.compile(r"\b(e-?mail|mail|send)\b", re.IGNORECASE)
_READS = 3
_SUBMISSIONS = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says, and the calls it makes: tool name and arguments."""

    text: str
    calls: tuple[tuple[str, dict[str, object]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Wish:
    tool: str
    said: dict[str, str]


def next_turn(brief: Brief, tools: tuple[ToolSpec, ...], room: int) -> Turn:
    """The first stage that is not done: gather, draft, send, submit; then the last word.

    A call that failed counts as made: the work goes on without it.
    """
    offered = {tool.name: tool for tool in tools}
    for words, wishes in _stages(brief, room):
        calls = []
        for name in dict.fromkeys(wish.tool for wish in wishes):
            wanted = [wish for wish in wishes if wish.tool == name and name in offered]
            for wish in wanted[len(brief.made(name)) :]:
                calls.append((name, arguments(offered[name].input_schema, wish.said)))
        if calls:
            return Turn(words, tuple(calls))
    return Turn(_last_word(brief, room, submitted="submit_deliverable" in offered))


def _stages(brief: Brief, room: int) -> Iterator[tuple[str, list[_Wish]]]:
    if not brief.section("Review"):
        yield "I start with what is known.", list(_gathering(brief))
        yield "I write a first draft.", list(_drafting(brief, room))
        yield "The result goes out by e-mail.", list(_sending(brief))
    yield "The work is ready to be looked at.", _submitting(brief, room)


def _gathering(brief: Brief) -> Iterator[_Wish]:
    asked = f"{brief.title}\n{brief.section('Description')}"
    if brief.section("Type").startswith(("research", "seo")) or _SEARCHING.search(brief.title):
        subject = brief.title.partition(": ")[2] or brief.title
        yield _Wish("web_search", {"query": subject[:200]})
    for path in list(dict.fromkeys(_PATH.findall(asked)))[:_READS]:
        yield _Wish("file_read", {"path": path})


def _drafting(brief: Brief, room: int) -> Iterator[_Wish]:
    name = re.sub(r"[^a-z0-9]+", "-", brief.title.lower()).strip("-")[:60] or "draft"
    yield _Wish("file_write", {"path": f"drafts/{name}.md", "content": deliverable(brief, room)})
    yield _Wish("post_progress", {"content": f"A first draft of “{brief.title}” is written."})


def _sending(brief: Brief) -> Iterator[_Wish]:
    asked = f"{brief.title}\n{brief.section('Description')}"
    address = ADDRESS.search(asked)
    if address is None or not _MAILING.search(asked):
        return
    enclosed = "\n\n".join(part.text for part in brief.parts("Inputs"))
    words = f"(Rehearsal) Please find below the result of “{brief.title}”.\n\n{enclosed}".strip()
    yield _Wish("send_email", {"to": address[0], "title": f"[rehearsal] {brief.title}", "content": words[:4000]})


def _submitting(brief: Brief, room: int) -> list[_Wish]:
    if brief.section("Review"):
        verdict, text = review(brief, room)
        said = {"title": brief.title, "content": text, "verdict": verdict, "format": "markdown"}
    else:
        text = deliverable(brief, room)
        said = {"title": brief.title, "content": text, "format": "markdown"}
    said["summary"] = f"Rehearsal of “{brief.title}”."
    made = brief.made("submit_deliverable")
    again = len(made) + 1 if made and made[-1].failed and len(made) < _SUBMISSIONS else 1
    return [_Wish("submit_deliverable", said)] * max(again, len(made))


def _last_word(brief: Brief, room: int, *, submitted: bool) -> str:
    made = brief.made("submit_deliverable")
    if made and not made[-1].failed:
        return f"Done: “{brief.title}” is submitted. This was a rehearsal."
    if submitted:
        reason = gist(made[-1].result.content) if made and made[-1].result else "; ".join(failures(brief.calls))
        return f"“{brief.title}” could not be submitted: {reason}. This was a rehearsal."
    return review(brief, room)[1] if brief.section("Review") else deliverable(brief, room)
