"""Users of a host application as people here, who may only chat with agents.

Authentication is up to the host.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.text import visible
from interlock.desk.context import DeskContext, Person
from interlock.desk.identities.people import unmistakable
from interlock.store import squad
from interlock.store.tx import Tx

SURFACE = "host"
LONGEST = 200
LONGEST_NAME = 60


async def guest(context: DeskContext, user: object) -> Person:
    """The person for a host's user: an id, a mapping or an object with `id` and perhaps `name`.

    They are stored as viewers: admins see them among the people, and other surfaces do not admit them. Here they may
    chat with agents, since the host permits it.

    Raises UsageError if the user has no id.
    """
    ident, name = identify(user)
    row: Any = await context.store.read(squad.person, f"{SURFACE}:{ident}")
    if row is None:
        row = await context.store.write(_ensured, ident, name, context.clock.now())
    return Person(id=row.id, name=row.name, role="operator", surface=SURFACE)


def _ensured(tx: Tx, ident: str, name: str, now: datetime) -> Any:
    called = unmistakable(tx, name, _guest(ident))
    return squad.ensure_person(tx, f"{SURFACE}:{ident}", called, "viewer", now)


def _guest(ident: str) -> str:
    return f"guest {ident[: LONGEST_NAME - 6]}"


def identify(user: object) -> tuple[str, str]:
    """The id and the name of a host's user.

    Raises UsageError.
    """
    if isinstance(user, Mapping):
        ident, name = user.get("id"), user.get("name")
    elif isinstance(user, (str, int)):
        ident, name = user, None
    else:
        ident, name = getattr(user, "id", None), getattr(user, "name", None)
    if isinstance(ident, bool) or ident is None or not str(ident).strip() or len(str(ident)) > LONGEST:
        raise UsageError(
            "`authorize` gave nobody: have it return an id, or something with an `id` and perhaps a `name`, and raise "
            "HTTPException(401) for who is not signed in"
        )
    shown = " ".join(visible(str(name)).split())[:LONGEST_NAME] if name else ""
    return str(ident).strip(), shown or _guest(str(ident).strip())
