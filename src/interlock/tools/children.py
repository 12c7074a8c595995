"""Starts the child processes of tools; the only way to start one, so that none outlives its call.

Children left behind by a dead worker are ended in `orphans`.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock.core.ids import new_id
from interlock.core.text import storable
from interlock.store.mailboxes import processes
from interlock.tools import orphans, subreaper
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.orphans import MARK, Record, records_of

TERM_S = 0.4
"""The time between SIGTERM and SIGKILL when a call is cut off."""
REST_S = 0.5
"""The time to drain the pipes after all processes have ended."""
FIRST_LOOK_S, LONGEST_LOOK_S = 0.002, 0.05
MOST_BYTES = 1_000_000
CAN_KEEP = sys.platform == "linux" and "python" in Path(sys.executable or "").name
"""Whether a subreaper can be started before each program; elsewhere, children are found by process group and mark."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""Environment variables that children inherit: no keys, no tokens."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A child process that has ended by itself. `is_cut`: its output exceeded the limit."""

    code: int
    """Below 0: the signal that ended it."""
    output: str
    errors: str
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A program to run, the call that it belongs to, and its resource limits."""

    argv: Sequence[str]
    cwd: Path
    run_id: str
    call_id: str
    timeout_s: float
    env: Mapping[str, str]
    given: bytes = b""
    """What it reads from its standard input."""
    most_bytes: int = MOST_BYTES
    """Of its output, and of its errors, each."""
    name: str | None = None
    """What it is called in messages and records; by default, as the program."""
    watch: Callable[[int], Awaitable[str]] | None = None
    """Given the process id, waits until the program has used too much, and says of what: then it is ended."""


async def run(home: Path, order: Order, cut_off: Callable[[Record], Awaitable[None]]) -> Ended:
    """Starts a program without a shell, in a new session, and waits for its end.

    It is recorded in the home before it starts. However the wait ends, all its descendants are ended: SIGTERM, then
    SIGKILL after `TERM_S`. `cut_off` is called if it was ended early. Source: row I8.

    Raises ToolError if it cannot be started, OutcomeUnknown on a timeout or if `watch` found that it uses too much.
    """
    program, pid = _program(order), os.getpid()
    record = Record(
        token=new_id("kid"), host=processes.host(), worker_pid=pid, worker_started=processes.started(pid) or "unknown",
        run_id=order.run_id, call_id=order.call_id, program=Path(order.name or program).name,
    )  # fmt: skip
    child = _Child(records_of(home), order, record, cut_off)
    working = asyncio.create_task(child.work(program))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        child.cut.set()
        await asyncio.wait({working})
        if not working.cancelled():
            working.exception()
        raise


def _program(order: Order) -> str:
    argv = order.argv
    if not argv or not argv[0] or any("\0" in each for each in argv):
        raise ToolError("a child process needs a program, and arguments without NUL")
    found = str(order.cwd / argv[0]) if "/" in argv[0] else shutil.which(argv[0])
    if found is None or not os.access(found, os.X_OK):
        raise ToolError(f"there is no program `{argv[0]}` on this machine: install it, or use another")
    return found


