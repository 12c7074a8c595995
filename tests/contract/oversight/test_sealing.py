"""The audit log is sealed beside the work; whatever is changed behind its back is found, and the row is named.

Tampering is done as the database's owner would: by SQL, past the store.
"""

import asyncio
import json
import os
import stat
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from interlock.app.local import LocalDesk
from interlock.core.errors import UsageError
from interlock.core.values import SYSTEM
from interlock.desk.context import Person
from interlock.desk.operations import audit as desk
from interlock.oversight import audit_keys, heads, retention, sealing
from interlock.oversight.audit_findings import Report
from interlock.oversight.audit_keys import AuditKeyError
from interlock.settings import load_settings
from interlock.store.auditing import audit, chain, seals
from interlock.store.auditing.chain import ANEW, BATCH, Key
from interlock.store.engine import Store
from interlock.store.schema import AuditSeal
from interlock.store.tx import Tx
from interlock.store.upkeep.retention import TAMPERED
from interlock.testing import FakeClock
from tests.contract.store.furniture import PROJECT, T0

KEY = "correct horse battery staple"
BOSS = Person(id="per_boss", name="Boss", role="admin", surface="cli")


@pytest.fixture
def context(store: Store, tmp_path: Path) -> LocalDesk:
    return made(store, tmp_path)


def clock_of(context: LocalDesk) -> FakeClock:
    assert isinstance(context.clock, FakeClock)
    return context.clock


def made(store: Store, home: Path, **audit_settings: Any) -> LocalDesk:
    given = {"key": KEY, **audit_settings}
    settings = load_settings(
        home, {}, {"home": home, "database_url": store.url, "project": PROJECT, "audit": given}
    )  # fmt: skip
    return LocalDesk(settings, FakeClock(T0 + timedelta(hours=1)), store)


def noted(tx: Tx, count: int, action: str = "X", now: datetime = T0) -> None:
    for number in range(count):
        audit.note(tx, action, SYSTEM, now, project_id=PROJECT, subject=f"s{number}", n=number, of={"b": 1.5, "a": "ä"})


async def filled(context: LocalDesk, *counts: int) -> list[int]:
    """Sealed batches of so many activities; returns the ids of all."""
    for count in counts:
        await context.store.write(noted, count)
        await sealing.seal(context)
    return [row.id for row in await context.store.read(audit.activities)]


