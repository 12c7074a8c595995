"""Renders exactly what an agent proposes: commands, file changes as diffs, every argument, deliverables.

INVARIANT: nothing that is approved is shortened. What is too long for a chat says so, and cannot be approved there.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.values import usd
from interlock.desk.chats.cards import Passage
from interlock.desk.chats.wording import words
from interlock.policy.secrets import scrub_value

MOST_SHOWN = 40_000
"""The maximum number of characters of all passages of a card."""
LONGEST_SHORT = 100
"""The maximum number of characters of an argument that is listed inline."""
MOST_COMPARED = 4_000
"""The maximum number of lines of both files for a diff."""
_NO_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Before:
    """A file's state when its change was proposed; `text` is None if it is not text."""

    text: str | None
    version: int


def arguments(tool: str, args: Mapping[str, Any], before: Before | None) -> list[Passage]:
    """Every argument of a call; for a written file, the diff."""
    safe = scrub_value(dict(args))
    passages = []
    pair = _pair(safe) if tool == "file_edit" else None
    written = tool == "file_write" and isinstance(safe.get("path"), str) and isinstance(safe.get("content"), str)
    changed = _change(safe, before) if written else _replacement(safe, pair, before) if pair is not None else None
    if changed is not None:
        passages.append(changed)
        safe = {name: value for name, value in safe.items() if name not in ("content", *(pair or ()))}
    long = {name: value for name, value in safe.items() if isinstance(value, str) and _is_long(name, value)}
    short = {name: value for name, value in safe.items() if name not in long}
    if short or not (long or passages):
        text = "\n".join(f"{name}: {_spelled(value)}" for name, value in short.items()) or "none"
        passages.insert(0, Passage(words(text), "Arguments", verbatim=True))
    return passages + [Passage(words(value), words(name), verbatim=True) for name, value in long.items()]


def _is_long(name: str, value: str) -> bool:
    return "\n" in value or len(value) > LONGEST_SHORT or name in ("command", "cmd", "code", "script", "sql", "query")


def _spelled(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _change(args: Mapping[str, Any], before: Before | None) -> Passage | None:
    """The diff of a write; None if the whole content has to be shown instead."""
    old = before.text if before is not None else ""
    if old is None:
        return None
    old = str(scrub_value(old))
    new = old + args["content"] if args.get("append") else args["content"]
    if old.count("\n") + new.count("\n") > MOST_COMPARED:
        return None
    what = "Change of" if before is not None else "New file"
    found = difflib.unified_diff(_lines(old), _lines(new), "now", "then", lineterm="")
    text = "\n".join(found)
    shown = words(text or "(no difference: the file says this already)")
    return Passage(shown, words(f"{what} {args['path']}"), verbatim=True, is_diff=bool(text))


def _pair(args: Mapping[str, Any]) -> tuple[str, str] | None:
    """The names of the arguments with the old and the new text of a replacement."""
    pairs = (("old", "new"), ("old_text", "new_text"), ("old_string", "new_string"), ("find", "replace"))
    found = (pair for pair in pairs if all(isinstance(args.get(name), str) for name in pair))
    return next(found, None) if isinstance(args.get("path"), str) else None


def _replacement(args: Mapping[str, Any], pair: tuple[str, str], before: Before | None) -> Passage | None:
    """The diff of a replacement; None unless the old text occurs exactly once."""
    old, text = args[pair[0]], str(scrub_value(before.text)) if before is not None and before.text else ""
    if not old or text.count(old) != 1:
        return None
    return _change({"path": args["path"], "content": text.replace(old, args[pair[1]])}, before)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, *([f"{last}\n{_NO_END}"] if last else [])]


def other(request: Mapping[str, Any]) -> list[Passage]:
    """The content of a question that is not about a call, beside its summary."""
    passages = []
    if request.get("after") is not None:
        passages.append(_definitions(request))
    left_out = ("summary", "tool", "args", "deliverable", "call_id", "tool_digest", "files", "automatic", "definition",
                "before", "after", "plan", "grantable")  # fmt: skip
    rest = {name: value for name, value in scrub_value(dict(request)).items() if name not in left_out}
    lines = [_amount(name, value) for name, value in rest.items()]
    if request.get("plan") is not None:
        passages.append(Passage(words(_plan(request["plan"])), "Plan", verbatim=True))
    return [*([Passage(words("\n".join(lines)), "Question")] if lines else []), *passages]


def _plan(plan: Sequence[Mapping[str, Any]]) -> str:
    """The tasks of a plan: persona, title, dependencies, budget."""
    lines = []
    for task in plan:
        needs = f", after {', '.join(task['depends_on'])}" if task["depends_on"] else ""
        lines.append(f"{task['key']}: {task['title']} ({task['persona']}, {usd(task['budget_microusd'])}{needs})")
        lines.append(f"    {' '.join(str(task['description']).split())}")
    return "\n".join(lines)


def _definitions(request: Mapping[str, Any]) -> Passage:
    """The definition of a tool before and after its change."""
    old, new = (json.loads(request[name]) if request[name] else {} for name in ("before", "after"))
    return Passage(
        words(_difference(_pretty(old), _pretty(new))), "Change of its definition", verbatim=True, is_diff=True
    )


def edits(before: object, after: object) -> list[Passage]:
    """The diff of arguments edited by a person."""
    found = _difference(_pretty(scrub_value(before)), _pretty(scrub_value(after)))
    return [Passage(words(found), "Changed by a person", verbatim=True, is_diff=True)]


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _difference(old: str, new: str) -> str:
    return "\n".join(difflib.unified_diff(_lines(old), _lines(new), "before", "after", lineterm=""))


def _amount(name: str, value: object) -> str:
    if name.endswith("_microusd") and isinstance(value, int):
        return f"{name.removesuffix('_microusd')}: {usd(value)}"
    return f"{name.replace('_', ' ')}: {_spelled(value)}"


def fit(passages: list[Passage], where: str) -> tuple[list[Passage], bool]:
    """Fits passages into a chat message, and returns whether they are complete; long ones are replaced by `where` to
    read.
    """
    if sum(len(p.text) for p in passages) <= MOST_SHOWN:
        return passages, True
    kept, room = [], MOST_SHOWN // 2
    for passage in passages:
        if len(passage.text) <= room:
            kept.append(passage)
            room -= len(passage.text)
        else:
            kept.append(Passage(f"{len(passage.text):,} characters, too long to be shown here: {where}",
                                passage.heading))  # fmt: skip
    return kept, False
