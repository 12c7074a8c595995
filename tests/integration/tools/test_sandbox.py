"""The sandbox against programs that want out of it: files, secrets, networks, processes, and more than their share."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.core.ids import new_id
from interlock.tools import orphans
from interlock.tools.children import Ended, Order
from interlock.tools.errors import OutcomeUnknown
from interlock.tools.orphans import Record, records_of
from interlock.tools.sandboxes.sandbox import Limits, NoSandbox, Sandbox
from tests.contract.runner.stage import until

MIB = 1024 * 1024
SECRET = "Tr0ub4dor-and-3-horses"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The state of a worker, with a database and the workspace of another run."""
    home = tmp_path / "home"
    for name in ("interlock.db", "keys/audit.key", "workspaces/default/run_2/report.csv"):
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(SECRET)
    return home


@pytest.fixture
def folder(home: Path) -> Path:
    """The workspace of this run, as closed as the product makes it."""
    folder = home / "workspaces/default/run_1"
    folder.mkdir(mode=0o700)
    (folder / "given.txt").write_text("given")
    return folder


class Box:
    """A sandbox with a workspace."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.sandbox = Sandbox(hidden=[home])
        self.cut: list[str] = []

    async def run(self, *argv: str, given: bytes = b"", **limits: Any) -> Ended:
        """Runs a program in it."""
        order = Order(
            argv=argv, cwd=self.folder, run_id="run_1", call_id="tcl_1", timeout_s=1, env={"OWN": "own"}, given=given
        )
        return await self.sandbox.run(self.home, order, replace(Limits(), **limits), self._told)

    async def python(self, code: str, *argv: str, **limits: Any) -> Ended:
        """Runs Python code in it."""
        return await self.run("python", "-c", code, *argv, **limits)

    async def answer(self, code: str, *argv: str, **limits: Any) -> Any:
        """What Python code that ends well prints as JSON."""
        ended = await self.python(code, *argv, **limits)
        assert (ended.code, ended.errors) == (0, "")
        return json.loads(ended.output)

    async def _told(self, record: Record) -> None:
        self.cut.append(record.program)


@pytest.fixture
def box(home: Path, folder: Path) -> Box:
    return Box(home, folder)


async def test_program_gets_its_input_folder_and_exit_code(box: Box) -> None:
    ended = await box.run("sh", "-c", "cat given.txt -; pwd; echo made > made.txt; exit 3", given=b" input ")
    assert (ended.code, ended.output, ended.errors) == (3, "given input /workspace\n", "")
    assert (box.folder / "made.txt").read_text() == "made\n"
    assert not list(records_of(box.home).iterdir())


async def test_missing_program_is_told_apart_from_one_that_fails(box: Box) -> None:
    ended = await box.run("no-such-program")
    assert (ended.code, ended.errors) == (127, "cannot start `no-such-program`: no such file or directory\n")


async def test_installed_programs_and_our_python_work(box: Box) -> None:
    (box.folder / "test_it.py").write_text("def test_it(tmp_path):\n    assert not list(tmp_path.iterdir())\n")
    for argv in (
        ["pytest", "-q"],
        [sys.executable, "-m", "pytest", "-q"],
        ["python3", "--version"],
        ["make", "--version"],
    ):
        assert (argv, (await box.run(*argv)).code) == (argv, 0)


LOOK = """
import json, os, sys
seen, wanted = [], sys.argv[1].encode()
for name in sys.argv[2:]:
    try:
        os.stat(name)
        seen.append(name)
    except OSError:
        pass
for base, folders, names in os.walk("/"):
    if base.startswith(("/usr", "/sys")) or base.count("/") > 6:
        folders.clear()
        continue
    for name in names:
        path = os.path.join(base, name)
        try:
            if path.startswith("/proc") and name in ("kmsg", "clear_refs", "kcore", "pagemap", "mem"):
                continue
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if wanted in (file.read(1 << 20) or b""):
                    seen.append(path)
        except OSError:
            pass
