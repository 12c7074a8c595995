"""Opens the desk for a command: settings, the operator at this terminal, signals, the event loop."""

import asyncio
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from interlock.cli import garbage

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person
    from interlock.settings import Settings

T = TypeVar("T")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
AT_ONCE = 130


def settings(**overrides: Any) -> "Settings":
    """The settings of the working directory, the environment and a command's flags.

    Raises ConfigError.
    """
    from interlock.settings import load_settings

    return load_settings(Path.cwd(), os.environ, overrides)


def load_everything() -> None:
    """Imports what executes missions, which takes a second, while Ctrl-C still ends the process at once."""
    importlib.import_module("interlock.app.box")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs the asynchronous part of a command."""
    return asyncio.run(work)


def place() -> "Settings":
    """The settings, or, if they have faults, which are printed, defaults with the places of home and database.

    Raises ConfigError if even that is not certain.
    """
    from interlock.cli import screen
    from interlock.core.errors import ConfigError
    from interlock.settings import load_place

    try:
        return settings()
    except ConfigError as error:
        found = load_place(Path.cwd(), os.environ)
        screen.note(f"the settings have mistakes, which do not prevent this:\n{error}")
        return found


@contextlib.asynccontextmanager
async def desk(*, anew: bool = False, anyhow: bool = False) -> AsyncIterator[tuple["DeskContext", "Person"]]:
    """The database of an existing home (`anew`: of one that is made where there is none) and the operator at this
    terminal, for commands that look or answer; `anyhow`: also where the rest of the settings has faults.

    Raises InterlockError if there is no home yet.
    """
    from interlock.app.local import open_desk

    async with open_desk(place() if anyhow else settings(), surface="cli", anew=anew) as opened:
        yield opened


def at_desk(
    work: Callable[["DeskContext", "Person"], Awaitable[T]], *, anew: bool = False, anyhow: bool = False
) -> T:  # fmt: skip
    """Runs `work` with an open desk and returns its result; `anew` and `anyhow` as for `desk`."""

    async def whole() -> T:
        async with desk(anew=anew, anyhow=anyhow) as (context, person):
            return await work(context, person)

    return run(whole())


async def tell_new_project(project: str | None) -> None:
    """Notes that a command creates a project: a misspelt name would be a project with a budget of its own."""
    from interlock.app.local import is_there
    from interlock.cli import screen
    from interlock.desk.work import projects

    if project is None or not is_there(settings(project=project)):
        return
    async with desk() as (context, _):
        said = await projects.newness(context, project)
    if said is not None:
        screen.note(said)


def is_anybody_at_work() -> bool:
    """Whether a process executes what waits; assumed for a database server, since other machines may."""
    from interlock.app.local import home_lock

    found = settings()
    return not found.is_embedded or home_lock(found).holder() is not None


def note_rest() -> None:
    """Notes if no process is there to continue what a command has resumed."""
    from interlock.cli import screen

    if not is_anybody_at_work():
        screen.note("nothing runs yet: no process executes this home, start `interlock up`")


class Stopping(asyncio.Event):
    """Set by the first Ctrl-C or SIGTERM, or when the terminal is closed.

    A second one ends the process at once; if the command `is_patient`, it sets `again`, and a third one ends it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.again, self.is_patient = asyncio.Event(), False


@contextlib.contextmanager
def stopping() -> Iterator[Stopping]:
    """An event that the first Ctrl-C or SIGTERM sets; a second one ends the process at once.

    A closed terminal sets it, too, unless the command was told not to mind (`nohup`); however often that is told, since
    the system and the shell both do, it ends nothing at once.
    """
    garbage.collect_as_usual()
    asked = Stopping()
    loop = asyncio.get_running_loop()
    terminals = [number for number in (1, 2) if os.isatty(number)]

    def stop() -> None:
        if asked.again.is_set() or (asked.is_set() and not asked.is_patient):
            sys.stderr.flush()
            os._exit(AT_ONCE)
        (asked.again if asked.is_set() else asked).set()

    def hung_up() -> None:
        _mute(terminals)
        asked.set()

    handlers = dict.fromkeys(STOP_SIGNALS, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = hung_up
    for each, handler in handlers.items():
        loop.add_signal_handler(each, handler)
    try:
        yield asked
    finally:
        for each in handlers:
            loop.remove_signal_handler(each)


def _mute(terminals: list[int]) -> None:
    """Discards further output: on a terminal that is gone, each line would be an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in terminals:
        os.dup2(nowhere, number)
    os.close(nowhere)
