"""`policy`: checking, testing, explaining, drafting and replaying the policy; nothing is changed here."""

import difflib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import InMission, Json
from interlock.core.errors import ConfigError, InterlockError, UsageError
from interlock.core.text import amount

if TYPE_CHECKING:
    from interlock.policy.as_code.lint import Remark
    from interlock.policy.calls import Decision
    from interlock.policy.rules import Case, Policy

FAILED = 1
QUESTION_KEYS = (
    "tool", "args", "description", "input_schema", "hints", "declared_risk", "persona", "trust", "task", "project",
    "labels",
)  # fmt: skip
LARGEST_BYTES = 16 * 1024 * 1024
SHOWN = 20
File = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="A policy file, instead of the one in the settings.")
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", metavar="FILE", help="A policy file instead of the one in the settings.")
]
ToolsFile = Annotated[
    Path | None,
    typer.Option(
        "--tools", metavar="FILE", help="The `tools/list` response of an MCP server, whose tools then count as known."
    ),
]

Prefix = Annotated[
    str, typer.Option(metavar="TEXT", help="The prefix that the server's tools have here, such as `crm.`.")
]


def policy() -> typer.Typer:
    """The commands under `policy`."""
    group = typer.Typer(help="Check and test the policy, and explain its decisions.", no_args_is_help=True)
    for command in (policy_check, policy_test, policy_explain, policy_suggest, policy_replay):
        group.command(command.__name__.removeprefix("policy_"))(command)
    return group


def policy_check(file: File = None, tools: ToolsFile = None, prefix: Prefix = "", as_json: Json = False) -> None:
    """Report every mistake in the policy file with its line, and every rule without effect; and run its tests.

    Exit code 2: the file cannot be used, or a test of it fails. 1: it can, and some of its rules can never match, are
    shadowed by others, or change nothing, or it is empty.
    """
    from interlock.app import config
    from interlock.cli import screen
    from interlock.policy.as_code import lint
    from interlock.policy.as_code.cases import run_tests

    settings = opening.settings()
    path, known = file or settings.policy, _known(tools, prefix)
    faults: list[str] = []
    personas = config.load_all_personas(settings).personas
    found: Policy | None = None
    try:
        config.refuse_workspace(settings, settings.policy if file is None else None)
        found = config.load_policy(path, known_tools=known, known_personas=frozenset(personas))
        trust = {name: str(each.trust) for name, each in personas.items()}
        faults = [str(failure) for failure in run_tests(found, trust)]
        faults += [str(each) for each in lint.without_voters(found, len(settings.consensus.models))]
    except ConfigError as error:
        faults = list(error.faults)
    remarks = [*config.emptiness(path, found), *lint.remarks(found, config.declared_risks(), known)] if found else []
    notes = [*found.notes, *map(str, _unanswerable(found))] if found else []
    if as_json:
        screen.data(_checked(path, found, faults, remarks, notes))
        raise typer.Exit(ConfigError.exit_code if faults else FAILED if remarks else 0)
    for note in notes:
        screen.note(note)
    for remark in remarks:
        screen.note(str(remark))
    if faults:
        raise ConfigError(faults)
    if found is None or path is None:
        return screen.line("there is no policy file: the built-in policy holds")
    if remarks:
        count = "remark" if len(remarks) == 1 else f"{len(remarks)} remarks"
        raise InterlockError(f"`{config.shown(path)}` can be used, but see the {count} above")
    held = (found.rules, "rule"), (found.denials, "denial"), (found.cases, "test")
    counts = ", ".join(amount(len(each), what) for each, what in held)
    return screen.line(f"{path} is fine: {counts}")


