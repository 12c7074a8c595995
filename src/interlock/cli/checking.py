"""`policy` and `persona`: configuration checked and asked before anything runs by it."""

import difflib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from interlock.policy.calls import Decision

PACKAGE = Path(__file__).parents[1]
QUESTION_KEYS = (
    "tool", "args", "description", "input_schema", "declared_risk", "persona", "trust", "task", "project"
)  # fmt: skip
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Instead of the one in the settings.")]


def policy() -> typer.Typer:
    """The commands under `policy`."""
    group = typer.Typer(help="Check the policy, and ask it.", no_args_is_help=True)
    group.command("check")(policy_check)
    group.command("explain")(policy_explain)
    return group


def persona() -> typer.Typer:
    """The commands under `persona`."""
    group = typer.Typer(help="Look at personas, and check their files.", no_args_is_help=True)
    group.command("list")(persona_list)
    group.command("check")(persona_check)
    return group


def policy_check(file: File = None) -> None:
    """Tell every fault of the policy file with its line, and run its tests."""
    from interlock.app import parts
    from interlock.cli import screen
    from interlock.policy.cases import run_tests

    settings = opening.settings()
    path = file or settings.policy
    personas = parts.load_all_personas(settings).personas
    found = parts.load_policy(path, known_tools=parts.builtin_names(), known_personas=frozenset(personas))
    failures = run_tests(found, {name: str(each.trust) for name, each in personas.items()})
    if failures:
        raise ConfigError([str(failure) for failure in failures])
    for note in found.notes:
        screen.note(note)
    if path is None:
        return screen.line("there is no policy file: the built-in policy holds")
    counts = f"{len(found.rules)} rules, {len(found.denials)} denials, {len(found.cases)} tests"
    return screen.line(f"{path} is fine: {counts}")


def policy_explain(
    call: Annotated[str | None, typer.Argument(metavar="[CALL]", help='JSON such as {"tool": …, "args": {…}}.')] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="One call on each line of the input.")] = False,
) -> None:
    """Say what the policy would decide on a call, and which rules say so; one line of JSON for each.

    With `--stdin`, a line that is no call is answered with {"error": …} in its place, and the exit code is 2.
    """
    from interlock.app import parts
    from interlock.cli import screen
    from interlock.policy.cases import answer

    if stdin == (call is not None):
        raise UsageError("give one call as JSON, or `--stdin` with one on each line")
    settings = opening.settings()
    found = parts.load_policy(settings.policy)
    trust = {name: str(each.trust) for name, each in parts.load_all_personas(settings).personas.items()}
    declared = parts.declared_risks()
    faults = []
    for where, text in _calls(call):
        try:
            question = _question(where, text)
        except UsageError as error:
            faults.append(str(error))
            if stdin:
                screen.data_line({"error": str(error)})
        else:
            for doubt in _doubts(question, trust):
                screen.note(f"{where}: {doubt}")
            screen.data_line(explanation(answer(found, question, trust, declared)))
    if faults:
        raise UsageError("\n".join(faults))


def explanation(decision: "Decision") -> dict[str, Any]:
    """A decision as `policy explain` prints it. Source: interfaces, "Command line"."""
    return {
        "risk": str(decision.risk),
        "effect": str(decision.effect),
        "rules": list(decision.rules),
        "reasons": list(decision.reasons),
    }


def _calls(call: str | None) -> Iterable[tuple[str, str]]:
    if call is not None:
        yield "the call", call
        return
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            yield f"line {number}", line


def _question(where: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str) or not value["tool"]:
        raise UsageError(f'{where} names no tool: write it like `{{"tool": "file_write", "args": {{}}}}`')
    return value


def _doubts(question: Mapping[str, Any], trust: Mapping[str, str]) -> Iterable[str]:
    """What is answered otherwise than its writer may think."""
    for key in sorted(question.keys() - set(QUESTION_KEYS)):
        near = difflib.get_close_matches(key, QUESTION_KEYS, n=1)
        yield f"key `{key}` is ignored" + (f": did you mean `{near[0]}`" if near else "")
    persona = question.get("persona")
    if persona and "trust" not in question and persona not in trust:
        yield f"there is no persona `{persona}`: it is judged as a specialist"


def persona_list(as_json: Json = False) -> None:
    """The personas that would work here, and where each comes from."""
    from interlock.app import parts
    from interlock.cli import screen

    found = parts.load_all_personas(opening.settings())
    if as_json:
        return screen.data([{**p.to_json(), "source": found.sources[name]} for name, p in found.personas.items()])
    screen.table(
        ("NAME", "TITLE", "TRUST", "RISK", "FROM", "~DOES"),
        [
            (p.name, p.title, p.trust, screen.state(p.risk_profile), _origin(Path(found.sources[name])), p.role)
            for name, p in found.personas.items()
        ],
        empty="no persona loaded: see `interlock persona check`",
    )
    for fault in found.faults:
        screen.note(fault)
    return None


def _origin(source: Path) -> str:
    from interlock.app import parts

    return "built-in" if source.is_relative_to(PACKAGE) else parts.shown(source.parent)


def persona_check(file: File = None) -> None:
    """Tell every fault of the persona files with its line."""
    from interlock.app import parts
    from interlock.cli import screen

    found = parts.load_all_personas(opening.settings()) if file is None else parts.load_persona_files(file)
    if found.faults:
        raise ConfigError(list(found.faults))
    screen.line(f"{len(found.personas)} personas are fine: {', '.join(found.personas)}")