print(json.dumps(seen))
"""


async def test_neither_state_nor_keys_nor_variables_of_the_worker_can_be_read(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    places = [
        box.home,
        box.home / "interlock.db",
        Path.cwd() / "pyproject.toml",
        Path.home() / ".bashrc",
        "/etc/shadow",
    ]
    about_itself = await box.answer(LOOK, SECRET, *map(str, places), cpu_s=20)
    assert [path for path in about_itself if not path.endswith(("cmdline",))] == []
    assert SECRET not in (await box.run("sh", "-c", "env; cat /proc/*/environ")).output


async def test_links_in_the_folder_lead_nowhere(box: Box) -> None:
    (box.folder / "database").symlink_to(box.home / "interlock.db")
    (box.folder / "state").symlink_to("../../..")
    (box.folder / "shadow").symlink_to("/etc/shadow")
    ended = await box.run(
        "sh", "-c", "cat database; cat state/interlock.db; cat shadow; echo spoilt > database; ls state/"
    )
    assert SECRET not in ended.output + ended.errors
    assert ended.errors.count("No such file") + ended.errors.count("nonexistent") >= 3
    assert (box.home / "interlock.db").read_text() == SECRET


WRITE = """
import json, os, sys
made = []
for folder in sys.argv[1:]:
    try:
        os.makedirs(folder, exist_ok=True)
        open(os.path.join(folder, "spoilt"), "w").close()
        made.append(folder)
    except OSError:
        pass
print(json.dumps(made))
"""


async def test_only_its_folder_and_temporary_files_can_be_written(box: Box) -> None:
    outside = [sys.prefix + "/bin", sys.base_prefix + "/lib", "/", "/usr/bin", "/etc", "/dev", "/var/x"]
    assert await box.answer(WRITE, *outside, "/proc/sys/kernel", "/workspace", "/tmp", "/dev/shm") == [
        "/workspace",
        "/tmp",
        "/dev/shm",
    ]
    assert not Path("/tmp/spoilt").exists()
    assert not Path("/dev/shm/spoilt").exists()
    assert (box.folder / "spoilt").exists()


TALK = """
import json, socket, sys
reached = []
tcp, udp, path, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
tries = [
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", tcp)), (socket.AF_INET, socket.SOCK_STREAM, (sys.argv[5], tcp)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", udp)), (socket.AF_INET, socket.SOCK_DGRAM, (sys.argv[5], udp)),
    (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 9)), (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9)),
    (socket.AF_UNIX, socket.SOCK_STREAM, path), (socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + name),
]
for family, kind, address in tries:
    with socket.socket(family, kind) as it:
        it.settimeout(1)
        try:
            it.connect(address)
            it.send(b"stolen")
            it.recv(1)
            reached.append(str(address))
        except OSError:
            pass
print(json.dumps(reached))
"""


@contextlib.contextmanager
def servers(folder: Path, name: str) -> Iterator[list[socket.socket]]:
    """A TCP, a UDP and two Unix servers that would take whatever comes."""
    with contextlib.ExitStack() as open_ones:
        found = [
            open_ones.enter_context(socket.socket(family, kind))
            for family, kind in ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM),
                                 (socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_STREAM))
        ]  # fmt: skip
        addresses: list[Any] = [("0.0.0.0", 0), ("0.0.0.0", 0), str(folder / "s"), f"\0{name}"]
        for server, address in zip(found, addresses, strict=True):
            server.bind(address)
            server.setblocking(False)
            if server.type == socket.SOCK_STREAM:
                server.listen()
        yield found


async def test_no_server_of_this_machine_is_reached(box: Box) -> None:
    own = socket.gethostname()
    name = new_id("key")
    with servers(box.home, name) as (tcp, udp, by_path, by_name):
        reached = await box.answer(
            TALK, str(tcp.getsockname()[1]), str(udp.getsockname()[1]), str(box.home / "s"), name, own
        )
        assert reached == []
        for server in (tcp, by_path, by_name):
            with pytest.raises(BlockingIOError):
                server.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(10)


async def test_program_has_no_capability_and_gets_none(box: Box) -> None:
    status = (await box.run("cat", "/proc/self/status")).output
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert (fields["CapPrm"], fields["CapEff"], fields["CapAmb"]) == ("0" * 16,) * 3
    assert (fields["NoNewPrivs"], fields["Uid"]) == ("1", "1000\t1000\t1000\t1000")
    for argv in (
        ["unshare", "-U", "true"],
        ["unshare", "-n", "true"],
        ["mount", "-t", "tmpfs", "x", "/tmp"],
        ["su", "-c", "id"],
    ):
        ended = await box.run(*argv)
        assert ended.code != 0, (argv, ended)


async def test_other_processes_are_neither_seen_nor_signalled(box: Box) -> None:
    code = f"""
