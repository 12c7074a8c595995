"""What is sealed stays verifiable through restores into either database, erasures of people, and processes killed."""

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from interlock.app.local import LocalDesk
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.desk.identities import people, personal
from interlock.desk.operations import audit as desk
from interlock.oversight import audit_keys
from interlock.oversight.audit_keys import AuditKeyError
from interlock.store.auditing import audit
from interlock.store.auditing.chain import Key
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep import archive, restore
from interlock.store.upkeep.archive import Manifest
from interlock.store.upkeep.epochs import Beginning
from tests import processes
from tests.contract.oversight.test_sealing import BOSS, KEY, filled, kinds, made, noted, tampered
from tests.contract.store.furniture import PROJECT, T0, after

VICTIM = """
import asyncio, sys
from pathlib import Path
from interlock.app.local import LocalDesk
from interlock.core.clock import SystemClock
from interlock.core.values import SYSTEM
from interlock.oversight import sealing
from interlock.settings import load_settings
from interlock.store.auditing import audit
from interlock.store.engine import Store

def noted(tx, now):
    for n in range(7):
        audit.note(tx, "X", SYSTEM, now, project_id="demo", n=n)

async def main(home, url):
    given = {"home": Path(home), "database_url": url, "audit": {"key": sys.argv[3], "heads_file": home + "/heads"}}
    async with Store(url) as store:
        place = LocalDesk(load_settings(Path(home), {}, given), SystemClock(), store)
        for _ in range(10_000):
            await store.write(noted, place.clock.now())
            await sealing.seal(place)
            print("sealed", flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


async def put_back(url: str, path: Path, folder: Path, key: Key | None, now: datetime) -> None:
    def start(manifest: Manifest) -> Beginning:
        return Beginning(now, manifest.taken_at, SYSTEM, PROJECT, False, key)

    await asyncio.to_thread(restore.restore, url, path, folder, start, silent_s=None)


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgres"), ("postgres", "sqlite")])
async def test_a_chain_goes_on_in_the_database_that_it_was_restored_into(
    migrated_sqlite_url: str, migrated_postgres_url: str, tmp_path: Path, source: str, target: str
) -> None:
    urls = {"sqlite": migrated_sqlite_url, "postgres": migrated_postgres_url}
    backup, key = tmp_path / "b.backup", Key.of(KEY.encode())
    async with Store(urls[source]) as store:
        context = made(store, tmp_path, heads_file=tmp_path / "heads")
        await filled(context, 3, 2)
        await store.write(noted, 2, "NOT_SEALED")
        await asyncio.to_thread(archive.back_up, urls[source], backup, "1", T0)
        await filled(context, 4)
    await put_back(urls[target], backup, tmp_path, key, after(9_000))
    async with Store(urls[target]) as store:
        context = made(store, tmp_path, heads_file=tmp_path / "heads")
        report = await desk.verify(context)
        assert (report.faults, report.sealed, report.unsealed) == ([], 8, 0)
        assert "published link 3 is from before a restore of a backup" in report.remarks[0]
        await filled(context, 5)
        report = await desk.verify(context)
        assert (report.faults, report.sealed) == ([], 13)
        assert report.head is not None
        assert report.head["epoch"] == 1


async def test_who_puts_an_old_state_back_without_the_key_is_found(migrated_sqlite_url: str, tmp_path: Path) -> None:
    backup = tmp_path / "b.backup"
    async with Store(migrated_sqlite_url) as store:
        context = made(store, tmp_path, heads_file=tmp_path / "heads")
        await filled(context, 3)
        await asyncio.to_thread(archive.back_up, migrated_sqlite_url, backup, "1", T0)
        await filled(context, 4, 1)
    await put_back(migrated_sqlite_url, backup, tmp_path, None, after(9_000))
    async with Store(migrated_sqlite_url) as store:
        context = made(store, tmp_path, heads_file=tmp_path / "heads")
        assert kinds(await desk.verify(context)) == {"head_missing"}
        await tampered(context, "UPDATE meta SET value = '9' WHERE key = 'epoch'")
        await filled(context, 1)
        assert kinds(await desk.verify(context)) == {"head_missing", "head_differs"}


async def test_an_erased_person_is_an_exception_that_a_seal_explains(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path)
    found = await people.add(context, BOSS, "Ann Zweig")
    ann = Actor(ActorKind.HUMAN, found["id"])

    def acted(tx: Tx) -> None:
        for number in range(3):
            audit.note(tx, "CONTROL_CHANGED", ann, T0, project_id=PROJECT, reason=f"my illness {number}")

    await store.write(acted)
    await filled(context, 2)
    before = await store.read(audit.activities, actor=ann.id)
    await tampered(context, f"UPDATE activities SET subject = 'x' WHERE id = {before[1].id}")
    no_key = replace(context, settings=context.settings.model_copy(update={"audit": replace_key(context)}))
    with pytest.raises(AuditKeyError, match="its key is not here"):
        await personal.erase(no_key, BOSS, found["id"])
    await personal.erase(context, BOSS, found["id"])
    assert "illness" not in repr(await store.read(audit.activities))
    report = await desk.verify(context)
    assert [(fault.kind, fault.row) for fault in report.faults] == [("row_changed", before[1].id)]
    assert report.redacted >= 2
    await tampered(context, f"UPDATE activities SET data = '{{}}' WHERE id = {before[0].id}")
    assert [fault.row for fault in (await desk.verify(context)).faults] == [row.id for row in before[:2]]


def replace_key(context: LocalDesk) -> Any:
    return context.settings.audit.model_copy(update={"key": None})


async def test_what_is_killed_while_it_seals_leaves_a_whole_log(migrated_sqlite_url: str, tmp_path: Path) -> None:
    for seals_seen in (2,):
        victim = ("-c", VICTIM, str(tmp_path), migrated_sqlite_url, KEY)
        with processes.running(victim, folder=tmp_path, environment={}) as process:
            for _ in range(seals_seen):
                assert await process.line() == "sealed\n"
            process.kill()
    async with Store(migrated_sqlite_url) as store:
        context = made(store, tmp_path, heads_file=tmp_path / "heads")
        report = await desk.verify(context)
        assert (report.faults, report.sealed % 7) == ([], 0)
        await filled(context, 1)
        report = await desk.verify(context)
        assert (report.faults, report.unsealed, report.rows) == ([], 0, report.sealed)
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(f".{audit_keys.FILE}")]
