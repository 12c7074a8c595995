"""Child processes of tools: bounded, ended with all they started, and found again when their worker is killed."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest

from interlock.store.mailboxes import processes
from interlock.tools import children, orphans
from interlock.tools.children import Ended, Order
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.orphans import Record, records_of
from tests.contract.runner.stage import until
from tests.quickness import TRIES

FAMILY = "trap '' TERM; setsid sleep 60 & sleep 60 & echo $! > pids; jobs -p >> pids; echo ready >> pids; wait"
"""A shell that minds no SIGTERM, with a child in its group and one that has left it."""


def order(folder: Path, *argv: str, **options: object) -> Order:
    """A program to be run in a folder."""
    usual = {"timeout_s": 20.0, "env": {}}
    return Order(argv=argv, cwd=folder, run_id="run_1", call_id="tcl_1", **{**usual, **options})  # type: ignore[arg-type]


async def nobody(record: Record) -> None:
    """Who is told where a child was ended although none should be."""
    raise AssertionError(f"{record.program} was cut off")


async def family(folder: Path) -> list[int]:
    """The processes of `FAMILY` once all have started."""
    place = folder / "pids"
    await until(lambda: place.exists() and "ready" in place.read_text())
    return [int(line) for line in place.read_text().split() if line.isdigit()]


async def test_child_gets_its_input_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    wanted = order(tmp_path, "sh", "-c", "cat; env >&2; exit 3", given=b"hello", env={"OWN": "mine"})
    ended = await children.run(tmp_path / "home", wanted, nobody)
    assert (ended.code, ended.output, ended.is_cut) == (3, "hello", False)
    assert "OWN=mine" in ended.errors
    assert "secret" not in ended.errors
    assert list(records_of(tmp_path / "home").iterdir()) == [], "nothing stays on record"


async def test_output_beyond_the_limit_is_dropped_and_the_child_ends_all_the_same(tmp_path: Path) -> None:
    wanted = order(tmp_path, "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo end >&2", most_bytes=10)
    assert await children.run(tmp_path, wanted, nobody) == Ended(0, "x" * 10, "end\n", is_cut=True)


@pytest.mark.parametrize("argv", [(), ("",), ("no-such-program",), ("/etc/hostname",), ("./gone",), ("sh", "a\0b")])
async def test_what_cannot_be_started_is_one_clear_error(tmp_path: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(ToolError, match=r"program|cannot be started"):
        await children.run(tmp_path, order(tmp_path, *argv), nobody)


async def test_child_beyond_its_time_is_ended_with_all_it_started(tmp_path: Path) -> None:
    told: list[Record] = []

    async def cut_off(record: Record) -> None:
        told.append(record)

    running = asyncio.create_task(
        children.run(tmp_path / "home", order(tmp_path, "bash", "-c", FAMILY, timeout_s=3.0), cut_off)
    )
    pids = await family(tmp_path)
    with pytest.raises(OutcomeUnknown, match=r"^`bash` did not end within 3 s and was ended$"):
        await running
    assert len(pids) >= 2
    assert [pid for pid in pids if processes.started(pid)] == []
    assert [(each.program, each.call_id) for each in told] == [("bash", "tcl_1")]


async def test_child_of_a_call_that_is_cancelled_is_ended_within_a_second(tmp_path: Path) -> None:
    told: list[Record] = []

    async def cut_off(record: Record) -> None:
        told.append(record)

    for attempt in range(TRIES):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        running = asyncio.create_task(children.run(folder / "home", order(folder, "bash", "-c", FAMILY), cut_off))
        pids = await family(folder)
        began = monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        took_s = monotonic() - began
        assert [pid for pid in pids if processes.started(pid)] == []
        assert len(told) == attempt + 1
        if took_s < 1.5:
            return
    raise AssertionError(f"it took {took_s:.1f} s")


async def test_what_a_child_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    ended = await children.run(tmp_path, order(tmp_path, "bash", "-c", "sleep 60 & echo $!"), nobody)
    assert ended.code == 0
    assert processes.started(int(ended.output)) is None


DETACHED = "env -i setsid sh -c 'echo $$ >> pids; exec sleep 60' > /dev/null 2>&1 < /dev/null &"
TWICE = f"({DETACHED}) ; "
"""A process that has left its group, its parents and its environment, as services do that go to the background."""


@pytest.mark.parametrize("end", ["exit 3", "trap '' TERM; while :; do sleep 0.05; done"])
async def test_what_has_left_group_parents_and_environment_is_ended_too(tmp_path: Path, end: str) -> None:
    async def cut_off(record: Record) -> None:
        assert "exit" not in end

    script = f"{TWICE} while [ ! -s pids ]; do sleep 0.01; done; {end}"
    running = children.run(tmp_path / "home", order(tmp_path, "sh", "-c", script, timeout_s=3), cut_off)
    (found,) = await asyncio.gather(running, return_exceptions=True)
    assert isinstance(found, OutcomeUnknown) if "trap" in end else found == Ended(3, "", "")
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 1
    assert processes.started(int(pids[0])) is None


async def test_program_ends_by_the_signal_that_ended_it_and_minds_signals_as_usual(tmp_path: Path) -> None:
    assert (await children.run(tmp_path, order(tmp_path, "sh", "-c", "kill -SEGV $$"), nobody)).code == -11
    assert (await children.run(tmp_path, order(tmp_path, "sh", "-c", "kill $$; sleep 60"), nobody)).code == -15
    (tmp_path / "odd").write_bytes(b"\x7fELF no program")
    (tmp_path / "odd").chmod(0o755)
    with pytest.raises(ToolError, match="`odd` cannot be started: exec format error"):
        await children.run(tmp_path, order(tmp_path, "./odd"), nobody)


WORKER = """
import asyncio, sys
from pathlib import Path
from interlock.tools import children
from interlock.tools.children import Order

