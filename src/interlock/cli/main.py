"""The entry point: every command by name, and every error as one line with an exit code."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.cli import (
    acting,
    auditing,
    channels,
    chatting,
    checking,
    database,
    emergency,
    lessons,
    listings,
    memories,
    money,
    os_errors,
    outgoing,
    people,
    policy,
    queues,
    running,
    schedules,
    scheduling,
    secrets,
    serving,
    sessions,
    signing,
    starting,
    tokens,
    workflows,
)
from interlock.cli.options import Signed
from interlock.core.errors import InterlockError

USAGE = 2
INTERRUPTED = 130
_BOUNDS = {
    "Input should be greater than or equal to": "it should be at least",
    "Input should be less than or equal to": "it should be at most",
    "Input should be greater than": "it should be more than",
    "Input should be less than": "it should be less than",
}
_NOT_A_NUMBER = re.compile(r"Input should be a valid (number|integer), unable to parse string as an? \1")


def version(asked: bool) -> None:
    """Prints the version and ends."""
    if asked:
        from importlib.metadata import version as installed

        typer.echo(f"interlock {installed('interlock')}")
        raise typer.Exit


def root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The control room for autonomous agents: agents propose, the interlock decides, people sign off."""


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(name="interlock", no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(root)
    for panel, commands in _commands():
        for command in commands:
            app.command(rich_help_panel=panel)(command)
    for panel, name, listing, verbs in _listings():
        group = typer.Typer(invoke_without_command=True)
        group.callback()(unless_subcommand(listing))
        for verb, command in verbs.items():
            group.command(verb, cls=Signed)(command)
        app.add_typer(group, name=name, rich_help_panel=panel, help=listing.__doc__)
    _with_groups(app)
    return app


def _commands() -> list[tuple[str, list[Callable[..., Any]]]]:
    """The commands without subcommands, by their panel in the help."""
    return [
        (
            "Start",
            [
                starting.init,
                starting.demo,
                serving.up,
                serving.serve,
                serving.worker,
                scheduling.scheduler,
                starting.doctor,
            ],
        ),
        ("Missions", [running.run, listings.missions, listings.tasks, listings.task, *acting.COMMANDS]),
        ("Sign off", [signing.approvals, signing.approve, signing.deny]),
        ("Controls", [emergency.pause, emergency.resume, emergency.drain, emergency.stop]),
        (
            "Agents",
            [
                chatting.chat,
                listings.agents,
                queues.queue,
                listings.trace,
                sessions.reset,
                emergency.quarantine,
                emergency.release,
            ],
        ),
        ("Learning", [lessons.learn]),
        ("Money and rules", [money.prices]),
    ]


def _listings() -> list[tuple[str, str, Callable[..., Any], Mapping[str, Callable[..., Any]]]]:
    """The commands that list something, with their subcommands: panel, name, function, subcommands."""
    return [
        ("Agents", "runs", queues.runs, {"requeue": queues.requeue}),
        ("Agents", "alerts", listings.alerts, {"ack": acting.acknowledge}),
        ("Agents", "outbox", outgoing.outbox, {"retry": outgoing.retry}),
        ("Learning", "lessons", lessons.listed, lessons.VERBS),
        ("Sign off", "grants", signing.grants, {"revoke": signing.revoke}),
        ("Money and rules", "budget", money.budget, money.BUDGET_VERBS),
        ("Money and rules", "ledger", money.ledger, money.LEDGER_VERBS),
    ]


def _with_groups(app: typer.Typer) -> None:
    """Adds the commands that have subcommands."""
    app.add_typer(workflows.workflow(), name="workflow", rich_help_panel="Missions")
    app.add_typer(schedules.schedule(), name="schedule", rich_help_panel="Missions")
    app.add_typer(channels.channel(), name="channel", rich_help_panel="Agents")
    app.add_typer(database.database(), name="db", rich_help_panel="Start")
    app.add_typer(memories.memory(), name="memory", rich_help_panel="Learning")
    app.add_typer(tokens.token(), name="token", rich_help_panel="Sign off")
    app.add_typer(people.people(), name="people", rich_help_panel="Sign off")
    app.add_typer(auditing.audit(), name="audit", rich_help_panel="Money and rules")
    app.add_typer(secrets.secrets(), name="secrets", rich_help_panel="Money and rules")
    app.add_typer(sessions.session(), name="session", rich_help_panel="Agents")
    app.add_typer(policy.policy(), name="policy", rich_help_panel="Money and rules")
    app.add_typer(checking.persona(), name="persona", rich_help_panel="Money and rules")


def unless_subcommand(listing: Callable[..., Any]) -> Callable[..., Any]:
    """A group's own command, which does nothing if a subcommand is given."""
    signature = inspect.signature(listing)
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    def shown(context: typer.Context, **options: Any) -> None:
        if context.invoked_subcommand is None:
            listing(**options)

    shown.__signature__ = signature.replace(parameters=[context, *signature.parameters.values()])  # type: ignore[attr-defined]
    shown.__doc__ = listing.__doc__
    return shown


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Runs one command line; returns its exit code. Source: interfaces, "Command line"."""
    try:
        code = build()(args, prog_name="interlock", standalone_mode=False)
        sys.stdout.flush()
    except InterlockError as error:
        return _say(str(error), error.exit_code)
    except typer.TyperException as error:
        return _say(_misuse(error), USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError as error:
        os_errors.let_go_of_output()
        return 1 if isinstance(error, BrokenPipeError) else _say(os_errors.explanation(error) or _bug(error), 1)
    except Exception as error:  # noqa: BLE001 (a traceback is a bug: its details go to a file)
        return _say(_bug(error), 1)
    return code if isinstance(code, int) else 0


def _misuse(error: typer.TyperException) -> str:
    """What is wrong with a command line, and the `--help` that explains it; empty if the help was shown."""
    message = error.format_message().strip().rstrip(".").replace("'", "`").replace("Value error, ", "")
    message = _NOT_A_NUMBER.sub("it should be a number", message).replace(". Did you mean", ", did you mean")
    for theirs, ours in _BOUNDS.items():
        message = message.replace(theirs, ours)
    command = getattr(getattr(error, "ctx", None), "command_path", None) or "interlock"
    see = " See" if message.endswith("?") else ": see"
    return f"{message[:1].lower()}{message[1:]}{see} `{command} --help`" if message else ""


def _say(message: str, code: int) -> int:
    if message:
        from interlock.cli.screen import plain

        for line in message.splitlines():
            print(f"interlock: {plain(line)}", file=sys.stderr)
    return code


def _bug(error: Exception) -> str:
    return f"something unexpected happened ({type(error).__name__}): {_write_down(error)}"


def _write_down(error: Exception) -> str:
    """Appends the details of an error to the home's log, without secrets; returns where they are."""
    import traceback

    from interlock.policy.secrets import scrub

    path = Path(os.environ.get("INTERLOCK_HOME") or ".interlock") / "errors.log"
    details = scrub(_without_values("".join(traceback.format_exception(error))))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as log:
            log.write(f"$ interlock {' '.join(sys.argv[1:2])}\n{details}\n")
    except OSError:
        return scrub(_without_values(str(error)))
    return f"the details are in {path}, please report them"


def _without_values(text: str) -> str:
    """A text without the values of the secrets that the settings name, as far as they can be read."""
    from interlock.settings import load_settings
    from interlock.tools.secrets import Vault

    try:
        return Vault.of(load_settings(Path.cwd(), os.environ, {})).scrub(text)
    except (InterlockError, OSError):
        return text