def sql(url: str, *statements: str) -> None:
    """What the owner of the database can do."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


async def tampered(context: LocalDesk, *statements: str) -> None:
    await asyncio.to_thread(sql, context.store.url, *statements)


def kinds(report: Report) -> set[str]:
    return {fault.kind for fault in report.faults}


async def test_a_log_that_nobody_touched_is_whole_however_often_it_is_sealed(context: LocalDesk) -> None:
    await filled(context, 3, 1, 4)
    await context.store.write(noted, 2)
    report = await desk.verify(context)
    assert (report.faults, report.remarks) == ([], [])
    assert (report.rows, report.sealed, report.unsealed, report.links) == (10, 8, 2, 3)
    await sealing.seal(context)
    await sealing.seal(context)
    assert ((await desk.verify(context)).links, (await desk.verify(context)).sealed) == (4, 10)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE activities SET action = 'Y' WHERE id = {row}", "row_changed"),
        ("UPDATE activities SET actor_id = 'somebody' WHERE id = {row}", "row_changed"),
        ("UPDATE activities SET run_id = 'run_1' WHERE id = {row}", "row_changed"),
        ("UPDATE activities SET data = '{{\"n\": 99}}' WHERE id = {row}", "row_changed"),
        ("UPDATE activities SET created_at = '2026-01-01 12:00:01+00:00' WHERE id = {row}", "row_changed"),
        ("DELETE FROM activities WHERE id = {row}", "row_removed"),
    ],
)
async def test_a_changed_or_removed_row_is_named(context: LocalDesk, statement: str, fault: str) -> None:
    ids = await filled(context, 3, 3)
    await tampered(context, statement.format(row=ids[4]))
    [found] = (await desk.verify(context)).faults
    assert (found.kind, found.row, found.link) == (fault, ids[4], 2)
    assert str(ids[4]) in found.text


async def test_rows_that_were_exchanged_are_both_named(context: LocalDesk) -> None:
    ids = await filled(context, 4)
    await tampered(
        context,
        f"UPDATE activities SET id = 999999 WHERE id = {ids[0]}",
        f"UPDATE activities SET id = {ids[0]} WHERE id = {ids[1]}",
        f"UPDATE activities SET id = {ids[1]} WHERE id = 999999",
    )
    assert [fault.row for fault in (await desk.verify(context)).faults] == ids[:2]


async def test_a_row_that_was_inserted_where_others_were_sealed_is_named(context: LocalDesk) -> None:
    ids = await filled(context, 3)
    clock_of(context).advance(600)
    await filled(context, 3)
    row = "0, 'demo', 'FORGED', 'human', 'ann', '{}', '2026-01-01 12:00:00+00:00'"
    await tampered(
        context, "INSERT INTO activities (id, project_id, action, actor_kind, actor_id, data, created_at)"
        f" VALUES ({row})",
    )  # fmt: skip
    [found] = (await desk.verify(context)).faults
    assert (found.kind, found.row) == ("row_inserted", 0)
    assert ids[0] > 0


async def test_a_row_from_long_before_what_was_sealed_last_is_no_new_one(context: LocalDesk) -> None:
    ids = await filled(context, 3)
    await context.store.write(noted, 1, "FORGED", T0 - timedelta(days=1))
    [found] = (await desk.verify(context)).faults
    assert (found.kind, found.row) == ("row_inserted", ids[-1] + 1)
    await sealing.seal(context)
    report = await desk.verify(context)
    assert report.faults == []
    assert f"activity {ids[-1] + 1} (FORGED)" in report.remarks[0]


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DELETE FROM audit_seals WHERE number = 2"], {"link_removed"}),
        (["UPDATE audit_seals SET seal = head WHERE number = 2"], {"link_forged"}),
        (["UPDATE audit_seals SET digest = head WHERE number = 2"], {"link_changed"}),
        (
            ["UPDATE audit_seals SET ranges = '[[1, 2000000000]]', count = 2000000000 WHERE number = 2"],
            {"link_changed"},
        ),
        (["UPDATE audit_seals SET ranges = 'null' WHERE number = 2"], {"link_changed"}),
        (["UPDATE audit_seals SET leaves = NULL WHERE number = 2"], {"link_changed"}),
        (["UPDATE audit_seals SET epoch = 7 WHERE number = 2"], {"link_changed"}),
        (
            [
                "UPDATE audit_seals SET number = 99 WHERE number = 2",
                "UPDATE audit_seals SET number = 2 WHERE number = 3",
                "UPDATE audit_seals SET number = 3 WHERE number = 99",
            ],
            {"link_changed"},
        ),
        (["UPDATE audit_seals SET number = 9000000000000000000 WHERE number = 3"], {"link_removed", "link_changed"}),
    ],
)
async def test_a_link_that_was_removed_changed_or_moved_is_named(
    context: LocalDesk, statements: list[str], told: set[str]
) -> None:
    await filled(context, 3, 3, 3)
    clock_of(context).advance(600)
    await tampered(context, *statements)
    report = await desk.verify(context)
    assert told <= kinds(report)
    assert any(fault.link in (2, 3) for fault in report.faults)


async def test_history_sealed_anew_with_another_key_is_no_history(context: LocalDesk) -> None:
    await filled(context, 3, 2)
    await tampered(context, "UPDATE activities SET action = 'Y'", "DELETE FROM audit_seals")
    forger = replace(context, settings=context.settings.model_copy(update={"audit": made(
        context.store, context.settings.home, key="the forger's own key").settings.audit}))  # fmt: skip
    await sealing.seal(forger)
    [found] = (await desk.verify(context)).faults
    assert (found.kind, found.link) == ("unknown_key", 1)
    assert Key.of(b"the forger's own key").id in found.text
    assert (await desk.verify(forger)).faults == []


async def test_a_log_that_was_cut_off_is_found_by_its_published_heads(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, heads_file=tmp_path / "away" / "heads.jsonl")
    ids = await filled(context, 3, 2, 2)
    assert (await desk.verify(context)).faults == []
    await tampered(context, f"DELETE FROM activities WHERE id > {ids[2]}", "DELETE FROM audit_seals WHERE number > 1")
    bare = made(store, tmp_path)
    assert (await desk.verify(bare)).faults == [], "nothing in the database tells"
    [found] = (await desk.verify(context)).faults
    assert (found.kind, found.link) == ("head_missing", 2)
    assert "links 2 to 3 are" in found.text
    await filled(context, 1)
    assert await store.read(audit.count_open, TAMPERED) == 1
    report = await desk.verify(context)
    assert {(fault.kind, fault.link) for fault in report.faults} == {("head_differs", 2), ("head_missing", 3)}


async def test_heads_alone_pin_the_log_for_who_has_no_key(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, heads_file=tmp_path / "heads.jsonl")
    ids = await filled(context, 3, 2)
    stranger = replace(context, settings=context.settings.model_copy(update={"audit": load_settings(
        tmp_path, {}, {"home": tmp_path / "other"}).audit, "home": tmp_path / "other"}))  # fmt: skip
    with pytest.raises(AuditKeyError, match="no audit key here"):
        await desk.verify(stranger)
    (tmp_path / "other.txt").write_text("not one\n")
    with pytest.raises(UsageError, match=r"there is no published head in `.*other.txt`"):
        await desk.verify(stranger, heads=tmp_path / "other.txt")
    report = await desk.verify(stranger, heads=tmp_path / "heads.jsonl")
    assert (report.faults, report.is_signed, report.sealed) == ([], False, 5)
    await tampered(context, f"UPDATE activities SET subject = 'x' WHERE id = {ids[1]}")
    [found] = (await desk.verify(stranger, heads=tmp_path / "heads.jsonl")).faults
    assert found.row == ids[1]


async def test_a_torn_line_of_published_heads_costs_that_line_alone(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    context = made(store, tmp_path, heads_file=path)
    await filled(context, 1, 1)
    path.write_bytes(path.read_bytes()[:-20])
    await filled(context, 1)
    told, strange = heads.read(path)
    assert ([each.number for each in told], strange) == ([1, 3], 1)
    report = await desk.verify(context)
    assert (report.faults, len(report.remarks)) == ([], 1)


async def test_a_key_is_made_in_the_home_once_and_refused_where_others_can_read_it(
    store: Store, tmp_path: Path
) -> None:
    context = made(store, tmp_path, key=None)
    await filled(context, 2)
    path = tmp_path / audit_keys.FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (await desk.verify(context)).faults == []
    path.chmod(0o640)
    with pytest.raises(AuditKeyError, match="chmod 600"):
        await desk.verify(context)
    path.chmod(0o600)
    assert audit_keys.make(path) == audit_keys.read(path), "who comes second takes what is there"
    os.mkfifo(pipe := tmp_path / "pipe", 0o600)
    with pytest.raises(AuditKeyError, match="is not a file"):
        audit_keys.read(pipe)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(f".{audit_keys.FILE}")] == []


async def test_a_lost_key_stops_the_sealing_with_an_alert_and_nothing_else(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, key=None)
    await filled(context, 2)
    old = tmp_path / "old.key"
    (tmp_path / audit_keys.FILE).rename(old)
    await store.write(noted, 1)
    sealer = sealing.Sealer()
    told = await sealer.sweep(context)  # type: ignore[arg-type]
    assert told.startswith("nothing is sealed: the audit log is sealed with key")
    assert await store.read(audit.count_open, sealing.KEY_ALERT) == 1
    rotated = made(store, tmp_path, key=KEY, old_key_files=[str(old)])
    assert (await sealing.seal(rotated)).activities == 1
    assert await store.read(audit.count_open, sealing.KEY_ALERT) == 0
    report = await desk.verify(rotated)
    assert (report.faults, report.sealed, report.links) == ([], 3, 2)
    await tampered(
        context, f"UPDATE audit_seals SET key_id = '{audit_keys.read(old).id}' WHERE number = 2"
    )  # fmt: skip
    assert kinds(await desk.verify(rotated)) == {"link_changed"}


async def test_a_replaced_key_seals_no_new_batches(store: Store, tmp_path: Path) -> None:
    old = tmp_path / "old.key"
    old.write_text("the first key of them all")
    old.chmod(0o600)
    first = made(store, tmp_path, key=None, key_file=str(old))
    second = made(store, tmp_path, old_key_files=[str(old)])
    await filled(first, 1)
    await filled(second, 1)
    thief = made(store, tmp_path, key="the first key of them all", old_key_files=[str(old)])

    def forged(tx: Tx) -> None:
        noted(tx, 1)
        found = seals.unsealed(tx, T0)
        key = Key.of(b"the first key of them all")
        tx.add(AuditSeal, **chain.link(key, found.last, BATCH, found.ids, found.leaves, T0))

    await thief.store.write(forged)
    [found] = (await desk.verify(second)).faults
    assert (found.kind, found.link) == ("link_forged", 3)


async def test_where_a_key_is_lost_for_good_an_admin_goes_on_with_another(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, key=None)
    await filled(context, 2)
    (tmp_path / audit_keys.FILE).unlink()
    with pytest.raises(AuditKeyError, match="interlock audit anew"):
        await desk.seal(context, BOSS)
    await desk.anew(context, BOSS)
    report = await desk.verify(context)
    assert [(fault.kind, fault.link) for fault in report.faults] == [("unknown_key", 1)]
    assert "the one before was lost" in report.remarks[0]
    links = await store.read(lambda tx: [link.kind for link in seals.links(tx)])
    assert links == [BATCH, ANEW, BATCH]
    [lost] = await store.read(audit.activities, action="AUDIT_KEY_LOST")
    assert lost.actor_id == BOSS.id


async def test_forgotten_activities_leave_a_log_that_verifies_and_tampered_ones_stay(
    store: Store, tmp_path: Path
) -> None:
    from interlock.testing.runtime import runtime_over
    from interlock.testing.scripted import ScriptedModel

    settings = load_settings(
        tmp_path, {}, {"home": tmp_path, "database_url": store.url, "project": PROJECT, "audit": {"key": KEY},
                       "keep": {"activities_days": 30}},
    )  # fmt: skip
    clock = FakeClock(T0)
    runtime = runtime_over(store, settings, ScriptedModel(), clock=clock)
    context = LocalDesk(settings, clock, store)
    ids = await filled(context, 5, 3)
    await store.write(lambda tx: noted(tx, 2, "KEPT", T0 + timedelta(days=20)))
    await sealing.seal(context)
    await tampered(
        context,
        f"UPDATE activities SET created_at = '2020-01-01 12:00:00+00:00' WHERE id = {ids[7]}",
    )
    clock.advance(40 * 86_400)
    gone = await retention.sweep(runtime)
    assert gone.activities == 7
    report = await desk.verify(context)
    assert (report.pruned, [fault.kind for fault in report.faults]) == (7, ["row_changed"])
    assert await store.read(audit.count_open, TAMPERED) == 1
    whole, part = await store.read(lambda tx: (seals.leaves(tx, 1), seals.leaves(tx, 2)))
    assert (whole, len(part or b"")) == (None, 3 * chain.LEAF)
    await tampered(context, "DELETE FROM audit_seals WHERE kind = 'prune'")
    assert {"row_removed", "link_removed"} & kinds(await desk.verify(context))


async def test_an_export_is_verified_without_the_database(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, heads_file=tmp_path / "heads.jsonl")
    ids = await filled(context, 3, 3)
    path = tmp_path / "log.jsonl"
    found = await desk.export(context, BOSS, path)
    assert (found["links"], found["activities"], stat.S_IMODE(path.stat().st_mode)) == (2, 7, 0o600)

    def verified(lines: list[str]) -> list[tuple[str, int | None]]:
        path.write_text("\n".join(lines) + "\n")
        report = desk.verify_export(context.settings, path)
        return [(fault.kind, fault.row) for fault in report.faults]

    whole = path.read_text().splitlines()
    assert verified(whole) == []
    changed = [line.replace('"s1"', '"s9"') if f'"id":{ids[1]},' in line else line for line in whole]
    assert verified(changed) == [("row_changed", ids[1])]
    shorter = [line for line in whole if f'"id":{ids[4]},' not in line]
    assert verified(shorter) == [("row_removed", ids[4]), ("export_damaged", None)]
    assert verified(whole[:-1]) == [("export_damaged", None)]
    assert verified([*whole[:-3], whole[-1]])[-1] == ("export_damaged", None)
    assert verified([*whole[:5], whole[5][:40], *whole[6:]])[-1] == ("export_damaged", None)
    for key, place in (("number", 2), ("leaves", 2), ("actor_kind", len(whole) - 2)):
        lines = [line.replace(f'"{key}"', '"x"', 1) if at == place else line for at, line in enumerate(whole)]
        assert lines != whole
        assert verified(lines)[-1] == ("export_damaged", None)
    without = [line for line in whole if '"number":2' not in line]
    assert ("head_missing", None) in verified(without)


async def test_the_log_is_sealed_each_minute_or_as_soon_as_a_thousand_wait(context: LocalDesk) -> None:
    sealer = sealing.Sealer()
    await context.store.write(noted, 3)
    assert (await sealer.sweep(context)).startswith("3 activities")  # type: ignore[arg-type]
    await context.store.write(noted, 3)
    clock_of(context).advance(5)
    assert await sealer.sweep(context) == "nothing to seal yet"  # type: ignore[arg-type]
    await context.store.write(noted, 1_100)
    assert await sealer.sweep(context) == "1,103 activities sealed in 2 batches"  # type: ignore[arg-type]
    await context.store.write(noted, 1)
    clock_of(context).advance(60)
    assert await sealer.sweep(context) == "1 activity sealed in 1 batch"  # type: ignore[arg-type]


async def test_two_who_seal_at_once_lose_nothing_and_seal_nothing_twice(
    store: Store, migrated_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_url) as other:
        one, two = made(store, tmp_path), made(other, tmp_path)
        for count in range(1, 9):
            await store.write(noted, count)
            await asyncio.gather(sealing.seal(one), sealing.seal(two))
    report = await desk.verify(one)
    assert (report.faults, report.sealed, report.unsealed) == ([], 36, 0)


async def test_who_commits_late_is_sealed_with_the_next_batch(migrated_postgres_url: str, tmp_path: Path) -> None:
    insert = (
        "INSERT INTO activities (project_id, action, actor_kind, actor_id, data, created_at)"
        " VALUES ('demo', 'LATE', 'system', 's', '{}', '2026-01-01 12:00:00+00') RETURNING id"
    )
    async with Store(migrated_postgres_url) as store:
        context = made(store, tmp_path)
        with psycopg.connect(migrated_postgres_url) as late:
            row = late.execute(insert).fetchone()
            assert row is not None
            await filled(context, 3, 2)
            for _ in range(3):
                clock_of(context).advance(400)
                await filled(context, 2)
            assert (await desk.verify(context)).unsealed == 0
            late.commit()
        report = await desk.verify(context)
        assert (report.faults, report.unsealed, report.unsealed_first) == ([], 1, row[0])
        await sealing.seal(context)
        report = await desk.verify(context)
        assert (report.faults, report.unsealed, report.sealed) == ([], 0, 12)
        clock_of(context).advance(400)
        await filled(context, 1)
        clock_of(context).advance(400)
        await filled(context, 1)
        await tampered(
            context,
            insert.replace("(project_id", "(id, project_id")
            .replace("('demo'", f"({row[0] - 1}, 'demo'")
            .replace("LATE", "FORGED"),
        )
        assert [(f.kind, f.row) for f in (await desk.verify(context)).faults] == [("row_inserted", row[0] - 1)]


async def test_unreadable_rows_are_changed_rows(migrated_sqlite_url: str, tmp_path: Path) -> None:
    async with Store(migrated_sqlite_url) as store:
        context = made(store, tmp_path)
        ids = await filled(context, 4)
        await tampered(
            context,
            f"UPDATE activities SET data = 'not json' WHERE id = {ids[0]}",
            f"UPDATE activities SET created_at = 'some day' WHERE id = {ids[1]}",
            f"UPDATE activities SET action = x'ff' WHERE id = {ids[2]}",
            "UPDATE audit_seals SET created_at = 'never'",
        )
        report = await desk.verify(context)
        assert "link_changed" in kinds(report)
        await tampered(context, "DELETE FROM audit_seals")
        path = tmp_path / "log.jsonl"
        await desk.export(context, BOSS, path)
        assert json.loads(path.read_text().splitlines()[1])["activity"]["data"] == {"unreadable": "not json"}


async def test_heads_are_announced_once_a_day(store: Store, tmp_path: Path) -> None:
    context = made(store, tmp_path, announce=True)
    await filled(context, 1, 1)
    [told] = await store.read(audit.alerts)
    assert (told.kind, "audit head 1 of epoch 0" in told.text) == (sealing.HEAD_ALERT, True)
    clock_of(context).advance(86_400)
    await filled(context, 1)
    [told] = await store.read(audit.alerts)
    assert "audit head 3" in told.text
