"""A backup is one moment of a database that goes on; a restore begins anew from it on either, or changes nothing.

The rows are those of a database in the middle of its work, as the release before left it.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import signal
import stat
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.core.errors import Conflict, InterlockError, UsageError
from interlock.core.values import SYSTEM
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.duties import leaders, schedules
from interlock.store.duties.leaders import Candidate, LeadershipLost
from interlock.store.engine import Store
from interlock.store.errors import LeaseLost, StoreError, StoreTooNew
from interlock.store.identities import people, personal, tokens
from interlock.store.mailboxes import controls, leases, mailbox
from interlock.store.runs import traces
from interlock.store.schema import Approval, Lane, Meta, Mission, Outgoing, Person, Run, Schedule, ToolCall, table
from interlock.store.tx import Tx
from interlock.store.upkeep import archive, migrate, restore, snapshots
from interlock.store.upkeep.archive import Archive, BadArchive, Manifest
from interlock.store.upkeep.epochs import Beginning, Uncertain
from tests import processes
from tests.contract.store import furniture
from tests.migration.released import FOLDER, archive_of, build

LATER = datetime(2027, 1, 1, tzinfo=UTC)
MISSIONS, PEOPLE = table(Mission), table(Person)
ROWS = FOLDER / "0002.rows"
CHANGED = {
    *"accounts activities agents alerts feed firings inbox lanes leaders ledger meta outbox runs schedules".split(),
    "workers",
}
"""Tables in which a new beginning shows."""


def beginning(manifest: Manifest, *, paused: bool = False) -> Beginning:
    return Beginning(LATER, manifest.taken_at, SYSTEM, "default", paused)


def put(url: str, path: Path, folder: Path, silent_s: float | None = 120.0) -> Uncertain:
    return restore.restore(url, path, folder, beginning, silent_s=silent_s)[1]


def whole(url: str) -> dict[str, list[str]]:
    """Every row of a database."""
    with snapshots.of(url) as snapshot:
        return {
            name: sorted(repr(row) for row in snapshot.rows(name, dict(sorted(columns.items()))))
            for name, columns in snapshot.tables().items()
        }


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of this revision, made of what the release before left."""
    folder = tmp_path_factory.mktemp("full")
    build(f"sqlite:///{folder}/interlock.db", "0002")
    asyncio.run(migrate.upgrade(f"sqlite:///{folder}/interlock.db"))
    archive.back_up(f"sqlite:///{folder}/interlock.db", folder / "full.backup", "1", LATER)
    return folder / "full.backup"


def held(path: Path) -> dict[str, list[str]]:
    """Every row of an archive."""
    with Archive(path) as opened:
        found = {}
        for part in opened.manifest.parts:
            order = [list(part.columns).index(name) for name in sorted(part.columns)]
            found[part.table] = sorted(repr([row[i] for i in order]) for row in opened.rows(part))
        return found


def test_backup_holds_every_row_whichever_database_it_comes_from(full: Path, database_url: str, tmp_path: Path) -> None:
    put(database_url, full, tmp_path)
    again = tmp_path / "again.backup"
    manifest = archive.back_up(database_url, again, "1", LATER)
    assert held(again) == whole(database_url)
    before = held(full)
    assert {name: rows for name, rows in whole(database_url).items() if name not in CHANGED} == {
        name: rows for name, rows in before.items() if name not in CHANGED
    }
    assert {name for name, rows in whole(database_url).items() if len(rows) != len(before[name])} <= CHANGED
    assert stat.S_IMODE(again.stat().st_mode) == 0o600
    assert (manifest.revision, manifest.epoch) == (migrate.HEAD, 1)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".db") == ["again.backup"]


def test_archive_of_each_database_is_restored_into_the_other(
    full: Path, sqlite_url: str, migrated_postgres_url: str, tmp_path: Path
) -> None:
    for source, target in ((sqlite_url, migrated_postgres_url), (migrated_postgres_url, sqlite_url)):
        put(source, full, tmp_path)
        crossing = tmp_path / "crossing.backup"
        archive.back_up(source, crossing, "1", LATER)
        put(target, crossing, tmp_path, silent_s=None)
        kept = {name: rows for name, rows in whole(target).items() if name not in CHANGED}
        assert kept == {name: rows for name, rows in whole(source).items() if name not in CHANGED}


