"""Rewrites the parts of the documents that are made from code: `python -m scripts.generate_docs [--check]`.

A part stands between `<!-- generated: NAME -->` and `<!-- end of generated: NAME -->`. With `--check` nothing is
written, and the exit code is 1 where a document no longer says what the code does.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from interlock.policy.builtin import BASE
from interlock.policy.definitions.vocabulary import ACTS, MAY_ACT
from interlock.policy.kinds import KINDS
from interlock.policy.risk import MATRIX, Effect, Risk, Trust
from interlock.state_machine.machine import diagram
from interlock.state_machine.table import COORDINATOR_CLEARS, TRANSITIONS, BlockKind, Part
from scripts import docs_chat, docs_commands, docs_performance, docs_policy, docs_prompts

ROOT = Path(__file__).resolve().parent.parent


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def task_diagram() -> str:
    """The life of a task as a Mermaid diagram."""
    return f"```mermaid\n{diagram()}\n```"


def task_transitions() -> str:
    """Every transition, who may make it and what it needs."""
    rows = [
        [t.source, t.dest, ", ".join(part for part in Part if part in t.parts), t.needs]
        for t in TRANSITIONS
    ]  # fmt: skip
    return table(["from", "to", "by", "needs"], rows)


def block_kinds() -> str:
    """The kinds of block and who may clear them."""
    rows = [[kind, "the Coordinator or a person" if kind in COORDINATOR_CLEARS else "a person"] for kind in BlockKind]
    return table(["kind", "cleared by"], rows)


def base_table() -> str:
    """The risk of the built-in tools."""
    rows = [[risk, ", ".join(f"`{name}`" for name in sorted(BASE) if BASE[name] is risk)] for risk in Risk]
    return table(["risk", "tools"], rows)


def raised_by_meaning() -> str:
    """What raises a call by what its arguments mean."""
    rows = [[f"`{kind.rule}`", kind.risk, kind.reason] for kind in KINDS]
    return table(["rule", "risk", "because"], rows)


def trust_matrix() -> str:
    """What becomes of a call, by risk and trust."""
    shown = {Effect.ALLOW: "runs", Effect.HOLD: "held", Effect.DENY: "denied"}
    rows = [[risk, *(shown[MATRIX[risk][trust]] for trust in Trust)] for risk in Risk]
    return table(["", *Trust], rows)


ALL_ACTS = tuple(dict.fromkeys((*ACTS, *MAY_ACT)))


def red_words() -> str:
    """The words that make a tool without a rule RED."""
    rows = [
        [what, ", ".join(ACTS.get(what, "").split()), ", ".join(MAY_ACT.get(what, "").split())] for what in ALL_ACTS
    ]
    return table(["it …", "verbs, in every form", "verbs or nouns: what stands around them tells"], rows)


PARTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/task-states.md": {
        "diagram": task_diagram,
        "transitions": task_transitions,
        "block kinds": block_kinds,
    },
    "docs/policy.md": {
        "trust matrix": trust_matrix,
        "file keys": docs_policy.file_keys,
        "rule keys": docs_policy.rule_keys,
        "seen by conditions": docs_policy.seen_by_conditions,
        "remarks": docs_policy.remarks,
    },
    "docs/risk.md": {
        "base table": base_table,
        "red words": red_words,
        "raised by meaning": raised_by_meaning,
    },
    "docs/prompts.md": {"layers": docs_prompts.layers},
    "docs/commands.md": {
        "commands": docs_commands.commands,
        "chat commands": docs_commands.chat_commands,
        "settings": docs_commands.settings,
        "key variables": docs_commands.key_variables,
    },
    "docs/slack.md": {
        "manifest for socket mode": docs_chat.socket_manifest,
        "manifest for http": docs_chat.http_manifest,
        "scopes": docs_chat.scopes,
    },
    "docs/performance.md": {
        "conditions": docs_performance.conditions,
        "runs": docs_performance.runs,
        "ratios": docs_performance.ratios,
        "history": docs_performance.history,
        "mailbox": docs_performance.mailbox,
        "waiting": docs_performance.waiting,
        "agents": docs_performance.agents,
        "decisions": docs_performance.decisions,
    },
}
"""For each document its parts, by name."""


def regenerated(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """A document with its generated parts made again.

    Raises LookupError if the marks of a part are missing.
    """
    for name, make in parts.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of generated: {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise LookupError(f"the marks of `{name}` are needed, once")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{make()}\n\n{end}{rest.split(end)[1]}"
    return text


def stale(root: Path) -> dict[Path, str]:
    """The documents that differ from what the code says, with what they should be."""
    found = {}
    for name, parts in PARTS.items():
        path = root / name
        now = path.read_text("utf-8")
        if (wanted := regenerated(now, parts)) != now:
            found[path] = wanted
    return found


def main() -> int:
    """Writes what is stale, or with `--check` only says so."""
    parser = argparse.ArgumentParser(description="rewrites the parts of the documents that are made from code")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where something is stale")
    options = parser.parse_args()
    found = stale(ROOT)
    for path, text in found.items():
        if options.check:
            print(f"{path.relative_to(ROOT)}:1: not what the code says: run `python -m scripts.generate_docs`")
        else:
            path.write_text(text, "utf-8")
            print(f"{path.relative_to(ROOT)}: rewritten")
    return int(options.check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
