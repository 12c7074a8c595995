"""Real processes for tests, each with its own id, arguments, variables, directory, files, signals and exit code.

They are forked from a process that has already imported the product, because importing takes longer than most of what
they do; tests of the start itself ask for a new interpreter with `anew`.
"""

import asyncio
import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, BinaryIO

import interlock
from tests.fork_server import LENGTH, NUMBER

SOURCES = str(Path(interlock.__file__).parents[1])
UNDERSTOOD = {"PYTHONPATH": {SOURCES}, "PYTHONWARNINGS": {"error"}, "PYTHONUNBUFFERED": {"1"}}
"""The variables for the interpreter that a forked process heeds; any other one takes a start of its own."""
LOOK_S = 0.01
_asking = threading.Lock()
_servers: list[socket.socket] = []

Standard = BinaryIO | int
"""A file, or `subprocess.PIPE` or `subprocess.DEVNULL`."""


class Process:
    """A process that runs beside the test; created by `start`."""

    def __init__(self, told: int, pipes: "list[IO[str] | None]") -> None:
        self.stdin, self.stdout, self.stderr = pipes
        self._told = told
        self._code: int | None = None
        self.pid = self._number()

    @property
    def returncode(self) -> int | None:
        """Its exit code if it has ended; negative for the signal that ended it."""
        return self.poll()

    def poll(self) -> int | None:
        """The same."""
        with contextlib.suppress(TimeoutError):
            self.wait(0)
        return self._code

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit code, once it has ended.

        Raises TimeoutError.
        """
        if self._code is None:
            if not select.select([self._told], [], [], timeout_s)[0]:
                raise TimeoutError(f"process {self.pid} goes on after {timeout_s} s")
            self._code = self._number()
            os.close(self._told)
        return self._code

    async def ended(self) -> int:
        """Its exit code, once it has ended; does not block the event loop."""
        while (code := self.poll()) is None:
            await asyncio.sleep(LOOK_S)
        return code

    async def line(self) -> str:
        """The next line of its output, empty at its end; does not block the event loop."""
        assert self.stdout is not None
        return await asyncio.to_thread(self.stdout.readline)

    def send_signal(self, which: signal.Signals) -> None:
        """Sends it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, which)

    def kill(self) -> None:
        """Kills it with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, said: str = "", timeout_s: float | None = None) -> tuple[str, str]:
        """Writes to its standard input, waits for its end, and returns the rest of its two outputs.

        Raises TimeoutError.
        """
        with ThreadPoolExecutor(2) as readers:
            outputs = [readers.submit(_rest, pipe) for pipe in (self.stdout, self.stderr)]
            if self.stdin is not None and not self.stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    self.stdin.write(said)
                with contextlib.suppress(BrokenPipeError):
                    self.stdin.close()
            try:
                self.wait(timeout_s)
            except TimeoutError:
                self.kill()
                raise
            out, err = [each.result() for each in outputs]
        return out, err

    def _number(self) -> int:
        found = b""
        while len(found) < NUMBER.size:
            if not (more := os.read(self._told, NUMBER.size - len(found))):
                raise ChildProcessError("what forks the processes of tests has ended")
            found += more
        return int(NUMBER.unpack(found)[0])


def start(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdin: Standard = subprocess.PIPE,
    stdout: Standard = subprocess.PIPE,
    stderr: Standard = subprocess.PIPE,
    anew: bool = False,
) -> Process:
    """Starts `python *args`: `-m MODULE …` or `-c CODE …`, in a directory, with exactly these variables."""
    anew = anew or any(
        value not in UNDERSTOOD.get(name, ()) for name, value in environment.items() if name.startswith("PYTHON")
    )
    order = {"args": list(args), "folder": str(folder), "environment": dict(environment), "anew": anew}
    written = json.dumps(order).encode()
    with contextlib.ExitStack() as theirs:

        def given(file: int) -> int:
            theirs.callback(os.close, file)
            return file

        files: list[int] = []
        pipes: list[IO[str] | None] = []
        for number, wanted in enumerate((stdin, stdout, stderr)):
            pipe = None
            if wanted == subprocess.PIPE:
                mine, other = os.pipe() if number else reversed(os.pipe())
                pipe = open(mine, "r" if number else "w", encoding="utf-8")  # noqa: SIM115 (closed by who asked)
                files.append(given(other))
            elif isinstance(wanted, int):
                files.append(given(os.open(os.devnull, os.O_RDWR)))
            else:
                files.append(wanted.fileno())
            pipes.append(pipe)
        told, telling = os.pipe()
        files.append(given(telling))
        with _asking:
            socket.send_fds(_server(), [LENGTH.pack(len(written))], files)
            _server().sendall(written)
    return Process(told, pipes)


def running(
    args: Sequence[str], *, folder: Path, environment: Mapping[str, str], anew: bool = False
) -> contextlib.AbstractContextManager[Process]:
    """A process that runs beside the test; killed at the end if necessary."""
    return closing(start(args, folder=folder, environment=environment, anew=anew))


@contextlib.contextmanager
def closing(process: Process) -> Iterator[Process]:
    """The process; killed at the end if necessary."""
    try:
        yield process
    finally:
        close(process)


def run(
    args: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    said: str = "",
    timeout_s: float = 100,
    anew: bool = False,
) -> tuple[int, str, str]:
    """The same, until its end: its exit code and its two outputs.

    Raises TimeoutError.
    """
    with running(args, folder=folder, environment=environment, anew=anew) as process:
        out, err = process.communicate(said, timeout_s)
    return process.wait(), out, err


def close(process: Process) -> None:
    """Kills a process if it is running, and closes its files."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _rest(pipe: IO[str] | None) -> str:
    return "" if pipe is None or pipe.closed else pipe.read()


def ask_at(server: socket.socket) -> None:
    """Uses a server that is already running."""
    _servers.append(server)


def _server() -> socket.socket:
    """The socket of the server. The server, and what it has forked, end with this process."""
    if not _servers:
        _servers.append(_begin())
    return _servers[0]


def _begin() -> socket.socket:
    mine, its = socket.socketpair()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INTERLOCK"))}
    with its:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(its.fileno())],
            cwd=Path(__file__).parents[1], env={**kept, "PYTHONPATH": SOURCES}, pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def end() -> None:
        mine.close()
        server.wait()

    atexit.register(end)
    return mine
