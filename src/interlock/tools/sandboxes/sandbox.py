"""The sandbox for commands and code: no network, only one folder to write to, and limits on all that can be used up.

It is bubblewrap, on Linux. Where that does not work there is no sandbox, and nothing is run instead. What a program
sees is in `view`; how it is started and ended, in `children`. Source: rows A20, G4.
"""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interlock.core.errors import InterlockError
from interlock.settings import Settings
from interlock.tools import children
from interlock.tools.bounds import MIB, Bounds, Entry, bounded
from interlock.tools.children import Ended, Order
from interlock.tools.orphans import Record
from interlock.tools.sandboxes import as_root
from interlock.tools.sandboxes.usage import Most, Usage
from interlock.tools.sandboxes.view import FOLDER, view

PROGRAM = "bwrap"
TRY_S = 10.0
BEGUN = "\x02 begun in the sandbox\n"
"""What is written to standard error just before the program is started; without it, the sandbox was not made."""
ALONE = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
OWN_USER = ("--unshare-user", "--disable-userns", "--uid", str(as_root.INSIDE), "--gid", str(as_root.INSIDE))
MAY_CHANGE_USER = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
"""Until the program is started; it has no capability itself."""
KEPT_ALIVE = 1
"""A process of the sandbox itself, which counts as one of the program's."""
GRACE_S = 2
"""By how much a process may pass the CPU time of the whole before it is ended by itself, without a reason given."""
ENVIRONMENT: Mapping[str, str] = {"HOME": FOLDER, "TMPDIR": "/tmp", "USER": "sandbox", "LOGNAME": "sandbox"}
_TRY = """
import os, sys
lines = open("/proc/self/status").read().splitlines()
status = dict(line.split(":", 1) for line in lines if ":" in line)
if int(status["CapPrm"], 16) or int(status["CapEff"], 16) or status["NoNewPrivs"].strip() != "1":
    sys.exit("a program keeps capabilities")
if [line for line in open("/proc/net/dev").read().splitlines()[2:] if line.split(":")[0].strip() != "lo"]:
    sys.exit("a program has a network")
if os.path.lexists(sys.argv[1]):
    sys.exit("a program sees other folders")
open("file", "w").close()
started = []
try:
    while len(started) < 64:
        pid = os.fork()
        if pid == 0:
            os.read(0, 1)
            os._exit(0)
        started.append(pid)
except BlockingIOError:
    pass
if len(started) == 64:
    sys.exit("a program may start any number of processes")
if not started:
    sys.exit("a program cannot start another")
"""


class NoSandbox(InterlockError):
    """There is no sandbox on this machine; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program in the sandbox may use, with all its processes. Source: numbers, "Other defaults"."""

    wall_s: float = 30.0
    cpu_s: int = 20
    memory_bytes: int = 512 * MIB
    """Of memory; each process is given as much address space."""
    processes: int = 64
    written_bytes: int = 50 * MIB
    """By how much the folder may grow; no file may be larger."""
    output_bytes: int = 1 * MIB
    """What is kept of its output, and of its errors."""