async def test_numbers_go_on_after_those_that_were_restored(full: Path, database_url: str, tmp_path: Path) -> None:
    await asyncio.to_thread(put, database_url, full, tmp_path)
    async with Store(database_url) as store:
        before = {row.id for row in await store.read(audit.activities)}
        await store.write(lambda tx: audit.note(tx, "x", SYSTEM, LATER, project_id="default"))
        assert max(before) < max(row.id for row in await store.read(audit.activities))


async def test_backup_is_one_moment_of_a_database_that_is_written_to(database_url: str, tmp_path: Path) -> None:
    await migrate.upgrade(database_url)

    def pair(tx: Tx, number: int) -> None:
        tx.add(Meta, key=f"a{number}", value="x" * 200)
        tx.run(sa.delete(table(Meta)).where(table(Meta).c.key == f"b{number - 1}"))
        tx.add(Meta, key=f"b{number}", value="y")

    def pairs(tx: Tx) -> None:
        for number in range(2_000):
            pair(tx, number)

    async with Store(database_url) as store:
        await store.write(pairs)
        backing = asyncio.create_task(
            asyncio.to_thread(archive.back_up, database_url, tmp_path / "one.backup", "1", LATER)
        )
        number = 2_000
        while not backing.done():
            await store.write(pair, number)
            number += 1
        (await backing)
    keys = [row[0] for row in rows_in(tmp_path / "one.backup", "meta")]
    last = max(int(key[1:]) for key in keys if key[0] == "a")
    assert [key for key in keys if key[0] == "b"] == [f"b{last}"]
    assert len([key for key in keys if key[0] == "a"]) == last + 1


def rows_in(path: Path, name: str) -> list[Any]:
    with Archive(path) as opened:
        (part,) = [part for part in opened.manifest.parts if part.table == name]
        return list(opened.rows(part))


async def unfinished(store: Store) -> mailbox.Claim:
    """A claimed run with calls in every open state, in a database that was restored once."""

    def fill(tx: Tx) -> mailbox.Claim:
        worker = furniture.agent(tx, "of the test")
        claim = furniture.claimed(tx, worker, "run_of_test", "wrk_test")
        for number, status in enumerate(("ready", "started", "held", "done")):
            tx.add(
                ToolCall, id=f"tcl_{status}", run_id="run_of_test", step_number=1, position=number, call_id=status,
                tool="send", tool_digest="d", risk="YELLOW", effect="HOLD", policy_hash="p", status=status,
                approval_id="apr_said" if status == "held" else None, idempotency_token=status, created_at=LATER,
            )  # fmt: skip
        tx.add(
            Approval, id="apr_said", kind="TOOL_CALL", status="approved", project_id="default", subject="s", request={},
            risk="YELLOW", asked_by="x", run_id="run_of_test", created_at=LATER,
        )  # fmt: skip
        tx.add(
            Schedule, id="sch_1", project_id="default", name="n", kind="goal", text="t", every_s=60.0, timezone="UTC",
            anchor_at=LATER, next_at=LATER, created_by="x", created_at=LATER, updated_at=LATER,
        )  # fmt: skip
        return claim

    return await store.write(fill)


async def test_nothing_that_was_under_way_is_done_twice(full: Path, database_url: str, tmp_path: Path) -> None:
    await asyncio.to_thread(put, database_url, full, tmp_path)
    taken = tmp_path / "taken.backup"
    async with Store(database_url) as store:
        await unfinished(store)
    await asyncio.to_thread(archive.back_up, database_url, taken, "1", LATER)
    found = await asyncio.to_thread(put, database_url, taken, tmp_path)
    assert found.epoch == 2
    assert [call.id for call in found.calls] == ["tcl_held", "tcl_ready", "tcl_started"]
    assert found.messages
    async with Store(database_url) as store:
        calls = {call.id: call for call in await store.read(traces.calls, "run_of_test")}
        assert {ident: call.status for ident, call in calls.items()} == {
            "tcl_ready": "unknown", "tcl_started": "unknown", "tcl_held": "unknown", "tcl_done": "done"
        }  # fmt: skip
        assert calls["tcl_held"].approval_id is None
        assert (await store.read(_one, Approval, "apr_said")).status == "void"
        assert (await store.read(_one, Run, "run_of_test")).status == "created"
        assert (await store.read(_one, Schedule, "sch_1")).next_at is None
        open_messages = await store.read(lambda tx: tx.rows(_OPEN_MESSAGES))
        assert {(row.status, row.holder) for row in open_messages if row.id in {m.id for m in found.messages}} == {
            ("dead", "uncertain")
        }
        claims = await store.write(mailbox.claim, "wrk_new", 100, LATER + timedelta(days=1))
        assert "run_of_test" in {claim.run.id for claim in claims}


