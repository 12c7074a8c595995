"""Memories are kept once, with every version; what fades is put away and comes back when it is restored. H3, H7."""

import asyncio

import pytest

from interlock.core.errors import Conflict, NotFound
from interlock.core.values import SYSTEM
from interlock.memory import archive, recall
from interlock.memory.archive import Secret
from interlock.memory.ranking import Pace
from interlock.store.engine import Store
from interlock.store.knowledge import memory_versions, memory_writes
from tests.contract.memory.notes import ANN, CODER, NOW, after, found, keep, recalled, versions

PACE = Pace()


async def age(store: Store, days: float) -> int:
    rows = await store.read(memory_writes.fading, "", 100)
    return await store.write(archive.age, rows, PACE, SYSTEM, after(days))


async def test_same_text_is_kept_once_and_then_matters_more(store: Store) -> None:
    first = await keep(store, "We use Postgres.", type="observation", importance=0.5, labels=("private",))
    again = await keep(store, "we use  postgres", days=3, importance=0.4, labels=("untrusted",))
    assert (first.is_new, again) == (True, (first.id, False))
    (known,) = await recalled(store, "postgres", days=3)
    assert (known.type, known.text, known.importance, known.decay) == ("fact", "We use Postgres.", 0.6, 1.0)
    assert known.labels == {"private", "untrusted"}
    assert await versions(store, first.id) == [(1, "agent1", "because"), (2, "agent1", "kept again: because")]


async def test_same_call_made_again_keeps_nothing_more(store: Store) -> None:
    first = await keep(store, "We use Postgres.", call_id="tcl_1")
    assert (await keep(store, "We use Postgres.", call_id="tcl_1")).id == first.id
    assert len(await versions(store, first.id)) == 1


async def test_two_who_keep_the_same_at_once_keep_it_once(store: Store) -> None:
    async with Store(store.url) as other:
        kept = await asyncio.gather(*(keep(at, "We use Postgres.") for at in [store, other] * 4))
    assert len({each.id for each in kept}) == 1
    assert [each.is_new for each in kept].count(True) == 1
    assert await found(store, "postgres") == ["We use Postgres."]


async def test_a_secret_is_refused_and_nothing_is_kept(store: Store) -> None:
    for text in ("the key is sk-proj-abcdef1234567890abcdef", "the password is hunter22", "token: ghp_" + "a1" * 18):
        with pytest.raises(Secret, match="looks like a secret"):
            await keep(store, text)
    assert await recalled(store, "key password token") == []


async def test_memories_fade_by_days_without_use_and_are_put_away(store: Store) -> None:
    unused = await keep(store, "The kiosk is blue.", importance=1.0, type="observation")
    used = await keep(store, "The kiosk opens at nine.", type="observation")
    for_good = await keep(store, "The kiosk is ours.", importance=0.9)
    await store.write(recall.used, [used.id], after(20))
    assert await age(store, 10.5) == 0
    (faded,) = [each for each in await recalled(store, "kiosk blue", days=10) if each.id == unused.id]
    assert faded.decay == pytest.approx(0.9**10)
    assert await age(store, 10.9) == 0
    assert await age(store, 29) == 1
    assert set(await found(store, "kiosk")) == {"The kiosk is ours.", "The kiosk opens at nine."}
    assert (await versions(store, unused.id))[-1] == (2, SYSTEM.id, "not used for 29 days")
    assert await age(store, 400) == 1
    assert [each.id for each in await recalled(store, "kiosk", days=400)] == [for_good.id]


async def test_two_leaders_take_a_day_once(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.")
    seen = await store.read(memory_writes.fading, "", 100)
    for _ in range(2):
        await store.write(archive.age, seen, PACE, SYSTEM, after(1))
    (faded,) = await recalled(store, "kiosk", days=1)
    assert faded.id == kept.id
    assert faded.decay == pytest.approx(0.9)


async def test_what_was_used_since_it_was_looked_at_does_not_fade(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.", type="observation")
    seen = await store.read(memory_writes.fading, "", 100)
    await store.write(recall.used, [kept.id], after(60))
    assert await store.write(archive.age, seen, PACE, SYSTEM, after(60)) == 0
    assert (await recalled(store, "kiosk", days=60))[0].decay == 1.0


async def test_archived_memories_are_shown_to_nobody_until_restored(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.")
    await store.write(archive.forget, kept.id, ANN, "it is green now", NOW)
    assert await recalled(store, "kiosk blue") == []
    with pytest.raises(Conflict, match="put away already"):
        await store.write(archive.forget, kept.id, ANN, "again", NOW)
    assert await store.write(archive.restore, kept.id, 1, ANN, after(1)) == 3
    assert await found(store, "blue") == ["The kiosk is blue."]
    assert await versions(store, kept.id) == [
        (1, "agent1", "because"), (2, "per_ann", "it is green now"), (3, "per_ann", "restored version 1"),
    ]  # fmt: skip


async def test_keeping_what_was_put_away_brings_it_back(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.")
    await store.write(archive.forget, kept.id, ANN, "wrong", NOW)
    assert await keep(store, "the kiosk is blue") == (kept.id, False)
    assert await found(store, "kiosk") == ["The kiosk is blue."]


async def test_any_version_can_be_restored_and_no_other_is_lost(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.", importance=0.2, labels=("untrusted",))
    for more in range(3):
        await keep(store, "The kiosk is blue.", importance=0.3 + 0.2 * more)
    await store.write(archive.restore, kept.id, 1, ANN, NOW)
    contents = [each.content for each in await store.read(memory_versions.of, kept.id)]
    assert [each["importance"] for each in contents] == [0.2, 0.3, 0.5, 0.7, 0.2]
    assert contents[-1] == contents[0]
    with pytest.raises(NotFound, match="has no version 9"):
        await store.write(archive.restore, kept.id, 9, ANN, NOW)
    with pytest.raises(NotFound, match="no memory `mem_x`"):
        await store.write(archive.restore, "mem_x", 1, ANN, NOW)


@pytest.mark.parametrize(
    ("text", "kept_as"),
    [
        ("'; DROP TABLE memories; --", "'; DROP TABLE memories; --"),
        ("100%_\\ \u202e\u200bsure", "100%_\\ \u202e\u200bsure"),
        ("\ud83d naught\x00", "\ufffd naught\ufffd"),
        ("東京 🗼 العربية", "東京 🗼 العربية"),
        ("a" * 2_000, "a" * 2_000),
    ],
)
async def test_hostile_words_are_kept_and_found(store: Store, text: str, kept_as: str) -> None:
    kept = await keep(store, text)
    (only,) = await recalled(store, text)
    assert (only.id, only.text) == (kept.id, kept_as)
    assert (await store.read(memory_versions.of, kept.id))[0].content["text"] == kept_as


async def test_author_of_a_version_is_who_wrote_it(store: Store) -> None:
    kept = await keep(store, "The kiosk is blue.")
    (only,) = await store.read(memory_versions.of, kept.id)
    assert (only.author_kind, only.author_id) == ("agent", CODER.id)
