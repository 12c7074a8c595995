"""The table of chat commands: names, arguments, help, required role. Pure data.

They are executed in `commands`, and registered by each surface.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

VIEWER, OPERATOR = "viewer", "operator"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the table."""

    name: str
    takes: str
    """Its arguments: `ID REASON`, `[STATE]`; empty if it takes none."""
    help: str
    """One sentence; the command line's help of the same command begins with it."""
    role: str = OPERATOR
    """viewer: everybody who is known; operator: operators and admins."""
    aliases: tuple[str, ...] = ()
    """Other accepted spellings, which are not listed."""

    @property
    def usage(self) -> str:
        """The command with its arguments, without the surface's prefix."""
        return f"{self.name} {self.takes}".rstrip()


_ALL = (
    Command("run", "GOAL", "Start a mission from a goal.", aliases=("start", "mission")),
    Command("status", "", "Show how things stand.", VIEWER, ("missions",)),
    Command("tasks", "[STATE]", "List tasks, newest first.", VIEWER),
    Command("task", "ID", "Show a task or mission.", VIEWER, ("show",)),
    Command("cancel", "ID", "End a mission, a task or a run."),
    Command("agents", "", "List agents, most recently active first.", VIEWER),
    Command("approvals", "[ID]", "List the questions that wait for a person, oldest first.", VIEWER, ("queue",)),
    Command("approve", "ID [NOTE]", "Approve a held call or another question.", aliases=("ok", "yes")),
    Command("deny", "ID REASON", "Deny a held call or another question; the agent is told why.", aliases=("no",)),
    Command("grants", "[revoke ID]", "List the grants: what people have allowed for a while.", VIEWER),
    Command("pause", "", "Stop each run after its current step, and start no new ones."),
    Command("resume", "", "Let the squad work again."),
    Command("drain", "", "Let running runs finish, and start no new ones."),
    Command("stop", "", "Interrupt all running runs at once, and start no new ones."),
    Command("quarantine", "AGENT [REASON]", "Stop one agent and keep work away from it."),
    Command("release", "AGENT", "Let a quarantined agent work again."),
    Command("reset", "[AGENT]", "Start a conversation with an agent afresh.", aliases=("forget",)),
    Command("budget", "", "Show limits and what has been spent under them.", VIEWER),
    Command("learn", "", "Have the Learner review now what has ended since it last did."),
    Command("help", "[COMMAND]", "Show the commands.", VIEWER, ("?", "commands")),
)
COMMANDS: Mapping[str, Command] = {command.name: command for command in _ALL}
"""By name, in the order of help."""
_IN_A_SHELL = re.compile(r"`interlock ([a-z]+)((?: [^`\s-][^`\s]*)*)`")
_SPELLINGS = {spelling: c.name for c in _ALL for spelling in (c.name, *c.aliases)}
PREFIXES: Mapping[str, str] = {"slack": "/interlock ", "telegram": "/"}
"""The prefix of commands, by surface."""


def named(text: str) -> Command | None:
    """The command with this name, in any case, with or without a slash; None if there is none."""
    return COMMANDS.get(_SPELLINGS.get(text.strip().lstrip("/").lower(), ""))


def suggestion(text: str) -> Command | None:
    """The command that an unknown word probably means."""
    near = difflib.get_close_matches(text.strip().lstrip("/").lower()[:40], _SPELLINGS, n=1, cutoff=0.6)
    return COMMANDS[_SPELLINGS[near[0]]] if near else None


def spelled(surface: str, usage: str) -> str:
    """A command with its arguments and a surface's prefix: `/interlock run GOAL`, `/run GOAL`."""
    return PREFIXES.get(surface, "") + usage


def in_chat(surface: str, text: str) -> str:
    """A text in which shell commands are rewritten for a surface; commands that only the shell has stay."""

    def as_typed(found: re.Match[str]) -> str:
        name, rest = found[1], found[2]
        command = COMMANDS.get(name)
        return found[0] if command is None or (rest and not command.takes) else f"`{spelled(surface, name + rest)}`"

    return _IN_A_SHELL.sub(as_typed, text)