def _furnish(tx: Tx, person_id: str, now: datetime) -> None:
    """A token and schedules."""
    tokens.add(tx, person_id, "the shop", "d", "operator", None, now, None, ident="tok_1")
    for name in ("a", "b", "kept"):
        tx.add(
            Schedule, id=f"sch_{name}", project_id="default", name=name, kind="goal", text="t", every_s=60.0,
            timezone="UTC", anchor_at=now, created_by=person_id, created_at=now, updated_at=now,
        )  # fmt: skip


def _stop(tx: Tx, ada: str, bob: str, now: datetime) -> None:
    """What people stop, in each way that there is."""
    controls.set_mode(tx, controls.Mode.PAUSED, ada, None, now)
    tokens.revoke(tx, "tok_1", now)
    people.unlink(tx, "test:ada")
    pseudonym = personal.Known(bob, "Bob", ()).pseudonym
    tx.run(sa.update(PEOPLE).where(PEOPLE.c.id == bob).values(name=pseudonym, role="viewer"))
    people.unlink(tx, "test:bob")
    schedules.set_state(tx, "sch_a", "paused", None, None, now)
    schedules.remove(tx, "sch_b")
    tx.run(sa.update(MISSIONS).where(MISSIONS.c.id == _first_mission(tx)).values(canceled_at=now))


def _first_mission(tx: Tx) -> str:
    return str(tx.rows(sa.select(MISSIONS.c.id).where(MISSIONS.c.canceled_at.is_(None)).order_by("id"))[0].id)


async def test_what_was_stopped_since_the_backup_is_listed(full: Path, database_url: str, tmp_path: Path) -> None:
    await asyncio.to_thread(put, database_url, full, tmp_path)
    taken, now = tmp_path / "taken.backup", LATER
    async with Store(database_url) as store:
        ada = await store.write(squad.ensure_person, "test:ada", "Ada", "operator", now)
        await store.write(squad.ensure_person, "test:eve", "Eve", "viewer", now)
        bob = await store.write(squad.ensure_person, "test:bob", "Bob", "operator", now)
        await store.write(_furnish, ada.id, now)
        mission = await store.read(_first_mission)
        member = await store.write(squad.ensure_member, "default", "tester", "intern", now)
        old = await store.write(squad.ensure_member, "default", "older", "intern", now)
        await store.write(squad.set_state, old.id, "QUARANTINED", "odd")
        await asyncio.to_thread(archive.back_up, database_url, taken, "1", LATER)
        await store.write(squad.set_state, member.id, "QUARANTINED", "odd")
        await store.write(people.set_role, ada.id, "viewer")
        await store.write(_stop, ada.id, bob.id, now)
    found = await asyncio.to_thread(put, database_url, taken, tmp_path)
    assert found.undone == [
        ("squad", "squad", "was paused: `interlock pause`"),
        ("agent", member.id, "was in quarantine: `interlock quarantine tester`"),
        ("token", "tok_1", "the shop was revoked: `interlock token revoke tok_1`"),
        ("person", ada.id, f"Ada was a viewer: `interlock people role {ada.id} viewer`"),
        ("person", bob.id, f"was erased: `interlock people erase {bob.id}`"),
        ("mission", mission, f"was canceled: `interlock cancel {mission}`"),
        ("identity", "test:ada", "was Ada's no more: `interlock people unlink test:ada`"),
        ("schedule", "sch_a", "was paused, removed or at its end: `interlock schedule pause a --project default`"),
        ("schedule", "sch_b", "was paused, removed or at its end: `interlock schedule pause b --project default`"),
    ]
    assert (await asyncio.to_thread(put, database_url, taken, tmp_path)).undone == []


def _one(tx: Tx, model: Any, ident: str) -> Any:
    return tx.one(sa.select(table(model)).where(table(model).c.id == ident))


_OPEN_MESSAGES = sa.select(table(Outgoing))


