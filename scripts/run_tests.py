"""Runs every test in five pytest processes side by side, so that two processors are always at work: `make test`.

With arguments, one pytest takes them all instead.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import pytest

from tests import fork_server, processes

ROOT = Path(__file__).resolve().parent.parent
APART = (
    "contract/browser", "contract/desk", "contract/runner", "contract/scheduler", "contract/store", "contract/tools",
)  # fmt: skip
SHARES: dict[str, tuple[str, ...]] = {
    "pure parts and the store": ("unit", "contract/store"),
    "runs, kills and earlier releases": ("contract/runner", "contract/tools", "migration", "chaos"),
    "layers above runs": ("contract", *(f"--ignore=tests/{folder}" for folder in APART)),
    "from outside": ("integration", "contract/browser", "contract/scheduler"),
    "whole processes and the desk": ("e2e", "contract/desk"),
}
"""What each process is told. Most of them wait for a disk or a process most of the time."""
PLUGINS = ("--disable-plugin-autoload", "-p", "pytest_asyncio.plugin", "-p", "_hypothesis_pytestplugin")
"""By name: pytest would rewrite all that come along with what is installed, and what was imported before cannot be."""
KEPT = ("-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=failed")
MEMORY, ROOM_BYTES = Path("/dev/shm"), 2 << 30
"""Where files are kept in memory, and what has to be free there: five times what a run takes."""
OUTCOME = re.compile(r"(\d+) (passed|failed|errors?)\b")


@dataclass(frozen=True, slots=True)
class Share:
    """A pytest process at work."""

    process: int
    output: IO[str]

    def end(self) -> tuple[bool, str]:
        """Waits for it; whether all is well, and what it has printed."""
        _, status = os.waitpid(self.process, 0)
        with self.output:
            self.output.seek(0)
            return status == 0, self.output.read()


def main(arguments: list[str]) -> int:
    """Runs the tests; returns 1 if any failed or none ran."""
    os.chdir(ROOT)
    if arguments:
        return int(pytest.main(arguments))
    with _quick_files():
        return _run()


@contextlib.contextmanager
def _quick_files() -> Iterator[None]:
    """Has temporary files kept in memory where there is room: on a disk every commit of every test waits for it."""
    try:
        room = os.statvfs(MEMORY)
        is_roomy = room.f_bavail * room.f_frsize >= ROOM_BYTES and os.access(MEMORY, os.W_OK)
    except OSError:
        is_roomy = False
    if not is_roomy or "TMPDIR" in os.environ:
        yield
        return
    maker, folder = os.getpid(), tempfile.mkdtemp(prefix="tests-", dir=MEMORY)
    os.environ["TMPDIR"], tempfile.tempdir = folder, None
    try:
        yield
    finally:
        if os.getpid() == maker:  # an exception that ends a forked process comes by here too
            shutil.rmtree(folder, ignore_errors=True)


def _run() -> int:
    fork_server.load()
    running = {name: _start(folders) for name, folders in SHARES.items()}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    totals: dict[str, int] = {"passed": 0, "failed": 0}
    failed = False
    try:
        for name in list(running):
            is_well, text = running[name].end()
            del running[name]
            failed |= not is_well
            print(f"---- {name} ----\n{text}", flush=True)
            for count, outcome in OUTCOME.findall(text.rstrip().rsplit("\n", 1)[-1]):
                totals["passed" if outcome == "passed" else "failed"] += int(count)
    finally:
        for share in running.values():
            os.kill(share.process, signal.SIGTERM)
            share.end()
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if failed or not totals["passed"] else 0


def _start(folders: tuple[str, ...]) -> Share:
    """Forks a pytest from this process, which has imported the product: five of them would each take seconds for it."""
    output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (read and closed with the process)
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        _become(output, [sys.argv[0], *PLUGINS, *KEPT, *map(_told, folders)])
    return Share(process, output)


def _become(output: IO[str], command: list[str]) -> NoReturn:
    """Goes on as a pytest, with what forks its processes beside it."""
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    asking, asked = socket.socketpair()
    server = os.fork()
    if server == 0:
        asking.close()
        _serve(asked)
    asked.close()
    processes.ask_at(asking)
    fork_server.suffer_warnings()
    sys.argv[:] = command
    code = int(pytest.main(command[1:]))
    asking.close()
    os.waitpid(server, 0)
    fork_server.leave(code)
    sys.exit(code)


def _serve(asked: socket.socket) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    fork_server.serve(asked)
    fork_server.leave(0)
    sys.exit(0)


def _told(argument: str) -> str:
    return argument if argument.startswith("--") else f"tests/{argument}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
