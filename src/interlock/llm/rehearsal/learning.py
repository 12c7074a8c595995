"""Lessons by rule from the facts of a task or mission: what failed and then worked, was denied, sent back, lost.

Each names the facts it rests on; a fact without an id teaches nothing, nor does work that simply went well.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.rehearsal.protocol import Brief
from interlock.llm.rehearsal.writing import gist
from interlock.policy.learning.lesson_fitness import without_particulars

_MOST = 5
_QUOTE = 220
_TELLING = 60
"""Characters of an argument that can stand for others like it."""
_OFTEN = 2
"""Failures alike that are no bad luck."""
_OWN = 4
_LASTING = re.compile(
    r"\b(?:not (?:set|configured|installed|allowed|supported|valid|found|permitted)|no (?:key|such|access)|missing"
    r"|unknown|invalid|unsupported|required|must|may not|too (?:large|long|many)|forbidden|unauthori[sz]ed)\b",
    re.IGNORECASE,
)
"""What a fault says that comes again."""
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_DENIED = frozenset({"denied", "deny", "rejected"})
_SENT_BACK = frozenset({"changes", "rejected", "fail", "failed"})
_UNMET = re.compile(r"not met: ([^\n;.]+?)(?= - (?:not )?met:|[\n;.]|$)")
_WANTED = re.compile(r"Make it ([^.\n]+)\.")
_PREFIX = re.compile(
    r"^(?:the arguments are not valid|\w+ failed|failed|denied by the policy \([^)]*\)): ", re.IGNORECASE
)

_IDLE = frozenset(
    "bad deny denied don don't for good later never nope not now please sorry stop test thanks the".split()
)
"""Words of a refusal that say nothing of its reason."""
_GAP = re.compile(r"\s*\(…\)|\s*(?:\b[\w'’-]+\s+)?…")
_NOTHING = "nothing readable"
"""The gist of a text without words."""

Row = Mapping[str, Any]
Tasks = Mapping[str, Row]


def lessons(brief: Brief) -> dict[str, Any]:
    """The lessons as the prompt's schema wants them; none where the facts teach none."""
    facts = _facts(brief.section("Facts"))
    tasks = {str(task.get("id")): task for task in _rows(facts, "tasks")}
    found = [
        *_denials(facts, tasks),
        *_corrections(facts, tasks),
        *_recoveries(facts, tasks),
        *_reviews(facts, tasks),
        *_failures(facts, tasks),
        *_incidents(facts, tasks),
        *_tries(facts, tasks),
    ]
    found = [lesson for lesson in found if _NOTHING not in lesson["rule"]]
    known = {_words(row): str(row["id"]) for row in _rows(facts, "known_lessons")}
    for lesson in found:
        lesson["same_as"] = known.get(_words(lesson))
    return {"lessons": found[:_MOST], "merges": list(_merges(facts))}


def _facts(section: str) -> Row:
    block = _BLOCK.search(section)
    try:
        facts = json.loads(block[1] if block else section)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _rows(facts: Row, name: str) -> list[Row]:
    rows = facts.get(name)
    return [row for row in rows if isinstance(row, dict) and _first(row, "id")] if isinstance(rows, list) else []


