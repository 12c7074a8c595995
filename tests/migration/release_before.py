"""A process of the release before: executes a PostgreSQL database, told by lines what to do; run under its own sources.

`submit` starts a mission and says its id; `end ID` signs whatever it asks and says how it ended; `asked` says which
questions it would put to people, `sign ID` answers one and says what came of that. No test is here.
"""

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from interlock.app.box import Interlock
from interlock.core.errors import InterlockError

GOAL = "Compare three session stores for a web shop and e-mail the recommendation to board@example.com"


def signing() -> Any:
    """The approval queue, where that release has it."""
    return importlib.import_module("interlock.desk.signing")


async def obey(url: str, home: Path) -> None:
    async with Interlock.open(cwd=home, env={}, home=home, database_url=url, model="rehearsal/offline") as box:
        await box.start()
        say(f"ready {Path(sys.modules[Interlock.__module__].__file__ or '').parents[1]}")
        while words := (await asyncio.to_thread(sys.stdin.readline)).split():
            if words[0] == "submit":
                say(await box.submit(GOAL))
            elif words[0] == "end":
                say(await end(box, words[1], signing().approve))
            elif words[0] == "asked":
                say(" ".join(card["id"] for card in await signing().approvals(box.runtime)))
            elif words[0] == "sign":
                say(await sign(box, words[1]))


async def end(box: Interlock, mission_id: str, approve: Callable[..., Awaitable[object]]) -> str:
    """Approves whatever a mission asks, with the release's own `signing.approve`; how it ended."""
    async for found in box.follow(mission_id):
        for ident in found.approvals:
            await approve(box.runtime, box.person, ident)
        if found.status in ("DONE", "CANCELED"):
            return found.status
    raise AssertionError("following ends only when one leaves")


async def sign(box: Interlock, ident: str) -> str:
    try:
        return str((await signing().approve(box.runtime, box.person, ident))["status"])
    except InterlockError as error:
        return f"refused: {error}"


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(obey(sys.argv[1], Path(sys.argv[2])))