import json, os, signal
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
told = []
for pid in ({os.getpid()}, {os.getppid()}):
    try:
        os.kill(pid, 0)
        told.append(pid)
    except OSError:
        pass
print(json.dumps([sorted(pids), told, os.readlink("/proc/self/fd/0")[:4], sorted(os.listdir("/proc/self/fd"))]))
"""
    pids, told, given, descriptors = await box.answer(code)
    assert pids[0] == 1
    assert len(pids) == 2
    assert told == []
    assert given == "pipe"
    assert descriptors == ["0", "1", "2", "3"], "and the one that lists them"


FORK = """
import os, time
pids = []
try:
    while len(pids) < 1000:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
        pids.append(pid)
except BlockingIOError:
    pass
print(len(pids), flush=True)
os._exit(0)
"""

THREADS = """
import threading, time
for number in range(500):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""
FILL = """
import os, sys, time
shared = bytearray(b"x") * (int(sys.argv[1]) << 20)
for number in range(6):
    if os.fork() == 0:
        own = bytearray(b"x") * (int(sys.argv[2]) << 20)
        break
time.sleep(float(sys.argv[3]))
"""


async def test_processes_end_at_their_limit(box: Box) -> None:
    for most in (64, 8):
        ended = await box.python(FORK, processes=most)
        assert most - 2 <= int(ended.output) <= most
    assert "can't start new thread" in (await box.python(THREADS)).errors


async def test_memory_ends_at_its_limit(box: Box) -> None:
    for code in ("bytearray(600 << 20)", "import mmap; mmap.mmap(-1, 600 << 20)"):
        ended = await box.python(code)
        assert (ended.code, "MemoryError" in ended.errors or "Cannot allocate memory" in ended.errors) == (1, True)


async def test_memory_of_all_processes_together_ends_at_its_limit(box: Box) -> None:
    with pytest.raises(OutcomeUnknown, match=r"`python` used more than 200 MiB of memory and was ended"):
        await box.python(FILL, "1", "60", "60", memory_bytes=200 * MIB)
    assert box.cut == ["python"]
    assert (await box.python(FILL, "60", "1", "0.5", memory_bytes=200 * MIB)).code == 0, "what they share counts once"


async def test_files_end_at_their_limit(box: Box) -> None:
    ended = await box.python("open('one', 'wb').write(b'x' * (60 << 20))")
    assert (ended.code, "File too large" in ended.errors) == (1, True)
    for place in ("/tmp", "/dev/shm"):
        many = f"for n in range(60): open(f'{place}/{{n}}', 'wb').write(b'x' * (1 << 20))"
        assert "No space left" in (await box.python(many)).errors
    many = "import time\nfor n in range(60): open(f'{n}', 'wb').write(b'x' * (1 << 20))\ntime.sleep(60)"
    with pytest.raises(OutcomeUnknown, match=r"`python` wrote more than 50 MiB and was ended"):
        await box.python(many)


