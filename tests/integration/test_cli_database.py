"""Upgrading, backing up and restoring from the command line; a mission goes on from one database in another."""

import asyncio
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from interlock.app import maintenance
from interlock.app.box import Interlock
from interlock.core.errors import Conflict
from interlock.core.values import SYSTEM
from interlock.settings import load_settings
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.controls import Mode
from interlock.store.upkeep import archive, migrate, restore
from interlock.store.upkeep.epochs import Beginning
from interlock.store.upkeep.restore import SCRATCH
from interlock.worker.home import HomeLock
from tests import processes
from tests.integration.cli_process import Cli
from tests.migration.released import FOLDER, GOAL, build
from tests.migration.test_released import signed_to_the_end


async def mode_of(url: str) -> Mode:
    async with Store(url) as store:
        return await store.read(controls.mode)


def database(cli: Cli) -> str:
    return f"sqlite:///{cli.folder / '.interlock' / 'interlock.db'}"


def test_database_of_an_earlier_release_is_upgraded_when_told(cli: Cli) -> None:
    (cli.folder / ".interlock").mkdir()
    build(database(cli), "0002")
    where = database(cli)
    checked = cli("db", "upgrade", "--check")
    assert (checked.code, checked.out) == (3, f"{where} would go from revision 0002 to {migrate.HEAD}\n")
    assert migrate.revision(where) == "0002"
    assert cli("db", "upgrade", "--json").json() == {"from": "0002", "to": migrate.HEAD, "changed": True}
    again = cli("db", "upgrade", "--check")
    assert (again.code, again.out) == (0, f"{where} is at revision {migrate.HEAD}: nothing to do\n")


def test_backup_of_an_earlier_release_is_made_without_touching_it_and_restored(cli: Cli) -> None:
    (cli.folder / ".interlock").mkdir()
    build(database(cli), "0002")
    made = cli("db", "backup", "a.backup", "--json").json()
    assert (made["revision"], migrate.revision(database(cli))) == ("0002", "0002")
    assert stat.S_IMODE((cli.folder / "a.backup").stat().st_mode) == 0o600
    restored = cli("db", "restore", "a.backup", "--paused")
    assert restored.code == 0
    assert "epoch 1" in restored.out
    for uncertain in ("slack:2", "slack:U1: not worked any more", "asked again", "goes on from there", "$0.07"):
        assert uncertain in restored.out
    assert asyncio.run(mode_of(database(cli))) is Mode.PAUSED
    (replaced,) = (cli.folder / ".interlock").glob("replaced-*.backup")
    with archive.Archive(replaced) as kept:
        assert kept.manifest.revision == "0002"
    assert not list((cli.folder / ".interlock").glob(f"{SCRATCH}*"))


def test_restore_waits_for_nobody_who_executes_the_home(cli: Cli) -> None:
    (cli.folder / ".interlock").mkdir()
    with HomeLock(cli.folder / ".interlock") as lock:
        assert lock.acquire()
        refused = cli("db", "restore", str(FOLDER / "0002.rows"))
    assert refused.code == 1
    who = f"process {os.getpid()} executes the home `{cli.folder / '.interlock'}`"
    assert refused.err == f"interlock: {who}: stop it first, then restore\n"
    assert not (cli.folder / ".interlock" / "interlock.db").exists()


def test_what_is_no_backup_is_told_in_one_line(cli: Cli) -> None:
    (cli.folder / "notes.txt").write_text("some words")
    for args, code, words in (
        (("restore", "notes.txt"), 1, "`notes.txt` is not a backup of interlock, or is damaged: nothing was changed"),
        (("restore", "nothing"), 2, "there is no `nothing`: name a file that `interlock db backup` wrote"),
        (("backup", "x"), 1, "there is nothing to back up"),
    ):
        ended = cli("db", *args)
        assert ended.code == code
        assert words in ended.err
        assert ended.err.count("\n") == 1
    assert cli("db", "restore", str(FOLDER / "0001.rows")).code == 0
    refused = cli("db", "backup", "notes.txt")
    assert (refused.code, refused.err) == (
        2, "interlock: `notes.txt` exists already and is not a backup: name another file\n"
    )  # fmt: skip
    assert (cli.folder / "notes.txt").read_text() == "some words"


