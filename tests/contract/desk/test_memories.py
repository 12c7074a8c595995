"""People see what agents remember, with every version, restore it, put it away, share it, and have it erased."""

from dataclasses import replace
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.desk.agents import memories
from interlock.desk.context import Person
from interlock.desk.identities import people, personal
from interlock.desk.reading.finding import Unknown
from interlock.memory import archive, blocks
from interlock.memory.archive import Note
from interlock.memory.blocks import Edit, Editor
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.tx import Tx
from tests.contract.desk.test_personal import everything

ANN = "Ann Zweig"


async def remember(box: Interlock, text: str, **more: Any) -> str:
    now = box.runtime.clock.now()
    given = {"project_id": box.runtime.settings.project, "persona": "coder", "type": "fact", "text": text, **more}

    def keep(tx: Tx) -> str:
        squad.ensure_project(tx, given["project_id"], "UTC", now)
        return archive.keep(tx, Note(**given), SYSTEM, "because", now).id

    return await box.runtime.store.write(keep)


async def write(box: Interlock, label: str, content: str, persona: str = "coder") -> str:
    now, project = box.runtime.clock.now(), box.runtime.settings.project

    def edit(tx: Tx) -> str:
        squad.ensure_project(tx, project, "UTC", now)
        who = Editor(project_id=project, persona=persona, author=Actor(ActorKind.AGENT, "agt"))
        return blocks.edit(tx, who, label, Edit(content=content), "because", now).id

    return await box.runtime.store.write(edit)


async def test_memories_and_blocks_are_found_by_words_persona_and_type(box: Interlock) -> None:
    await remember(box, "The kiosk is blue.", importance=0.4)
    await remember(box, "The kiosk is closed.", persona="qa", importance=0.3)
    await remember(box, "kiosk", rehearsal=True, importance=0.2)
    block = await write(box, "places", "The kiosk and the park.")
    rows = await memories.search(box.runtime, box.person, "kiosks")
    assert {(row["what"], row["persona"], row["rehearsal"]) for row in rows} == {
        ("block", "coder", False), ("memory", "coder", False), ("memory", "qa", False), ("memory", "coder", True),
    }  # fmt: skip
    assert rows[0]["id"] == block
    assert [row["text"] for row in await memories.search(box.runtime, box.person, persona="qa")] == [
        "The kiosk is closed."
    ]
    found = await memories.search(box.runtime, box.person, kind="block")
    assert [row["text"] for row in found] == ["places: The kiosk and the park."]
    assert await memories.search(box.runtime, box.person, "submarine") == []
    assert await memories.search(box.runtime, box.person, "submarine", persona="finance") == []
    with pytest.raises(NotFound, match="no project `elsewhere`"):
        await memories.search(box.runtime, box.person, project="elsewhere")
    with pytest.raises(NotFound, match="no agent `nobody`"):
        await memories.search(box.runtime, box.person, persona="nobody")
    with pytest.raises(UsageError, match="not a type of memory"):
        await memories.search(box.runtime, box.person, kind="rumour")


async def test_versions_are_shown_and_restored_and_that_is_on_record(box: Interlock) -> None:
    ident = await remember(box, "The kiosk is blue.", importance=0.4)
    await remember(box, "The kiosk is blue.", importance=0.8)
    versions = await memories.versions(box.runtime, box.person, ident[-8:])
    assert [(v["version"], v["content"]["importance"], v["reason"]) for v in versions] == [
        (1, 0.4, "because"), (2, 0.8, "kept again: because"),
    ]  # fmt: skip
    back = await memories.restore(box.runtime, box.person, ident, 1)
    assert (back["importance"], back["version"]) == (0.4, 3)
    versions = await memories.versions(box.runtime, box.person, ident)
    assert (versions[-1]["author"], versions[-1]["reason"]) == (box.person.name, "restored version 1")
    actions = [row.action for row in await box.runtime.store.read(audit.activities)]
    assert "MEMORY_RESTORED" in actions


async def test_blocks_are_restored_too(box: Interlock) -> None:
    ident = await write(box, "places", "one")
    await write(box, "places", "two")
    await memories.restore(box.runtime, box.person, ident, 1)
    shown = await memories.show(box.runtime, box.person, ident)
    assert (shown["what"], shown["content"], shown["version"]) == ("block", "one", 3)
    assert shown["holders"] == [{"persona": "coder", "can_write": True}]