def _recoveries(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """A call that failed, and how it was made when it worked."""
    for row in _rows(facts, "recoveries"):
        tool, change = _first(row, "tool"), _difference(row.get("args"), row.get("then_args"))
        said = _said(_first(row, "error"))
        if tool and change:
            rule = f"Call `{tool}` {change} from the start: otherwise it fails with “{said}”."
            yield _lesson("fix", rule, row, tasks, _first(row, "id"), _first(row, "then_id"))


def _difference(before: Any, after: Any) -> str:
    """What was changed in the arguments, in words; empty if that cannot be said."""
    if not isinstance(after, Mapping):
        return ""
    old = before if isinstance(before, Mapping) else {}
    added = [f"`{name}`" for name in after if name not in old]
    dropped = [f"`{name}`" for name in old if name not in after]
    changed = [f"`{name}`" for name in after if name in old and old[name] != after[name]]
    if dropped and added:
        return f"with {_listed(added)} and not {_listed(dropped)}"
    if added:
        return f"with {_listed(added)}"
    if dropped:
        return f"without {_listed(dropped)}"
    values = [_instead(name, after[name.strip("`")]) for name in changed]
    return f"with {_listed(values)}" if values else ""


def _instead(name: str, value: Any) -> str:
    shortened = _short(value)
    is_telling = len(shortened) <= _TELLING and without_particulars(shortened) == shortened
    return f"{name} like “{shortened}”" if is_telling else f"another {name}"


def _failures(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """Tools that failed and were not brought to work, and calls that the policy forbids."""
    mended = {_first(row, "tool") for row in _rows(facts, "recoveries")}
    by_fault: dict[tuple[str, str, str], list[Row]] = {}
    for row in _rows(facts, "tool_failures"):
        tool, status = _first(row, "tool"), _first(row, "status")
        is_asked_about = status == "denied" and not _first(row, "error").startswith("denied by the policy")
        if tool and tool not in mended and not is_asked_about:
            said = _said(_without(_first(row, "error", "reason", "result"), row.get("args")))
            by_fault.setdefault((tool, said, _persona(row, tasks)), []).append(row)
    for (tool, said, _), rows in by_fault.items():
        rule = _about_failure(tool, said, _first(rows[0], "status"), len(rows))
        if rule is not None:
            yield _lesson("error", rule, rows[0], tasks, *(_first(row, "id") for row in rows))


def _about_failure(tool: str, said: str, status: str, times: int) -> str | None:
    """What to do about a tool that fails so; None if it may have been bad luck."""
    if said.startswith("there is no tool"):
        return f"Do not call `{tool}`: it is not among the tools for this work."
    if said.startswith("there is no file"):
        return (
            f"Look with `file_list` before `{tool}`: a file that a task only names need not be there; say in what you "
            "hand in which one was missing."
        )
    if status == "denied":
        return f"Do not plan on `{tool}` for this: the policy forbids it (“{said}”). Choose another way at once."
    if times < _OFTEN and _LASTING.search(said) is None:
        return None
    return (
        f"Expect `{tool}` to fail with “{said}”: try it once, then go on without it and name the gap in what you hand "
        "in."
    )


def _without(text: str, args: Any) -> str:
    """What a tool said, without the values that only this call had."""
    values = [value for value in args.values() if isinstance(value, str)] if isinstance(args, Mapping) else []
    for value in sorted((value for value in values if len(value) >= _OWN), key=len, reverse=True):
        text = text.replace(f"`{value}`", "it").replace(value, "it")
    return text


def _denials(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """What a person refused, with the reason they gave."""
    for row in _rows(facts, "approvals"):
        why = _clauses(_said(_first(row, "reason", "note")))
        if _first(row, "answer", "status", "verdict").lower() not in _DENIED or not _gives_a_reason(why):
            continue
        kind = _first(row, "kind")
        if _first(row, "tool"):
            what = f"Before asking for `{_first(row, 'tool')}`, see to what a person refused such a call for"
        elif kind == "TASK_REVIEW":
            what = "Before handing in, see to what a person sent such work back for"
        else:
            continue
        yield _lesson("fix", f"{what}: “{why}”.", row, tasks, _first(row, "id"))


def _clauses(said: str) -> str:
    """A reason without the gaps that were left in it and the words that lead up to them; parts of one word go too."""
    kept = []
    for part in re.split(r"(?<=[.,:;])\s+", said):
        rest = _GAP.sub("", part).strip()
        if rest == part or " " in rest:
            kept.append(rest)
    return " ".join(kept).rstrip(".,:; ") or _NOTHING


def _gives_a_reason(why: str) -> bool:
    words = {word for word in re.findall(r"[^\W\d_][\w'’-]{2,}", why.lower()) if word not in _IDLE}
    return why != _NOTHING and len(words) > 1


def _corrections(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """What a person set right before they approved; the values are theirs and are not told."""
    for row in _rows(facts, "approvals"):
        asked, edited = row.get("args"), row.get("edited_to")
        if isinstance(asked, Mapping) and isinstance(edited, Mapping) and _first(row, "tool"):
            names = [f"`{name}`" for name in edited if edited[name] != asked.get(name)]
            if names:
                rule = (
                    f"Before asking for `{_first(row, 'tool')}`, check {_listed(names)} against what was asked for: a "
                    "person had to correct it before approving."
                )
                yield _lesson("fix", rule, row, tasks, _first(row, "id"))


def _reviews(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """What reviewers found, for those who do such work."""
    for row in _rows(facts, "reviews"):
        if _first(row, "verdict").lower() in _SENT_BACK:
            for point in _points(row)[:2]:
                rule = f"Check before handing in what a reviewer sent such work back for: “{point}”."
                yield _lesson("fix", rule, row, tasks, _first(row, "id"))


def _points(row: Row) -> list[str]:
    findings = row.get("findings")
    listed = [str(each) for each in findings if str(each).strip()] if isinstance(findings, list) else []
    said = _first(row, "feedback", "reason", "text")
    found = listed or _WANTED.findall(said) or _UNMET.findall(said) or [said]
    return [point for each in found if (point := _said(each)) != _NOTHING]


def _incidents(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    for row in _rows(facts, "incidents"):
        kind, said = _first(row, "kind"), _said(_first(row, "text"))
        if kind in ("LOOP", "BREAKER"):
            rule = f"Stop and change the approach before work goes round in circles as it did here: “{said}”."
        elif kind in ("AGENT_LOST", "DEADLINE"):
            rule = f"Hand in or save results step by step, since work like this was cut off: “{said}”."
        else:
            continue
        yield _lesson("error", rule, row, tasks, _first(row, "id"))


def _tries(facts: Row, tasks: Tasks) -> Iterator[dict[str, Any]]:
    """Runs of one task that failed alike more than once."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in _rows(facts, "runs"):
        if _first(row, "status") == "failed" and _first(row, "task_id") and _first(row, "error"):
            alike.setdefault((_first(row, "task_id"), _said(_first(row, "error"))), []).append(row)
    for (_, said), rows in alike.items():
        if len(rows) > 1:
            rule = f"Do not make the same try again after “{said}”: it failed alike {len(rows)} times; change the way."
            yield _lesson("error", rule, rows[0], tasks, *(_first(row, "id") for row in rows))


def _merges(facts: Row) -> Iterator[dict[str, str]]:
    """Known lessons that differ in nothing but case, blanks and stops."""
    seen: dict[tuple[str, ...], str] = {}
    for row in _rows(facts, "known_lessons"):
        key = _words(row)
        if key in seen:
            yield {"keep": seen[key], "drop": str(row["id"]), "reason": "the same words"}
        else:
            seen[key] = str(row["id"])


def _persona(row: Row, tasks: Tasks) -> str:
    return _first(row, "persona") or _first(tasks.get(_first(row, "task_id"), row), "persona")


def _words(lesson: Row) -> tuple[str, ...]:
    """What is the same in two lessons that say the same to the same."""
    rule = re.sub(r"\W+", " ", str(lesson.get("rule", "")).lower()).strip()
    return rule, _first(lesson, "task_type"), _first(lesson, "persona")


def _lesson(kind: str, rule: str, row: Row, tasks: Tasks, *evidence: str) -> dict[str, Any]:
    task = tasks.get(_first(row, "task_id"), row)
    cited = [*evidence, _first(row, "run_id"), _first(row, "task_id")]
    return {
        "kind": kind,
        "rule": rule,
        "task_type": _first(row, "task_type") or _first(task, "task_type", "type") or None,
        "persona": _persona(row, tasks) or None,
        "confidence": 0.5,
        "evidence": list(dict.fromkeys(ident for ident in cited if ident)),
    }


def _said(text: str) -> str:
    """The gist of what somebody wrote, as a quotation without marks of its own and without what fits one case alone."""
    said = without_particulars(_PREFIX.sub("", gist(text)).strip())
    if re.search(r"\w{3}", said) is None:
        return _NOTHING
    return _short(said.rstrip(".").replace("“", "'").replace("”", "'"))


def _short(value: Any) -> str:
    text = " ".join(str(value).split()).replace("“", "'").replace("”", "'")
    return text if len(text) <= _QUOTE else text[:_QUOTE].rsplit(" ", 1)[0] + " …"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first(row: Row, *names: str) -> str:
    return next((str(row[name]) for name in names if row.get(name)), "")
