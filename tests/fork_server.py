"""The process from which test processes are forked, after it has imported what they need: `python -m`.

It executes no product code itself and starts no thread; `tests.processes` sends it orders. `scripts.run_tests` loads
once for all, and forks the servers from itself.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import typer.main
from sqlmodel import SQLModel

import interlock
from interlock.cli import main as command_line
from interlock.policy import warming
from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.tools.builtin import builtin_tools
from interlock.tools.registry import Toolbox

LENGTH, NUMBER = struct.Struct("!I"), struct.Struct("!i")
STRICT = ("error", None, Warning, None, 0)
"""What `-W error`, under which the server loads, makes of warnings."""
VENDORS = (
    "alembic.autogenerate", "alembic.command", "alembic.config", "alembic.ddl.postgresql", "alembic.ddl.sqlite",
    "aiohttp.web", "anthropic", "anthropic.resources.messages", "asyncio.subprocess", "encodings.idna", "getpass",
    "logging.config", "multiprocessing", "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite", "typer._adapters", "typer.rich_utils", "uvicorn.lifespan.off",
    "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
"""What the product imports only when it is used."""


@dataclass(frozen=True, slots=True)
class Order:
    """A process to fork: like `python *args` with these variables in this directory."""

    args: list[str]
    folder: str
    environment: dict[str, str]
    anew: bool
    """With an interpreter of its own, that has imported nothing."""


class Server:
    """Forks processes on request and reports how each ended; when no client is left, it kills the rest."""

    def __init__(self, asking: socket.socket) -> None:
        self.asking = asking
        self.waking, self.woken = socket.socketpair()
        self.ends: dict[int, int] = {}

    def serve(self) -> Order | None:
        """Serves until the end; in each forked process it returns its order."""
        for end in (self.waking, self.woken):
            end.setblocking(False)
        signal.set_wakeup_fd(self.waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            readable, _, _ = select.select([self.asking, self.woken], [], [])
            if self.woken in readable:
                self.woken.recv(4096)
                self._reap()
            if self.asking in readable:
                header, files, _, _ = socket.recv_fds(self.asking, LENGTH.size, 4)
                if not header:
                    self._end()
                    return None
                order = Order(**json.loads(self._read(*LENGTH.unpack(header))))
                if self._forked(files):
                    return order

    def _read(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            found += self.asking.recv(length - len(found))
        return found

    def _forked(self, files: list[int]) -> bool:
        """Forks a process with these files as its standard streams; the last gets its process id and exit status."""
        *standard, told = files
        child = os.fork()
        if child:
            self.ends[child] = told
            for file in standard:
                os.close(file)
            return False
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(standard):
            os.dup2(file, number)
            os.close(file)
        self._close()
        for other in self.ends.values():
            os.close(other)
        os.set_inheritable(told, False)
        os.write(told, NUMBER.pack(os.getpid()))
        os.close(told)
        return True

    def _reap(self) -> None:
        for child, told in list(self.ends.items()):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                del self.ends[child]
                with contextlib.suppress(BrokenPipeError):
                    os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(status)))
                os.close(told)

    def _end(self) -> None:
        for child in self.ends:
            os.kill(child, signal.SIGKILL)
        for child in self.ends:
            os.waitpid(child, 0)
        self._close()

    def _close(self) -> None:
        signal.set_wakeup_fd(-1)
        for each in (self.asking, self.waking, self.woken):
            each.close()


def become(order: Order) -> None:
    """Continues like a new interpreter with these arguments."""
    os.chdir(order.folder)
    if order.anew:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(sys.executable, [sys.executable, *order.args], order.environment)
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    if "PYTHONWARNINGS" not in order.environment:
        suffer_warnings()
    _open_standard_files(at_once="PYTHONUNBUFFERED" in order.environment)
    how, what, *rest = order.args
    sys.path[0] = "" if how == "-c" else order.folder
    if paths := order.environment.get("PYTHONPATH"):
        sys.path[1:1] = paths.split(os.pathsep)
    sys.argv[:] = [how, *rest]
    if how == "-c":
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), module.__dict__)  # noqa: S102 (what `-c` does)
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


def _open_standard_files(*, at_once: bool) -> None:
    def opened(number: int, like: Any, *, by_line: bool = False) -> Any:
        mode = "r" if number == 0 else "w"
        file = open(number, mode, encoding=like.encoding, errors=like.errors, closefd=False)  # noqa: SIM115
        assert isinstance(file, io.TextIOWrapper)
        file.reconfigure(line_buffering=bool(number) and (by_line or file.isatty()), write_through=at_once)
        return file

    sys.stdin = sys.__stdin__ = opened(0, sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = opened(1, sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = opened(2, sys.stderr, by_line=True)  # type: ignore[misc]


def load() -> None:
    """Imports the product and its lazy imports, builds its statements, schemas and commands, and keeps all of it.

    From here on a warning is an error. Garbage is collected at the end only, which saves a third of the time.
    """
    sys.warnoptions.append("error")
    warnings.simplefilter("error")
    gc.disable()
    _import()
    gc.collect()
    gc.freeze()
    gc.enable()


def _import() -> None:
    for module in pkgutil.walk_packages(interlock.__path__, "interlock."):
        if not {"__main__", "migrations", "testing"} & set(module.name.split(".")):
            importlib.import_module(module.name)
    for name in VENDORS:
        importlib.import_module(name)
    named = [each for name, module in list(sys.modules.items()) if name.startswith("interlock.store.")
             for value in vars(module).values() for each in _parts(value)]  # fmt: skip
    for driver in (SqliteDriver(Path(os.devnull)), PostgresDriver("postgresql://localhost/none")):
        for each in named:
            if isinstance(each, sa.Select | sa.CompoundSelect | sa.Insert | sa.Update | sa.Delete):
                driver.statements.of(each)
            elif isinstance(each, type) and issubclass(each, SQLModel) and hasattr(each, "__table__"):
                driver.statements.insert(each)
    Toolbox(builtin_tools())
    warming.warm()
    command_line.build = functools.cache(command_line.build)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(command_line.build())


def _parts(value: object) -> Iterable[object]:
    """The values of a container, one by one."""
    if isinstance(value, dict):
        return chain.from_iterable(map(_parts, value.values()))
    return chain.from_iterable(map(_parts, value)) if isinstance(value, tuple | list) else (value,)


def suffer_warnings() -> None:
    """Makes warnings errors no longer."""
    sys.warnoptions.clear()
    warnings.filters.remove(STRICT)  # type: ignore[attr-defined]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def serve(asking: socket.socket) -> None:
    """Serves at a socket; a forked process executes its order and exits with its exit code."""
    order = Server(asking).serve()
    if order is None:
        return
    try:
        become(order)
    except SystemExit as asked:
        if isinstance(asked.code, int | None):
            leave(asked.code or 0)
        raise
    leave(0)


def leave(code: int) -> None:
    """Exits like an interpreter, but without destroying inherited objects."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