async def test_memory_that_is_wrong_is_put_away_with_a_reason(box: Interlock) -> None:
    ident = await remember(box, "The kiosk is blue.")
    with pytest.raises(UsageError, match="say why"):
        await memories.forget(box.runtime, box.person, ident, " ")
    assert (await memories.forget(box.runtime, box.person, ident, "it is green"))["archived_at"] is not None
    assert await memories.search(box.runtime, box.person, "kiosk") == []
    with pytest.raises(Conflict, match="put away already"):
        await memories.forget(box.runtime, box.person, ident, "it is green")
    block = await write(box, "places", "one")
    with pytest.raises(UsageError, match="is a block"):
        await memories.forget(box.runtime, box.person, block, "x")


async def test_blocks_are_shared_and_taken_back(box: Interlock) -> None:
    ident = await write(box, "places", "one")
    shown = await memories.share(box.runtime, box.person, ident, "qa")
    assert shown["holders"] == [{"persona": "coder", "can_write": True}, {"persona": "qa", "can_write": False}]
    assert (await memories.search(box.runtime, box.person, persona="qa"))[0]["id"] == ident
    assert len((await memories.share(box.runtime, box.person, ident, "qa", off=True))["holders"]) == 1
    with pytest.raises(UsageError, match="does not have the block"):
        await memories.share(box.runtime, box.person, ident, "qa", off=True)
    memory = await remember(box, "kiosk")
    with pytest.raises(UsageError, match="only blocks can be shared"):
        await memories.share(box.runtime, box.person, memory, "qa")


async def test_viewers_look_but_not_into_what_others_talked_about(box: Interlock, viewer: Person) -> None:
    other = replace(viewer, id="per_other")
    ident = await remember(box, "Ann said: kiosk", type="conversation", person_id=viewer.id)
    assert [row["id"] for row in await memories.search(box.runtime, viewer, "kiosk")] == [ident]
    assert await memories.search(box.runtime, other, "kiosk") == []
    with pytest.raises(Refused):
        await memories.show(box.runtime, other, ident)
    fact = await remember(box, "kiosk fact")
    assert (await memories.show(box.runtime, other, fact))["text"] == "kiosk fact"
    for refused in (
        memories.restore(box.runtime, viewer, fact, 1), memories.forget(box.runtime, viewer, fact, "x"),
        memories.share(box.runtime, viewer, fact, "qa"),
    ):  # fmt: skip
        with pytest.raises(Refused):
            await refused


async def test_what_is_not_there_is_told(box: Interlock) -> None:
    with pytest.raises(Unknown, match="no memory or block `mem_nothing`: `interlock memory search`"):
        await memories.show(box.runtime, box.person, "mem_nothing")
    ident = await remember(box, "kiosk")
    with pytest.raises(NotFound, match=f"`interlock memory versions {ident}` lists them"):
        await memories.restore(box.runtime, box.person, ident, 9)


async def test_what_a_person_said_is_exported_and_erased_and_their_name_with_it(box: Interlock) -> None:
    ann = await people.add(box.runtime, box.person, ANN)
    await people.link(box.runtime, box.person, ANN, "slack:UANNZ")
    for number in range(3):
        await remember(box, f"{ANN}: I prefer tea{number}", person_id=ann["id"])
    told = await remember(box, f"{ANN} owns the kiosk (slack:UANNZ).")
    block = await write(box, "people", f"{ANN} and Ann Zweigert.")
    await write(box, "people", f"{ANN} and Ann Zweigert, née Ångström.")
    found = await personal.export(box.runtime, box.person, ANN)
    assert len(found["memories"]) == 3
    assert [row["id"] for row in found["memory_blocks"]] == [block]
    done = await personal.erase(box.runtime, box.person, ANN)
    rows = await everything(box)
    assert (ANN + " " in rows, "UANNZ" in rows, "tea1" in rows) == (False, False, False)
    assert (await memories.show(box.runtime, box.person, told))["text"] == f"{done['name']} owns the kiosk ([erased])."
    assert (await memories.show(box.runtime, box.person, block))["content"].startswith(
        f"{done['name']} and Ann Zweigert"
    )
    assert [row["id"] for row in await memories.search(box.runtime, box.person, "kiosk")] == [told]
