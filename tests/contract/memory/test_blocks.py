"""Core memory is edited by who holds it, never over words that its editor has not seen, and shared. Rows H2, H7."""

import asyncio
from typing import Any

import pytest

from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.memory import blocks
from interlock.memory.archive import Secret
from interlock.memory.blocks import MOST_BLOCKS, MOST_CHARS, Block, Changed, Edit, Editor
from interlock.store.engine import Store
from interlock.store.knowledge import memory_versions
from tests.contract.memory.notes import ANN, CODER, NOW, OTHER, PROJECT, after, versions


def editor(**more: Any) -> Editor:
    return Editor(**{"project_id": PROJECT, "persona": "coder", "author": CODER, "run_id": "run_1", **more})


async def edit(
    store: Store, label: str, change: Edit, who: Editor | None = None, *, days: float = 0, reason: str = "because"
) -> Block:
    return await store.write(blocks.edit, who or editor(), label, change, reason, after(days))


async def shown(store: Store, persona: str = "coder", project: str = PROJECT) -> dict[str, str]:
    found = await store.read(blocks.held, project, persona)
    return {block.label: block.content for block in found}


async def test_blocks_are_created_appended_edited_and_replaced(store: Store) -> None:
    made = await edit(store, "human", Edit(append="Ann runs support."))
    await edit(store, "human", Edit(append="She likes tables."))
    await edit(store, "human", Edit(old="tables", new="lists"))
    assert await shown(store) == {"human": "Ann runs support.\nShe likes lists."}
    assert (await edit(store, "human", Edit(content="Ann."))).version == 4
    await edit(store, "plan", Edit(content=""))
    assert await shown(store) == {"human": "Ann.", "plan": ""}
    assert await versions(store, made.id) == [(number, CODER.id, "because") for number in (1, 2, 3, 4)]


async def test_an_edit_that_changes_nothing_is_no_version(store: Store) -> None:
    made = await edit(store, "human", Edit(content="Ann."))
    assert (await edit(store, "human", Edit(content="Ann."))).version == 1
    assert len(await versions(store, made.id)) == 1


async def test_same_call_made_again_changes_nothing_more(store: Store) -> None:
    await edit(store, "human", Edit(append="Ann."), editor(call_id="tcl_1"))
    await edit(store, "human", Edit(append="Ann."), editor(call_id="tcl_1"))
    await edit(store, "human", Edit(append="Bob."), editor(call_id="tcl_2"))
    await edit(store, "human", Edit(append="Bob."), editor(call_id="tcl_2"))
    assert await shown(store) == {"human": "Ann.\nBob."}


async def test_what_others_wrote_meanwhile_is_told_and_not_written_over(store: Store) -> None:
    await edit(store, "human", Edit(content="Ann."), days=-1)
    await edit(store, "human", Edit(content="Ann and Bob."), editor(run_id="run_2"), days=1)
    with pytest.raises(Changed, match=r"version 2 and reads: Ann and Bob\."):
        await edit(store, "human", Edit(content="Ann and Eve.", since=NOW), days=2)
    assert await shown(store) == {"human": "Ann and Bob."}
    await edit(store, "human", Edit(content="Ann, Bob and Eve.", since=NOW, seen=2), days=2)
    with pytest.raises(Changed):
        await edit(store, "human", Edit(content="Nobody.", since=NOW, seen=2), editor(run_id="run_2"), days=2)
    await edit(store, "human", Edit(content="All.", since=NOW), days=3)
    assert await shown(store) == {"human": "All."}


async def test_what_is_replaced_must_be_there_once(store: Store) -> None:
    await edit(store, "human", Edit(content="one two two"))
    with pytest.raises(Changed, match="reads: one two two"):
        await edit(store, "human", Edit(old="three", new="four"))
    with pytest.raises(UsageError, match="`old` is 2 times"):
        await edit(store, "human", Edit(old="two", new="three"))
    with pytest.raises(UsageError, match="you have no block `plan`"):
        await edit(store, "plan", Edit(old="two", new="three"))


async def test_many_who_add_at_once_lose_nothing(store: Store) -> None:
    lines = [f"line {number}" for number in range(12)]
    await asyncio.gather(
        *(edit(store, "log", Edit(append=line), editor(run_id=f"run_{at}")) for at, line in enumerate(lines))
    )
    (content,) = (await shown(store)).values()
    assert sorted(content.splitlines()) == sorted(lines)