def _checked(
    path: Path | None, found: "Policy | None", faults: Sequence[str], remarks: Sequence["Remark"], notes: Sequence[str]
) -> dict[str, Any]:
    from interlock.core.errors import placed

    return {
        "file": path,
        "ok": not faults and not remarks,
        "faults": [placed(fault) for fault in faults],
        "remarks": [{**placed(str(each)), "kind": each.kind, "rule": each.rule} for each in remarks],
        "notes": [placed(note) for note in notes],
        "rules": len(found.rules) if found else None,
        "denials": len(found.denials) if found else None,
        "tests": len(found.cases) if found else None,
        "policy_hash": found.version_hash if found else None,
    }


def _unanswerable(found: "Policy") -> list["Remark"]:
    """Rules that require more people than there are; none if there is no home yet."""
    from interlock.policy.as_code import lint

    if not lint.without_people(found, 1):
        return []
    from interlock.desk.operations.policy import how_many_answer

    try:
        count = opening.at_desk(lambda context, person: how_many_answer(context))
    except InterlockError:
        return []
    return lint.without_people(found, count)


def _known(tools: Path | None, prefix: str) -> frozenset[str]:
    from interlock.app import config
    from interlock.policy.as_code.suggest import tools_of
    from interlock.policy.builtin import BASE

    more = () if tools is None else (f"{prefix}{tool['name']}" for tool in tools_of(_document(tools)))
    return config.builtin_names().union(BASE, more)


def policy_test(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE…]", help="Further test files: a list under `tests:`.")
    ] = None,
    policy: PolicyFile = None,
    as_json: Json = False,
) -> None:
    """Run the tests of the policy and of further files; exits with 1 if one fails."""
    from interlock.app import config
    from interlock.cli import screen
    from interlock.core.errors import placed
    from interlock.policy.as_code.case_file import cases_from
    from interlock.policy.as_code.cases import run_tests

    settings = opening.settings()
    found = config.load_policy(policy or settings.policy)
    faults: list[str] = []
    further: list[Case] = []
    for path in files or ():
        try:
            further += cases_from(config.read(path), config.shown(path))
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(faults)
    trust = {name: str(each.trust) for name, each in config.load_all_personas(settings).personas.items()}
    failures, count = run_tests(found, trust, further), len(found.cases) + len(further)
    if as_json:
        messages = [placed(str(failure)) for failure in failures]
        screen.data({"tests": count, "failed": messages, "policy_hash": found.version_hash})
        raise typer.Exit(FAILED if failures else 0)
    if failures:
        raise InterlockError("\n".join([*map(str, failures), f"{len(failures)} of {count} tests failed"]))
    none = "there are no tests: write some under `tests:` of the policy file"
    screen.line(f"{amount(count, 'test')} passed" if count else none)


def policy_explain(
    call: Annotated[str | None, typer.Argument(metavar="[CALL]", help='JSON such as {"tool": …, "args": {…}}.')] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read calls from standard input, one on each line.")] = False,
    policy: PolicyFile = None,
) -> None:
    """Show what the policy would decide about calls, and by which rules; one line of JSON each.

    With `--stdin`, a line that is no call is answered with {"error": …} in its place, and the exit code is 2.
    """
    from interlock.app import config
    from interlock.cli import screen
    from interlock.policy.as_code.cases import answer

    if stdin == (call is not None):
        raise UsageError("give one call as JSON, or `--stdin` with one on each line")
    settings = opening.settings()
    found, known = config.load_policy(policy or settings.policy), config.surroundings(settings)
    faults = []
    for where, text in _calls(call):
        try:
            question = _question(where, text)
        except UsageError as error:
            faults.append(str(error))
            if stdin:
                screen.data_line({"error": str(error)})
        else:
            for doubt in _doubts(question, known.trust_of):
                screen.note(f"{where}: {doubt}")
            screen.data_line(explanation(answer(found, question, known)))
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


def _calls(call: str | None) -> Iterator[tuple[str, str | bytes]]:
    if call is not None:
        yield "the call", call
        return
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            yield f"line {number}", line


