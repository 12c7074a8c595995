"""Restoring an earlier version of anything that has versions."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from interlock.cli import opening

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person


def bring_back(
    restore: "Callable[[DeskContext, Person, str, int], Awaitable[dict[str, Any]]]",
    ident: str,
    version: int,
    *,
    as_json: bool,
) -> None:
    """Makes an earlier version the current one, and prints its number."""
    from interlock.cli import screen

    found = opening.at_desk(lambda context, person: restore(context, person, ident, version))
    if as_json:
        return screen.data(found)
    return screen.line(f"{found['id']} is as in version {version} again, now version {found['version']}")