def test_disk_that_is_full_leaves_no_half_backup(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'interlock.db'}"
    build(url, "0002")
    code = (
        "import resource, sys; from datetime import UTC, datetime; from pathlib import Path\n"
        "from interlock.core.errors import InterlockError; from interlock.store.upkeep import archive\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try: archive.back_up(sys.argv[1], Path(sys.argv[2]), '1', datetime.now(UTC))\n"
        "except InterlockError as error: print(error)"
    )
    (tmp_path / "out").mkdir()
    ended, out, err = processes.run(
        ("-c", code, url, str(tmp_path / "out" / "x.backup")), folder=tmp_path,
        environment={"PATH": os.defpath, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert "cannot write the backup" in out
    assert "nothing was left there" in out
    assert (ended, out.count("\n"), err) == (0, 1, "")
    assert list((tmp_path / "out").iterdir()) == []


LOST_AT_THE_COMMIT = """
CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON meta DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION leave()
"""


async def test_restore_whose_end_is_not_known_says_so_and_keeps_what_was_there(
    tmp_path: Path, postgres_url: str
) -> None:
    settings = load_settings(tmp_path, {}, {"home": tmp_path / "home", "database_url": postgres_url})
    await maintenance.upgrade(settings)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(LOST_AT_THE_COMMIT)
    with pytest.raises(StoreUnavailable, match=r"look whether it is there .* what was there before is in ") as told:
        await maintenance.begin_anew(settings, FOLDER / "0002.rows", force=False, paused=False, keep=True)
    (kept,) = settings.home.glob("replaced-*.backup")
    assert str(kept) in str(told.value)
    assert "nothing was changed" not in str(told.value)


async def test_what_cannot_be_backed_up_is_not_replaced_unless_that_is_asked_for(
    tmp_path: Path, postgres_url: str
) -> None:
    settings = load_settings(tmp_path, {}, {"home": tmp_path / "home", "database_url": postgres_url})
    await maintenance.upgrade(settings)
    role = f"keeper_{os.urandom(4).hex()}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            admin.execute(f"GRANT SELECT ON alembic_version, meta, people, identities, workers TO {role}")
            theirs = settings.model_copy(update={"database_url": postgres_url.replace("postgres@", f"{role}@")})
            with pytest.raises(Conflict, match=r"cannot be backed up: .* permission denied .* give `--no-keep`"):
                await maintenance.begin_anew(theirs, FOLDER / "0002.rows", force=False, paused=False, keep=True)
        finally:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")


async def test_mission_of_a_running_home_goes_on_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    taken = tmp_path / "taken.backup"
    async with Interlock.open(cwd=tmp_path, env={}, home=tmp_path, model="rehearsal/offline") as box:
        mission_id = await box.submit(GOAL)
        await box.start()
        async for found in box.follow(mission_id):
            if found.status == "IN_PROGRESS":
                break
        now = datetime.now(UTC)
        await asyncio.to_thread(archive.back_up, box.runtime.settings.database_url, taken, "1", now)
        assert await signed_to_the_end(box, mission_id) == "DONE"
        ended = await box.result(await box.settled(mission_id))
    await asyncio.to_thread(
        restore.restore, postgres_url, taken, tmp_path,
        lambda manifest: Beginning(now, manifest.taken_at, SYSTEM, "default", False), silent_s=None,
    )  # fmt: skip
    async with Interlock.open(
        cwd=tmp_path, env={}, home=tmp_path, database_url=postgres_url, model="rehearsal/offline"
    ) as box:
        await box.start()
        assert await signed_to_the_end(box, mission_id) == "DONE"
        again = await box.result(await box.settled(mission_id))
    assert again.deliverable == ended.deliverable