async def test_requests_and_reservations_of_before_are_closed(full: Path, database_url: str, tmp_path: Path) -> None:
    found = await asyncio.to_thread(put, database_url, full, tmp_path)
    assert [(said.key, said.identity) for said in found.said] == [("slack:2", "slack:U1")]
    assert found.charged_microusd == 70_000
    async with Store(database_url) as store:
        running = [run.id for run in found.runs if run.status == "running"]
        assert running
        for run_id in running:
            assert (await store.read(traces.run, run_id)).status == "created"  # type: ignore[union-attr]
            assert await store.read(furniture.unsettled, run_id) == []
        assert [row.kind for row in await store.read(audit.alerts) if row.kind == "RESTORED"] == ["RESTORED"]


async def test_who_worked_before_the_restore_cannot_write(full: Path, database_url: str, tmp_path: Path) -> None:
    await asyncio.to_thread(put, database_url, full, tmp_path)
    async with Store(database_url) as store:
        claim = await unfinished(store)
        candidate = Candidate("me", "here", 1, "1")
        fence = await store.write(leaders.take, "duty", None, candidate, LATER)
        taken = tmp_path / "taken.backup"
        await asyncio.to_thread(archive.back_up, database_url, taken, "1", LATER)
        await asyncio.to_thread(put, database_url, taken, tmp_path)
        with pytest.raises(LeaseLost):
            await store.write(mailbox.own, claim)
        with pytest.raises(LeaseLost):
            await store.write(furniture.done, claim)
        assert fence is not None
        with pytest.raises(LeadershipLost):
            await store.write(leaders.check, "duty", fence)
        assert not await store.write(leaders.renew, "duty", "me", fence)
        assert await store.read(leases.running_runs) == []