class _Child:
    """One child process from its record to its end; `cut` ends it early."""

    def __init__(
        self, folder: Path, order: Order, record: Record, cut_off: Callable[[Record], Awaitable[None]]
    ) -> None:
        self.folder, self.order, self.record, self.cut_off = folder, order, record, cut_off
        self.cut = asyncio.Event()
        self.excess: str | None = None

    async def work(self, program: str) -> Ended:
        self._on_record()
        try:
            process = await self._started(program)
            outputs = (_Output(self.order.most_bytes), _Output(self.order.most_bytes))
            by_itself = await self._waited(process, outputs)
        finally:
            with contextlib.suppress(OSError):
                self.record.remove(self.folder)
        if not by_itself:
            await self.cut_off(self.record)
            why = self.excess or f"did not end within {self.order.timeout_s:g} s"
            raise OutcomeUnknown(f"`{self.record.program}` {why} and was ended")
        return Ended(
            process.returncode or 0, outputs[0].text, outputs[1].text, is_cut=any(each.is_cut for each in outputs)
        )  # fmt: skip

    def _on_record(self) -> None:
        try:
            self.record.write(self.folder)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ToolError(f"a child process cannot be put on record in `{self.folder}`: {why}") from error

    async def _started(self, program: str) -> asyncio.subprocess.Process:
        read_end, tell = os.pipe()
        try:
            argv = [program, *self.order.argv[1:]]
            if CAN_KEEP:
                argv = [
                    sys.executable,
                    "-I",
                    "-S",
                    subreaper.__file__,
                    str(tell),
                    str(TERM_S),
                    str(os.getpid()),
                    program,
                    *self.order.argv,
                ]
            process = await self._process(argv, tell)
            os.close(tell)
            tell = -1
            self.record = self.record.started_as(process.pid, is_kept=CAN_KEEP)
            with contextlib.suppress(OSError):
                self.record.write(self.folder)
            if problem := await asyncio.to_thread(os.read, read_end, 16):
                await process.wait()
                raise OSError(int(problem), os.strerror(int(problem)))
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", None) or str(error)).lower()
            raise ToolError(f"`{self.record.program}` cannot be started: {why}") from error
        finally:
            os.close(read_end)
            if tell >= 0:
                os.close(tell)
        return process

    async def _process(self, argv: Sequence[str], tell: int) -> asyncio.subprocess.Process:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *argv, cwd=self.order.cwd, start_new_session=True, pass_fds=(tell,) if CAN_KEEP else (),
            env={**passed_on, **self.order.env, MARK: self.record.token}, stdin=pipe, stdout=pipe, stderr=pipe,
        )  # fmt: skip

    async def _waited(self, process: asyncio.subprocess.Process, outputs: "tuple[_Output, _Output]") -> bool:
        """Waits for its end, or ends it; whether it ended by itself. Afterwards, no descendant is left."""
        assert process.stdout is not None
        assert process.stderr is not None
        talk = [
            asyncio.create_task(each)
            for each in (_feed(process, self.order.given), outputs[0].listen(process.stdout),
                         outputs[1].listen(process.stderr))
        ]  # fmt: skip
        over, cut = asyncio.create_task(_exit(process)), asyncio.create_task(self._cut(process.pid))
        await asyncio.wait({over, cut}, timeout=self.order.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        by_itself = over.done()
        cut.cancel()
        await orphans.end(self.record, TERM_S)
        await asyncio.wait({over}, timeout=REST_S)
        await asyncio.wait(talk, timeout=REST_S)
        for each in (*talk, over):
            each.cancel()
        await asyncio.gather(*talk, over, cut, return_exceptions=True)
        return by_itself

    async def _cut(self, pid: int) -> None:
        """Returns when the program is to be ended: its call is cut off, or it has used too much."""
        if self.order.watch is None:
            await self.cut.wait()
            return
        waiting = asyncio.create_task(self.cut.wait())
        watching = asyncio.ensure_future(self.order.watch(pid))
        try:
            await asyncio.wait({waiting, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                self.excess = watching.result()
        finally:
            waiting.cancel()
            watching.cancel()


async def _exit(process: asyncio.subprocess.Process) -> None:
    """Returns once the process itself has ended.

    In some Python versions, its `wait` also waits until its pipes are closed, and so for processes that inherited them.
    """
    wait_s = FIRST_LOOK_S
    while process.returncode is None:
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_LOOK_S)


class _Output:
    """The output of a child, up to a limit; the rest is read and dropped, so that the child does not block."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.data, self.is_cut = most_bytes, bytearray(), False

    async def listen(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(65_536):
            room = self.most_bytes - len(self.data)
            self.data += piece[:room]
            self.is_cut = self.is_cut or len(piece) > room

    @property
    def text(self) -> str:
        return storable(self.data.decode("utf-8", "replace"))


async def _feed(process: asyncio.subprocess.Process, given: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(given)
        await process.stdin.drain()
    process.stdin.close()