async def main(home, folder, script):
    await children.run(Path(home), Order(argv=["bash", "-c", script], cwd=Path(folder), run_id="run_1",
                                         call_id="tcl_1", timeout_s=60, env={}), None)

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def worker(home: Path, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that runs `FAMILY` as a tool would."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, str(home), str(folder), FAMILY)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_children_of_a_killed_worker_end_with_it_and_those_of_a_live_one_do_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with worker(home, tmp_path) as started:
        pids = await family(tmp_path)
        assert await orphans.end_orphans(home) == []
        assert all(processes.started(pid) for pid in pids)
        started.send_signal(signal.SIGKILL)
        await started.wait()
        await until(lambda: not any(processes.started(pid) for pid in pids))
        assert [(each.program, each.run_id) for each in await orphans.end_orphans(home)] == [("bash", "run_1")]
        assert list(records_of(home).iterdir()) == []


async def test_orphan_without_a_subreaper_is_ended_by_the_next_worker(tmp_path: Path) -> None:
    home = tmp_path / "home"
    left = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    Record(
        token="kid_1", host=processes.host(), worker_pid=2**22 + 1, worker_started="1", run_id="run_1",
        call_id="tcl_1", program="sleep", pid=left.pid, started=processes.started(left.pid),
    ).write(records_of(home))  # fmt: skip
    assert [each.program for each in await orphans.end_orphans(home)] == ["sleep"]
    assert await left.wait() == -signal.SIGTERM


async def test_process_that_only_has_the_number_of_a_child_is_left_alone(tmp_path: Path) -> None:
    gone = Record(
        token="kid_1", host=processes.host(), worker_pid=2**22 + 1, worker_started="1", run_id="run_1",
        call_id="tcl_1", program="sh", pid=os.getpid(), started="another start",
    )  # fmt: skip
    gone.write(records_of(tmp_path))
    (records_of(tmp_path) / "kid_2").write_text(json.dumps({"not": "a record"}))
    (records_of(tmp_path) / ".kid_1").write_text('{"token": "ki')
    assert await orphans.end_orphans(tmp_path) == []
    assert list(records_of(tmp_path).iterdir()) == []
