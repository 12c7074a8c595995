"""Shows one thing in full on the terminal: a task, a run's trace, an approval's card."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from interlock.cli import screen

if TYPE_CHECKING:
    from interlock.desk.chats.cards import Card, Fact

View = Mapping[str, Any]
LONG = 400
"""Characters of a message or a result in a trace."""


def estimated(task: View) -> str | None:
    """What rehearsed work would really cost, as text; None if nothing was rehearsed."""
    found = task["estimate"]
    return f"about {screen.dollars(found['cost_usd'])} with {found['model']}" if found else None


def show_task(task: View, now: datetime) -> None:
    """Prints a task or mission with everything that belongs to it."""
    screen.line(task["title"], style="bold")
    screen.facts(
        [
            ("id", task["id"]),
            ("state", screen.state(task["status"])),
            ("blocked", f"{task['block_kind']}: {task['block_reason']}" if task["block_kind"] else None),
            ("waits for", task["wait_for"]),
            ("goal", task["goal"] if task["parent_id"] is None else None),
            ("workflow", task["workflow"] if task["parent_id"] is None else None),
            ("persona", task["persona"]),
            ("type", task["type"]),
            ("priority", task["priority"]),
            ("cost", f"{screen.dollars(task['cost_usd'])} of {screen.dollars(task['budget_usd'])}"),
            ("rehearsed", estimated(task)),
            ("needs", ", ".join(f"{d['title']} ({d['status']})" for d in task["depends_on"])),
            ("feedback", task["feedback"]),
            ("started", screen.ago(task["created_at"], now)),
        ]
    )
    if task["parent_id"] is not None:
        screen.line()
        screen.quoted(task["description"])
    if task["subtasks"]:
        screen.heading("Tasks")
        rows = [(s["id"], screen.state(s["status"]), s["persona"] or "–", s["title"]) for s in task["subtasks"]]
        screen.table(("ID", "STATE", "WHO", "~TITLE"), rows, empty="")
    _checks(task)
    if task["votes"]:
        screen.heading("Votes of models")
        _votes(task["votes"])
    _history(task, now)
    if task["approvals"]:
        screen.heading("Waits for an answer")
        for ident in task["approvals"]:
            screen.line(f"interlock approve {ident}")
    _deliverable(task)


def _deliverable(task: View) -> None:
    if found := task["deliverable"]:
        screen.heading("Deliverable")
        screen.facts(
            [
                ("title", found["title"]),
                ("summary", found["summary"]),
                ("file", found["path"]),
                ("sha256", found["sha256"]),
                ("read it", f"interlock deliverable {task['id']}"),
            ]
        )


def _checks(task: View) -> None:
    """Prints the checks of a task, and the deliverables that the gate rejected. Source: rows A15, A20."""
    if task["checks"]:
        screen.heading("Checks")
        rows = [(c["number"], screen.state(c["state"]), c["set_by"] or "–", c["name"]) for c in task["checks"]]
        screen.table((">N", "STATE", "SET BY", "~CHECK"), rows, empty="")
        for each in task["checks"]:
            if each["detail"] and each["state"] in ("failed", "waived"):
                screen.line(f"{each['number']} {each['state']}:")
                screen.quoted(each["detail"])
    if task["turned_back"]:
        screen.heading("Rejected deliverables")
        for each in task["turned_back"]:
            screen.line(f"{each['name']}: {screen.plain(each['detail'], one_line=True)}")


def _votes(votes: Sequence[View]) -> None:
    """Prints the verdicts of the models that voted, with their reasons. Source: rows A10, C8."""
    for each in votes:
        said = screen.plain(each["reason"], one_line=True)
        screen.line(f"model {each['model']}: {each['verdict'] or 'still asked'}" + (f": {said}" if said else ""))


def _history(task: View, now: datetime) -> None:
    screen.heading("Transitions")
    screen.table(
        ("WHEN", "FROM", "TO", "BY", "~WHY"),
        [
            (
                screen.ago(t["created_at"], now), screen.state(t["from_status"]), screen.state(t["to_status"]),
                t["actor_kind"], t["reason"],
            )
            for t in task["transitions"]
        ],
        empty="none yet",
    )  # fmt: skip
    if task["thread"]:
        screen.heading("Thread")
        for message in task["thread"]:
            when = screen.ago(message["created_at"], now)
            screen.line(f"{when}  {message['author']}  {message['kind']}", style="dim")
            screen.quoted(message["text"])
    if task["runs"]:
        screen.heading("Runs")
        rows = [
            (
                r["id"], screen.state(r["status"]), r["kind"], screen.dollars(r["cost_usd"]),
                r["because"] or r["stop_reason"] or "",
            )
            for r in task["runs"]
        ]  # fmt: skip
        screen.table(("ID", "STATE", "KIND", ">COST", "~WHY"), rows, empty="")


def show_trace(run: View, now: datetime) -> None:
    """Prints a run step by step, with its prompt if that was requested."""
    _run_facts(run, now)
    if run["forgotten_at"]:
        screen.line(
            f"its steps and messages were forgotten on {run['forgotten_at'][:10]}, as `keep` in the settings says"
        )
        return
    prompt = run.get("prompt")
    if prompt is not None:
        _prompt(prompt)
    _messages(run["messages"], in_full=prompt is not None)
    _tool_calls(run["tool_calls"])
    _steps(run["steps"])


def _run_facts(run: View, now: datetime) -> None:
    screen.facts(
        [
            ("run", run["id"]),
            ("state", screen.state(run["status"])),
            ("ended", run["stop_reason"]),
            ("error", run["error"]),
            ("persona", run["persona"]),
            ("model", run["model"]),
            ("rehearsal", "yes, effects on the outside world are simulated" if run["simulated"] else None),
            ("cause", f"{run['cause_kind']} {run['cause_id'] or ''}".strip()),
            ("mission", run["mission_id"]),
            ("task", run["task_id"]),
            ("cost", screen.dollars(run["cost_usd"])),
            ("tokens", " ".join(f"{k}={v}" for k, v in run["token_usage"].items() if v)),
            ("posted", screen.ago(run["created_at"], now)),
        ]
    )


def _messages(messages: Sequence[View], *, in_full: bool) -> None:
    for message in messages:
        if message["message_type"] == "system_message":
            continue
        tool = message["tool_name"]
        screen.heading(message["message_type"].replace("_", " ") + (f": {screen.plain(tool)}" if tool else ""))
        text = message["content"] or (one_line(message["tool_input"]) if message["tool_input"] else "")
        screen.quoted(text if in_full else cut(text))


def _tool_calls(calls: Sequence[View]) -> None:
    if calls:
        screen.heading("Tool calls")
        rows = [
            (
                c["step_number"], c["tool"], screen.state(c["risk"] if c["reasons"] else "–"),
                screen.state(c["status"]), ", ".join(c["rules"]), one_line(c["args"]),
            )
            for c in calls
        ]  # fmt: skip
        screen.table((">STEP", "TOOL", "RISK", "STATE", "RULES", "~ARGUMENTS"), rows, empty="")


def _steps(steps: Sequence[View]) -> None:
    screen.heading("Steps")
    screen.table(
        (">STEP", "MODEL", "ENDED", ">COST", ">TRIES"),
        [
            (
                s["step_number"],
                s["model_id"],
                s["stop_reason"] or s["status"],
                screen.dollars(s["cost_usd"]),
                s["attempts"],
            )
            for s in steps
        ],
        empty="no model call yet",
    )  # fmt: skip


def _prompt(prompt: View) -> None:
    """Prints how the system prompt was composed, then each layer. Tokens are estimates."""
    screen.heading("System prompt")
    if prompt["mode"] is None:
        screen.line("none yet: the run has not begun")
        return
    tokens, used = prompt["tokens"], prompt["used"]
    read, sent = used.get("cache_read_tokens", 0), used.get("input_tokens", 0)
    reasons: dict[str, list[str]] = {}
    for name, why in prompt["left_out"].items():
        reasons.setdefault(why, []).append(name)
    written = used.get("cache_write_5m_tokens", 0) + used.get("cache_write_1h_tokens", 0)
    screen.facts(
        [
            ("mode", prompt["mode"]),
            ("system", f"{tokens['system']:,} tokens: {tokens['stable']:,} stable, {tokens['changing']:,} changing"),
            ("messages", f"{tokens['messages']:,} tokens"),
            ("from cache", f"{read:,} of {read + sent + written:,} tokens that went in, over {used['calls']} calls"),
            ("failed", "\n".join(prompt["failed"])),
            ("left out", "\n".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())),
        ]
    )
    screen.line()
    screen.table(
        ("LAYER", ">TOKENS", ">CHARACTERS", "PART"),
        [
            (each["name"], f"{each['tokens']:,}", f"{each['characters']:,}", "stable" if each["stable"] else "changing")
            for each in prompt["layers"]
        ],
        empty="no layers: this agent gets no system prompt",
    )
    for each in prompt["layers"]:
        screen.heading(f"layer: {each['name']}")
        screen.quoted(each["text"])


def show_card(card: "Card") -> None:
    """Prints an approval as the person who is asked sees it: who asks, for what, why it was held. Source: row C5."""
    screen.line(card.title, style="bold")
    screen.facts([("id", card.footer), *((fact.label.lower(), _fact(fact)) for fact in card.facts)])
    for passage in card.passages:
        screen.line()
        if passage.heading:
            screen.line(passage.heading, style="dim")
        screen.quoted(passage.text)


def _fact(fact: "Fact") -> object:
    return screen.state(fact.value) if fact.label in ("Risk", "State") else fact.value


def show_answered(cards: Sequence[View], now: datetime) -> None:
    """Prints questions and their answers, one per line."""
    screen.table(
        ("ID", "STATE", "RISK", "KIND", "ASKED BY", "ANSWERED BY", "ASKED", "~WHAT"),
        [
            (
                c["id"], screen.state(c["status"]), screen.state(c["risk"]), c["kind"], c["asked_by"],
                c["decided_by_name"] or "–", screen.ago(c["created_at"], now),
                headline(c) + (f" for “{c['task_title']}”" if c["task_title"] else ""),
            )
            for c in cards
        ],
        empty="no questions have been asked",
    )  # fmt: skip


def headline(card: View) -> str:
    """What is asked, on one line."""
    kind = card["kind"].replace("_", " ").lower()
    asked = card["does"] or card["summary"] or card["request"].get("question") or kind
    return screen.plain(asked, one_line=True)


def one_line(value: object) -> str:
    """A JSON value on one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def cut(text: str) -> str:
    """The beginning of a text, and how much is left out."""
    return (
        text if len(text) <= LONG else f"{text[:LONG]}… ({len(text) - LONG:,} more characters: `--prompt` or `--json`)"
    )
