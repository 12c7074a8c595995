"""A worker partitioned in a real network, and a disk that is really full: `make chaos`, as root on Linux.

Elsewhere a proxy replaces the network (`test_cut_off`), and a file size limit the disk (`test_outages`), which is what
`make test` runs.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.chaos.conftest import Databases
from tests.chaos.effects import Asked
from tests.chaos.siege import Siege
from tests.chaos.test_cut_off import check_cut_off
from tests.e2e.home import until

DISK = "12m"
PIECE = b"\0" * 4096


def told(*command: str) -> None:
    """Runs a system command.

    Raises AssertionError with its output if it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"


class Veth:
    """A network of two ends, one of them in a namespace; cut by taking the far end down, without notifying anybody."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self._name, self.host, self.port = name, host, port

    def cut(self) -> None:
        """Drops every packet from now on."""
        told("ip", "-n", self._name, "link", "set", "far", "down")

    def mend(self) -> None:
        """Delivers packets again; the kernels retransmit what was lost."""
        told("ip", "-n", self._name, "link", "set", "far", "up")


@asynccontextmanager
async def network(socket_folder: str) -> AsyncIterator[Veth]:
    """A PostgreSQL server's socket, reachable over TCP in a namespace of its own."""
    name, third = f"ilk{os.getpid()}", os.getpid() % 250
    near, far = f"10.213.{third}.1", f"10.213.{third}.2"
    told("ip", "netns", "add", name)
    try:
        told("ip", "link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
        told("ip", "addr", "add", f"{near}/30", "dev", name)
        told("ip", "link", "set", name, "up")
        told("ip", "-n", name, "addr", "add", f"{far}/30", "dev", "far")
        told("ip", "-n", name, "link", "set", "far", "up")
        forwarder = await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", name, sys.executable, "-m", "tests.chaos.wire", socket_folder, far,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert forwarder.stdout is not None
            yield Veth(name, far, int(await forwarder.stdout.readline()))
        finally:
            with contextlib.suppress(ProcessLookupError):
                forwarder.kill()
            await forwarder.wait()
    finally:
        told("ip", "netns", "del", name)


@contextmanager
def disk(at: Path) -> Iterator[Path]:
    """A small file system."""
    at.mkdir()
    told("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(at))
    try:
        yield at
    finally:
        told("umount", "--lazy", str(at))


def fill(room: Path) -> Path:
    """A file that occupies all free space."""
    filler = room / "filler"
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(PIECE)
    return filler


async def test_worker_that_was_cut_off_in_a_network_of_its_own_writes_nothing_and_causes_no_effect(
    postgresql_databases: Databases, postgres_server: str, tmp_path: Path
) -> None:
    async with network(postgres_server) as veth:
        await check_cut_off(tmp_path, postgresql_databases(), veth)


async def test_mission_waits_for_room_on_a_file_system_that_is_full_and_goes_on(
    sqlite_databases: Databases, tmp_path: Path
) -> None:
    with disk(tmp_path / "disk") as room:
        database = shutil.copy(sqlite_databases().removeprefix("sqlite:///"), room / "interlock.db")
        siege = Siege(tmp_path / "siege", f"sqlite:///{database}")
        full: list[str] = []

        async def meet(asked: Asked) -> None:
            """From here on there is no room, until the process has met that; once for each tool."""
            if asked.tool not in full:
                full.append(asked.tool)
                asyncio.get_running_loop().create_task(make_room(fill(room)))

        async def make_room(filler: Path) -> None:
            said = siege.folder / "0.err"
            await until(lambda: said.read_text().count("could not be recorded") >= len(full), "a write that failed")
            filler.unlink()

        siege.effects.at["before"] = meet
        await siege.endure()
        assert (siege.deaths, full) == (0, ["set_stock", "pay", "ship"])