async def test_time_and_output_end_at_their_limits(box: Box) -> None:
    with pytest.raises(OutcomeUnknown, match=r"`sleep` did not end within 0.5 s and was ended"):
        await box.run("sleep", "60", wall_s=0.5)
    busy = "import os\nfor n in range(3): os.fork()\nwhile True: pass"
    with pytest.raises(OutcomeUnknown, match=r"`python` used more than 1 s of CPU time and was ended"):
        await box.python(busy, cpu_s=1)
    ended = await box.python("print('x' * 3000000)")
    assert (ended.code, len(ended.output), ended.is_cut) == (0, MIB, True)


def sleepers(mark: str) -> list[int]:
    """The processes of this machine whose command line has a mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark.encode() in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
    return found


DAEMON = """
import os, sys
for step in range(2):
    if os.fork() != 0:
        sys.exit(0)
    os.setsid()
for number in range(3):
    os.close(number)
os.execvp("env", ["env", "-i", "sleep", "6" + sys.argv[1]])
"""


async def test_nothing_outlives_its_end(box: Box) -> None:
    length = str(int.from_bytes(os.urandom(4), "big"))
    assert (await box.python(DAEMON, length)).code == 0
    assert sleepers(f"6{length}") == []
    running = asyncio.create_task(box.run("sh", "-c", f"trap '' TERM; sleep 6{length} & echo > begun; wait; wait"))
    await until((box.folder / "begun").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sleepers(f"6{length}") == []


WORKER = """
import asyncio, sys
from pathlib import Path
from interlock.tools.children import Order
from interlock.tools.sandboxes.sandbox import Limits, Sandbox

async def main(home, folder, length):
    order = Order(argv=["sh", "-c", f"setsid sleep {length} & echo > begun; wait"], cwd=Path(folder), run_id="run_1",
                  call_id="tcl_1", timeout_s=1, env={})
    await Sandbox().run(Path(home), order, Limits(wall_s=60), None)

asyncio.run(main(*sys.argv[1:]))
"""


@contextlib.asynccontextmanager
async def worker(box: Box, length: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that runs a program in the sandbox as a worker does."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, str(box.home), str(box.folder), length)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_program_ends_with_a_worker_that_is_killed(box: Box) -> None:
    length = f"7{int.from_bytes(os.urandom(4), 'big')}"
    async with worker(box, length) as started:
        await until((box.folder / "begun").exists)
        assert sleepers(length)
        started.send_signal(signal.SIGKILL)
        await started.wait()
        await until(lambda: not sleepers(length))
        assert [each.program for each in await orphans.end_orphans(box.home)] == ["sh"]


async def test_what_is_hidden_stays_so_in_a_folder_that_may_be_read(home: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").write_text("told")
    tmp_path.chmod(0o755)
    key = tmp_path / "key"
    key.write_text(SECRET)
    box = Box(home, folder)
    box.sandbox = Sandbox(readable=[tmp_path], hidden=[home, key])
    ended = await box.run(
        "sh", "-c", f"cat {tmp_path}/tools; echo; cat {key}; ls -a {home}; touch {tmp_path}/x {home}/x"
    )
    assert ended.output.split() == ["told", ".", ".."]
    assert ended.errors.count("Read-only file system") == 2


async def test_without_bubblewrap_nothing_is_run_and_it_says_what_to_do(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    assert await box.sandbox.problem() == "install bubblewrap (Debian: `apt install bubblewrap`)"
    with pytest.raises(NoSandbox, match="there is no sandbox on this machine: install bubblewrap"):
        await box.run("/bin/touch", "done")
    broken = empty / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(NoSandbox, match=r"does not work here \(bwrap: setting up uid map: Permission denied\)"):
        await box.run("/bin/touch", "done")
    broken.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    with pytest.raises(NoSandbox, match="does not work here"):
        await box.run("/bin/touch", "done")
    assert not (box.folder / "done").exists()
    monkeypatch.undo()
    assert (await box.run("touch", "done")).code == 0, "it is found without a restart"