async def test_of_two_who_begin_a_block_at_once_the_second_is_told(store: Store) -> None:
    async with Store(store.url) as other:
        tries = (
            edit(at, "plan", Edit(content=f"mine {number}", since=NOW), editor(run_id=f"run_{number}"))
            for number, at in enumerate([store, other] * 3)
        )
        done = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Block", *["Changed"] * 5]
    assert len(await shown(store)) == 1


async def test_limits_and_labels_are_kept(store: Store) -> None:
    with pytest.raises(UsageError, match="4,000 fit"):
        await edit(store, "human", Edit(content="x" * (MOST_CHARS + 1)))
    await edit(store, "human", Edit(content="x" * MOST_CHARS))
    with pytest.raises(UsageError, match="4,000 fit"):
        await edit(store, "human", Edit(append="x"))
    for label in ("", " ", "two\nlines", "x" * 61, "\u200bhuman", "\x00"):
        with pytest.raises(UsageError, match="a line of 1 to 60"):
            await edit(store, label, Edit(content="x"))
    for number in range(MOST_BLOCKS - 1):
        await edit(store, f"block {number}", Edit(content="x"))
    with pytest.raises(UsageError, match="12 blocks, which is as many as fit"):
        await edit(store, "one more", Edit(content="x"))


async def test_secrets_are_refused(store: Store) -> None:
    for change in (Edit(content="AKIA" + "ABCDEFGHIJKLMNOP"), Edit(append="password: hunter22")):
        with pytest.raises(Secret):
            await edit(store, "human", change)
    assert await shown(store) == {}


async def test_taint_of_a_writer_goes_with_what_it_writes(store: Store) -> None:
    await edit(store, "human", Edit(content="Ann."), editor(labels=("untrusted",)))
    (block,) = await store.read(blocks.held, PROJECT, "coder")
    assert block.labels == {"untrusted", "private"}
    assert (await edit(store, "human", Edit(append="Bob."))).labels == {"untrusted", "private"}
    assert (await edit(store, "human", Edit(content="Ann and Bob."))).labels == {"private"}


async def test_shared_blocks_are_written_by_who_may(store: Store) -> None:
    made = await edit(store, "house rules", Edit(content="No dates."))
    await store.write(blocks.share, made.id, "qa", can_write=False)
    assert await shown(store, "qa") == await shown(store) == {"house rules": "No dates."}
    with pytest.raises(Refused, match="can only be read here"):
        await edit(store, "house rules", Edit(append="x"), editor(persona="qa"))
    await store.write(blocks.share, made.id, "qa", can_write=True)
    await edit(store, "house rules", Edit(append="No promises."), editor(persona="qa"))
    assert await shown(store) == {"house rules": "No dates.\nNo promises."}
    for persona, project in (("seo", PROJECT), ("coder", OTHER)):
        assert await shown(store, persona, project) == {}


async def test_a_block_is_not_shared_where_one_of_its_name_is(store: Store) -> None:
    made = await edit(store, "plan", Edit(content="Mine."))
    await edit(store, "plan", Edit(content="Theirs."), editor(persona="qa"))
    with pytest.raises(Conflict, match="`qa` has a block `plan` of its own"):
        await store.write(blocks.share, made.id, "qa", can_write=False)
    for number in range(MOST_BLOCKS):
        await edit(store, f"block {number}", Edit(content="x"), editor(persona="seo"))
    with pytest.raises(UsageError, match="as many as fit"):
        await store.write(blocks.share, made.id, "seo", can_write=False)
    with pytest.raises(NotFound, match="no block `blk_x`"):
        await store.write(blocks.share, "blk_x", "qa", can_write=False)


async def test_any_version_of_a_block_can_be_restored(store: Store) -> None:
    made = await edit(store, "human", Edit(content="Ann."), editor(labels=("untrusted",)))
    await edit(store, "human", Edit(content="Bob."))
    assert await store.write(blocks.restore, made.id, 1, ANN, after(1)) == 3
    (block,) = await store.read(blocks.held, PROJECT, "coder")
    assert (block.content, block.version) == ("Ann.", 3)
    assert block.labels == {"untrusted", "private"}
    assert [row.content["content"] for row in await store.read(memory_versions.of, made.id)] == ["Ann.", "Bob.", "Ann."]
    with pytest.raises(NotFound, match="has no version 7"):
        await store.write(blocks.restore, made.id, 7, ANN, after(1))