def _question(where: str, text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        why = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"{where} is not JSON: {why}") from error
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str) or not value["tool"]:
        raise UsageError(f'{where} names no tool: write it like `{{"tool": "file_write", "args": {{}}}}`')
    return value


def _doubts(question: Mapping[str, Any], trust: Mapping[str, str]) -> Iterable[str]:
    """Warnings about a call that is judged differently than its writer may expect."""
    for key in sorted(question.keys() - set(QUESTION_KEYS)):
        near = difflib.get_close_matches(key, QUESTION_KEYS, n=1)
        yield f"key `{key}` is ignored" + (f": did you mean `{near[0]}`" if near else "")
    persona = question.get("persona")
    if persona and "trust" not in question and (not isinstance(persona, str) or persona not in trust):
        yield f"there is no persona `{persona}`: it is judged as a specialist"


def policy_suggest(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The `tools/list` response; standard input by default.")
    ] = None,
    prefix: Prefix = "",
    as_json: Json = False,
) -> None:
    """Draft rules for the tools of a new MCP server, with a reason for each; nothing is changed.

    Reads the server's `tools/list` as JSON and prints a policy file for you to read, change and take over. A draft
    never lowers a risk.
    """
    from interlock.cli import screen
    from interlock.policy.as_code.suggest import draft, suggestions, tools_of

    found, faults = suggestions(tools_of(_document(file)), prefix)
    if as_json:
        screen.data({"tools": [{"tool": s.tool, "risk": s.risk, "reason": s.reason} for s in found], "faults": faults})
    elif found:
        sys.stdout.write(draft(found))
    for fault in faults:
        screen.note(fault)
    if not found:
        raise UsageError("there is no tool to draft a rule for")


def _document(path: Path | None) -> Any:
    where = "the input" if path is None else f"`{path}`"
    try:
        if path is None:
            text = sys.stdin.buffer.read(LARGEST_BYTES + 1)
        else:
            with path.open("rb") as opened:
                text = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {(error.strerror or str(error)).lower()}") from error
    if len(text) > LARGEST_BYTES:
        raise UsageError(f"{where} is larger than 16 MiB: give the tools of one server")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"{where} is not JSON: {why}") from error


def policy_replay(
    policy: PolicyFile = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only calls since then: `7d`, `12h` or an ISO 8601 time.")
    ] = None,
    mission: InMission = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the newest N calls.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a policy would have decided about recorded calls: what it would have held, denied and asked."""
    from interlock.app import config, parts
    from interlock.cli import screen
    from interlock.core.clock import SystemClock
    from interlock.desk.operations import policy as desk

    settings = opening.settings()
    found, toolbox = config.load_policy(policy or settings.policy), parts.builtin_toolbox()
    begun = None if since is None else desk.since(since, SystemClock().now().astimezone())
    done = opening.at_desk(
        lambda context, person: desk.replay(context, found, toolbox, since=begun, mission=mission, most=limit)
    )
    if as_json:
        counts = {kind.name.lower(): count for kind, count in done.counts.items()}
        changes = [desk.change_view(change) for change in done.changes]
        return screen.data(
            {"calls": done.calls, "summary": done.summary, **counts, "changes": changes, "unlisted": done.unlisted,
             "policy_hash": found.version_hash}
        )  # fmt: skip
    if done.changes:
        screen.table(
            ("CALL", "WHAT", "TOOL", "PERSONA", "WAS", "NOW", "~WHY"),
            [
                (c.recorded.id, c.kind, c.recorded.call.tool, c.recorded.who.persona,
                 f"{c.recorded.risk} {c.recorded.effect}", f"{c.now.risk} {c.now.effect}", "; ".join(c.now.reasons))
                for c in done.changes[:SHOWN]
            ],
            empty="",
        )  # fmt: skip
        if more := len(done.changes) - SHOWN + done.unlisted if len(done.changes) > SHOWN else 0:
            screen.note(f"and {more:,} more: `--json` lists {len(done.changes):,}")
    return screen.line(done.summary)