async def test_lanes_are_given_out_with_fences_that_nobody_ever_had(
    full: Path, database_url: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(put, database_url, full, tmp_path)
    async with Store(database_url) as store:
        highest = sa.update(table(Lane)).values(fence=5_000_000)
        await store.write(lambda tx: tx.run(highest))
    await asyncio.to_thread(put, database_url, full, tmp_path)
    async with Store(database_url) as store:
        fences = await store.read(lambda tx: tx.rows(sa.select(table(Lane).c.fence)))
    assert min(row.fence for row in fences) > 5_000_000


async def test_workers_that_are_at_work_are_in_the_way_unless_they_are_shut_out(
    full: Path, migrated_postgres_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_postgres_url) as store:
        await store.write(leases.register, "wrk_live", "here", 1, "1", LATER)
    before = await asyncio.to_thread(whole, migrated_postgres_url)
    with pytest.raises(Conflict, match="1 worker is at work on this database: stop them first, or give `--force`"):
        await asyncio.to_thread(put, migrated_postgres_url, full, tmp_path)
    assert await asyncio.to_thread(whole, migrated_postgres_url) == before
    await asyncio.to_thread(put, migrated_postgres_url, full, tmp_path, None)
    async with Store(migrated_postgres_url) as store:
        assert not await store.write(leases.beat, "wrk_live", LATER)


def rewritten(path: Path, target: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of an archive with another manifest."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "manifest.json":
                told = json.loads(data)
                change(told)
                data = json.dumps(told).encode()
            new.writestr(name, data)
    return target


def _other_digest(told: dict[str, Any]) -> None:
    told["parts"][3]["sha256"] = hashlib.sha256(b"other").hexdigest()


def _other_count(told: dict[str, Any]) -> None:
    told["parts"][3]["count"] += 1


def _without_a_part(told: dict[str, Any]) -> None:
    del told["parts"][3]


def _with_another_column(told: dict[str, Any]) -> None:
    told["parts"][3]["columns"]["surprise"] = "text"


def _of_another_format(told: dict[str, Any]) -> None:
    told["format"] = 99


@pytest.mark.parametrize(
    "change", [_other_digest, _other_count, _without_a_part, _with_another_column, _of_another_format]
)
def test_archive_that_is_not_what_was_written_changes_nothing(
    full: Path, sqlite_url: str, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    put(sqlite_url, full, tmp_path)
    before = whole(sqlite_url)
    with pytest.raises(BadArchive, match="nothing was changed"):
        put(sqlite_url, rewritten(full, tmp_path / "bad.backup", change), tmp_path)
    assert whole(sqlite_url) == before


def test_archive_that_was_cut_off_or_damaged_anywhere_changes_nothing(
    full: Path, sqlite_url: str, tmp_path: Path
) -> None:
    put(sqlite_url, full, tmp_path)
    before, good = whole(sqlite_url), full.read_bytes()
    bad = tmp_path / "bad.backup"
    for place in range(7, len(good), len(good) // 12):
        flipped = bytearray(good)
        flipped[place] ^= 0xFF
        for damaged in (bytes(flipped), good[:place]):
            bad.write_bytes(damaged)
            try:
                put(sqlite_url, bad, tmp_path)
            except BadArchive:
                assert whole(sqlite_url) == before
            else:
                assert held(bad) == held(full)
                before = whole(sqlite_url)


def test_archive_of_a_newer_version_is_refused(full: Path, sqlite_url: str, tmp_path: Path) -> None:
    newer = rewritten(full, tmp_path / "newer.backup", lambda told: told.update(revision="9999"))
    with pytest.raises(StoreTooNew, match="`9999`"):
        put(sqlite_url, newer, tmp_path)
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_archive_of_an_older_version_is_migrated(database_url: str, tmp_path: Path, revision: str) -> None:
    put(database_url, FOLDER / f"{revision}.rows", tmp_path)
    assert migrate.revision(database_url) == migrate.HEAD
    with archive_of(revision) as opened:
        (part,) = [part for part in opened.manifest.parts if part.table == "run_messages"]
        assert len(whole(database_url)["run_messages"]) == part.count > 0


def test_database_that_is_damaged_is_replaced_and_kept_beside(full: Path, tmp_path: Path) -> None:
    path = tmp_path / "interlock.db"
    path.write_bytes(b"not a database " * 1_000)
    put(f"sqlite:///{path}", full, tmp_path)
    assert migrate.revision(f"sqlite:///{path}") == migrate.HEAD
    (aside,) = tmp_path.glob("interlock.db.damaged-*")
    assert aside.read_bytes().startswith(b"not a database")


def test_what_a_killed_restore_has_left_is_cleared_away(full: Path, sqlite_url: str, tmp_path: Path) -> None:
    for pid in (os.getpid(), 4_000_000):
        (tmp_path / f"{restore.SCRATCH}{pid}").mkdir()
        (tmp_path / f"{restore.SCRATCH}{pid}" / "interlock.db").write_bytes(b"half")
    put(sqlite_url, full, tmp_path)
    assert not list(tmp_path.glob(f"{restore.SCRATCH}*"))


def test_file_of_something_else_is_not_replaced(full: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (id INTEGER)")
    with pytest.raises(StoreError, match="is a database of something else"):
        put(f"sqlite:///{path}", full, tmp_path)


def test_backup_that_cannot_be_written_leaves_nothing(full: Path, sqlite_url: str, tmp_path: Path) -> None:
    put(sqlite_url, full, tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    for path, error in ((folder, UsageError), (folder / "none" / "x", InterlockError)):
        with pytest.raises(error) as told:
            archive.back_up(sqlite_url, path, "1", LATER)
        assert "\n" not in str(told.value)
    assert list(folder.iterdir()) == []


KILLED = """
import resource, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from interlock.store.upkeep import archive
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
archive.back_up(sys.argv[1], Path(sys.argv[2]), "1", datetime.now(UTC))
"""


def test_what_a_killed_backup_has_left_is_cleared_away_and_what_another_one_writes_is_not(tmp_path: Path) -> None:
    url, folder = f"sqlite:///{tmp_path / 'interlock.db'}", tmp_path / "backups"
    build(url, "0002")
    folder.mkdir()
    code, _, err = processes.run(
        ("-c", KILLED, url, str(folder / "monday")), folder=tmp_path, environment={"PATH": os.defpath}
    )
    assert code == -signal.SIGXFSZ, err
    (left,) = folder.iterdir()
    busy = folder / f".sunday.{archive.UNFINISHED}"
    with busy.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        archive.back_up(url, folder / "tuesday", "1", LATER)
        assert set(folder.iterdir()) == {busy, folder / "tuesday"}
    archive.back_up(url, folder / "tuesday", "1", LATER)
    assert set(folder.iterdir()) == {folder / "tuesday"}
    assert not left.exists()


def test_database_without_anything_in_it_has_no_backup(database_url: str, tmp_path: Path, postgres_url: str) -> None:
    for url in (f"sqlite:///{tmp_path}/none.db", postgres_url):
        with pytest.raises(StoreError, match="there is nothing to back up"):
            archive.back_up(url, tmp_path / "x.backup", "1", LATER)
    assert not (tmp_path / "x.backup").exists()
