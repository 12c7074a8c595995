"""The commands that people give in chats: names, what they take, what they do, who may; data that anything may read.

How they are carried out is in `commands`; how a surface registers and renders them, its own matter.
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
    """viewer: whoever is known may; operator: operators and admins."""
    aliases: tuple[str, ...] = ()
    """Other spellings, which are understood and not listed."""

    @property
    def usage(self) -> str:
        """The command as one types it, without what the surface wants before it."""
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
"""What one types before a command, by surface."""


def named(text: str) -> Command | None:
    """The command that somebody wrote, in any case, with or without a slash; None if there is none."""
    return COMMANDS.get(_SPELLINGS.get(text.strip().lstrip("/").lower(), ""))


def meant(text: str) -> Command | None:
    """The command that was probably meant by a word that is none."""
    near = difflib.get_close_matches(text.strip().lstrip("/").lower()[:40], _SPELLINGS, n=1, cutoff=0.6)
    return COMMANDS[_SPELLINGS[near[0]]] if near else None


def spelled(surface: str, usage: str) -> str:
    """A command with its arguments as one types it on a surface: `/interlock run GOAL`, `/run GOAL`."""
    return PREFIXES.get(surface, "") + usage


def in_chat(surface: str, text: str) -> str:
    """A text with the commands of the shell in it as one types them on a surface; those that only a shell has stay."""

    def chatted(found: re.Match[str]) -> str:
        name, rest = found[1], found[2]
        command = COMMANDS.get(name)
        return found[0] if command is None or (rest and not command.takes) else f"`{spelled(surface, name + rest)}`"

    return _IN_A_SHELL.sub(chatted, text)
