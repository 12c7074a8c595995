"""The command line and the chats say the same of the same command."""

import inspect

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from interlock.cli.main import build
from interlock.desk.chats.command_table import COMMANDS

ROOT = get_command(build())
CHAT_ONLY = {"status", "help"}


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - CHAT_ONLY))
def test_both_explain_a_command_alike(name: str) -> None:
    assert isinstance(ROOT, TyperGroup)
    said = inspect.cleandoc(ROOT.commands[name].help or "")
    assert said.startswith(COMMANDS[name].help.rstrip("."))


def test_every_command_fits_where_services_list_them() -> None:
    """Telegram takes names of 1 to 32 of a-z, 0-9 and _, and descriptions of 1 to 256 characters."""
    for command in COMMANDS.values():
        assert command.name.isalpha()
        assert command.name.islower()
        assert 1 <= len(command.help) <= 256
