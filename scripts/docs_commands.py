"""Tables of commands and settings for the documents, made from the command line, the chats and the settings."""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from typer.core import TyperCommand, TyperGroup

from interlock.cli.main import build
from interlock.desk.chats.command_table import COMMANDS
from interlock.settings import KEY_VARIABLES, OTHER_VARIABLES, PREFIX, Settings

EXPLAINED = {"home": "`.interlock` in the working directory", "database_url": "SQLite in the home"}
"""Defaults that depend on where one is."""


def rows_of(lines: list[list[str]], head: list[str]) -> str:
    """A Markdown table."""
    every = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in every)


def commands() -> str:
    """Every command with what it takes and does."""
    root = typer.main.get_command(build())
    assert isinstance(root, TyperGroup)
    lines = [[f"`{usage}`", help_text] for usage, help_text in _commands(root, "interlock")]
    return rows_of(lines, ["command", "does"])


def _commands(group: TyperGroup, path: str) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            if command.invoke_without_command:
                yield _line(command, f"{path} {name}")
            yield from _commands(command, f"{path} {name}")
        else:
            assert isinstance(command, TyperCommand)
            yield _line(command, f"{path} {name}")


def _line(command: Any, path: str) -> tuple[str, str]:
    words = [word for parameter in command.params if (word := _word(parameter))]
    return " ".join([path, *words]), (command.help or "").split("\n\n")[0].replace("\n", " ")


def _word(parameter: Any) -> str | None:
    name = parameter.metavar or (parameter.name or "").upper()
    if parameter.param_type_name == "argument":
        return str(name)
    if "--help" in parameter.opts:
        return None
    option = "/".join((*(o for o in parameter.opts if o.startswith("--")), *parameter.secondary_opts))
    if not parameter.is_flag:
        option += f" {name}"
    return option if parameter.required else f"[{option}]"


def chat_commands() -> str:
    """Every command of the chats, as it is typed in each of them, and who may."""
    lines = [[f"`/interlock {c.usage}`", f"`/{c.usage}`", c.help, f"{c.role}s"] for c in COMMANDS.values()]
    return rows_of(lines, ["in Slack", "in Telegram", "does", "for"])


def settings() -> str:
    """Every setting with its variable, default and meaning."""
    lines = [[f"`{key}`", f"`{variable}`", *rest] for key, variable, *rest in _settings(Settings, ())]
    return rows_of(lines, ["key in interlock.yaml", "variable", "default", "meaning"])


def _settings(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    meanings = _meanings(model)
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        here = (*path, name)
        inner = _model(field.annotation)
        if inner is not None and get_origin(field.annotation) is None:
            yield from _settings(inner, here)
        elif inner is not None:
            yield from _settings(inner, (*here, "<NAME>"))
        else:
            usual = {at: variable for variable, at in OTHER_VARIABLES.items()}.get(here)
            variable = usual or PREFIX + "__".join(here).upper()
            yield ".".join(here), variable, _default(name, here, field), meanings[name]


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """What each setting of a group means: the docstring below its field."""
    (group,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(group, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(text.value.value).replace("\n", " ")
        for field, text in pairwise(group.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (None, Union, types.UnionType):
        return None
    return next((a for a in get_args(annotation) if isinstance(a, type) and issubclass(a, BaseModel)), None)


def _default(name: str, path: tuple[str, ...], field: Any) -> str:
    if path[0] in EXPLAINED:
        return EXPLAINED[path[0]]
    if name == "api_key":
        return "from its variable"
    if field.default in (None, (), {}):
        return "–"
    return f"`{field.default:g}`" if isinstance(field.default, float) else f"`{field.default}`"


def key_variables() -> str:
    """The variable of each provider's key."""
    return rows_of([[name, f"`{variable}`"] for name, variable in KEY_VARIABLES.items()], ["provider", "variable"])