class Sandbox:
    """The sandbox of this machine. `readable` are further folders that programs in it may read; `hidden` never are."""

    def __init__(
        self, *, limits: Limits | None = None, readable: Sequence[Path] = (), hidden: Sequence[Path] = ()
    ) -> None:
        self.limits = limits or Limits()
        """The usual limits."""
        self._readable, self._hidden = tuple(readable), tuple(hidden)
        self._works = False
        self._trying = asyncio.Lock()

    @classmethod
    def of(cls, settings: Settings) -> "Sandbox":
        """The sandbox with the limits that are set; the home, the database and files with keys are hidden in it."""
        box, audit = settings.sandbox, settings.audit
        database = settings.database_url.removeprefix("sqlite:///") if settings.is_embedded else None
        files = (database, audit.key_file, *audit.old_key_files, *(each.file for each in settings.secrets.values()))
        return cls(
            limits=Limits(
                wall_s=box.wall_s, cpu_s=box.cpu_s, memory_bytes=box.memory_mib * MIB, processes=box.processes,
                written_bytes=box.written_mib * MIB, output_bytes=box.output_mib * MIB,
            ),
            readable=box.readable,
            hidden=(settings.home, *(Path(each) for each in files if each is not None)),
        )  # fmt: skip

    async def problem(self) -> str | None:
        """Why there is no sandbox on this machine, in a few words; None if it works.

        It is tried out, until it has worked once in this process.
        """
        async with self._trying:
            if self._works:
                return None
            found = await self._tried()
            self._works = found is None
            return found

    async def run(
        self, home: Path, order: Order, limits: Limits, cut_off: Callable[[Record], Awaitable[None]]
    ) -> Ended:
        """As `children.run`, in the sandbox: `order.cwd` is the folder that the program sees, as `FOLDER`.

        Its time and output are limited by `limits`. A program that signal N ended has the exit code 128 + N.

        Raises NoSandbox, ToolError if it cannot be started, OutcomeUnknown if a limit of the whole sandbox was passed.
        """
        if problem := await self.problem():
            raise NoSandbox(f"there is no sandbox on this machine: {problem}")
        most = Most(limits.memory_bytes, limits.cpu_s, limits.written_bytes)
        usage = await asyncio.to_thread(Usage, order.cwd, most)
        argv = self._argv(order.argv, order.cwd, limits)
        confined = replace(
            order, argv=argv, env={**order.env, **_environment()}, timeout_s=limits.wall_s,
            most_bytes=limits.output_bytes, name=order.name or order.argv[0], watch=usage.passed,
        )  # fmt: skip
        ended = await children.run(home, confined, cut_off)
        said, begun, errors = ended.errors.partition(BEGUN)
        if not begun:
            raise NoSandbox(f"the sandbox could not be made: {_last_line(said) or f'exit code {ended.code}'}")
        return replace(ended, errors=errors)

    def _argv(self, argv: Sequence[str], folder: Path, limits: Limits) -> list[str]:
        """The command line that starts bubblewrap, and in it the program under its limits."""
        is_root = os.geteuid() == 0
        bounds = Bounds(
            cpu_s=limits.cpu_s + GRACE_S, memory_bytes=limits.memory_bytes, file_bytes=limits.written_bytes,
            processes=limits.processes + KEPT_ALIVE,
        )  # fmt: skip
        shown = view(folder, self._readable, self._hidden, limits.written_bytes)
        common = ["--die-with-parent", "--new-session", *ALONE, "--cap-drop", "ALL"]
        entering = Entry(user=as_root.INSIDE if is_root else None, folder=FOLDER, says=BEGUN)
        program = bounded(argv, bounds, entering=entering)
        if not is_root:
            return [PROGRAM, *OWN_USER, *common, *shown, "--", *program]
        starter = [sys.executable, "-I", "-S", as_root.__file__, str(folder), shutil.which(PROGRAM) or PROGRAM]
        return [*starter, *common, *MAY_CHANGE_USER, *shown, "--", *program]

    async def _tried(self) -> str | None:
        if sys.platform != "linux":
            return "it is bubblewrap, which is for Linux only"
        if shutil.which(PROGRAM) is None:
            return "install bubblewrap (Debian: `apt install bubblewrap`)"
        try:
            with tempfile.TemporaryDirectory(prefix="interlock-") as outer:
                return await self._tried_in(Path(outer), Path(tempfile.mkdtemp(dir=outer)))
        except OSError as error:
            return f"bubblewrap cannot be tried: {(error.strerror or str(error)).lower()}"

    async def _tried_in(self, outer: Path, seen: Path) -> str | None:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        argv = self._argv([sys.executable, "-I", "-S", "-c", _TRY, str(outer)], seen, replace(self.limits, processes=2))
        child = await asyncio.create_subprocess_exec(
            *argv, cwd=seen, env=_environment(), stdin=pipe, stdout=nothing, stderr=pipe
        )  # fmt: skip
        try:
            _, said = await asyncio.wait_for(child.communicate(), TRY_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
            return f"bubblewrap did not end within {TRY_S:g} s"
        text = said.decode("utf-8", "replace")
        if child.returncode == 0 and text == BEGUN:
            return None
        why = _last_line(text.rpartition(BEGUN)[2]) or f"exit code {child.returncode}"
        return f"bubblewrap does not work here ({why}): it needs version 0.8, and user namespaces to be allowed"


def _environment() -> dict[str, str]:
    """With the folder of the Python that runs us in PATH, so that its programs are found too."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)))
    return {**ENVIRONMENT, "PATH": path}


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:300]
