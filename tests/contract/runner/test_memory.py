"""What an agent remembers: with its tools, by itself when a chat ends, and in the next chat. Rows H2 to H4, H7, C11."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.agents.running.interruption import Interruption
from interlock.desk.agents import conversation
from interlock.desk.chats.requests import Place
from interlock.desk.context import Person
from interlock.llm.messages import ToolResult
from interlock.memory import archive, blocks, recall
from interlock.memory.archive import Note
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.knowledge import memories, memory_versions
from interlock.store.schema import Memory, table
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.decorated import tool
from tests.contract.runner.stage import PROJECT, Stage, hand_in, staged, told

MEMORIES = table(Memory)
PERSONA = "operations"


@tool(risk="GREEN", labels=frozenset({"untrusted"}), idempotent=True)
def read_page(url: str) -> str:
    """Fetches a page of the web."""
    return "The kiosk is for sale."


def results(model: ScriptedModel, request: int = -1) -> list[ToolResult]:
    return [block for block in told(model, request) if isinstance(block, ToolResult)]


def said(model: ScriptedModel, request: int = -1) -> list[str]:
    return [
        "".join(part if isinstance(part, str) else str(part) for part in [each.content])
        for each in results(model, request)
    ]


def system(model: ScriptedModel, request: int = -1) -> str:
    return "\n\n".join(part.text for part in model.requests[request].system)


async def kept(stage: Stage, **where: Any) -> list[Any]:
    query = sa.select(MEMORIES).order_by(MEMORIES.c.id)
    for name, value in where.items():
        query = query.where(MEMORIES.c[name] == value)
    return await stage.store.read(lambda tx: tx.rows(query))


async def talk(stage: Stage, text: str = "hello", *replies: Any) -> str:
    stage.model.replies.extend(replies or ["well"])
    run = await stage.chat(text, PERSONA)
    await stage.work()
    return run


async def test_an_agent_uses_all_its_tools_in_a_chat_and_recalls_in_the_next(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    first = await talk(
        stage, "Plan the opening.",
        (
            calls("store_memory", content="The kiosk opens in May.", type="decision", importance=0.8),
            calls("update_memory", label="human", append="Ada plans the kiosk.", reason="she said so"),
        ),
        (
            calls("memory_search", query="kiosks"), calls("search_memories", query="opening of kiosks"),
            calls("recall_memories"), calls("memory_get", id="human"),
        ),
        "noted",
    )  # fmt: skip
    assert (await stage.ended(first), await stage.statuses(first)) == (("completed", "end_turn"), ["done"] * 6)
    searched, same, recalled, block = said(stage.model)
    assert json.loads(searched)["memories"][0]["text"] == "The kiosk opens in May."
    assert json.loads(same)["memories"][0]["id"] == json.loads(recalled)["memories"][0]["id"]
    assert json.loads(block)["memories"][0]["content"] == "Ada plans the kiosk."
    (decision,) = await kept(stage, type="decision")
    assert (decision.persona, decision.person_id, decision.run_id) == (PERSONA, stage.ada.id, first)
    assert decision.uses == 3
    await talk(stage, "When does the kiosk open?")
    shown = system(stage.model)
    assert "### human\nAda plans the kiosk." in shown
    assert "The kiosk opens in May." in shown
    (again,) = await kept(stage, type="decision")
    assert again.uses == 4
    assert "private" in (await stage.run(first)).labels


async def test_memories_are_of_a_persona_and_not_of_one_of_its_conversations(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await talk(stage, "hello", calls("store_memory", content="The kiosk opens in May."), "noted")
    bob = await store.write(squad.ensure_person, "test:bob", "Bob", "operator", stage.clock.now())
    stage.ada = Person(bob.id, bob.name, bob.role, "test")
    await talk(stage, "kiosk?")
    assert "The kiosk opens in May." in system(stage.model)
    stage.model.replies.append("well")
    await stage.chat("kiosk?", "qa")
    await stage.work()
    assert "The kiosk opens in May." not in system(stage.model)


async def test_a_chat_is_remembered_when_it_ends_and_what_was_said_in_it(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await talk(
        stage, "My name is Ada. We use Postgres for the kiosk, and the reports need numbers.", "I see, numbers."
    )
    facts = await kept(stage, type="fact")
    assert [row.text for row in facts] == [
        "Ada: My name is Ada.",
        "Ada: We use Postgres for the kiosk, and the reports need numbers.",
    ]
    (talked,) = await kept(stage, type="conversation")
    assert talked.text.startswith("Ada said: My name is Ada. We use Postgres")
    assert talked.text.endswith("The answer was: I see, numbers.")
    assert {(row.person_id, row.run_id) for row in (*facts, talked)} == {(stage.ada.id, run)}
    (version,) = await store.read(memory_versions.of, talked.id)
    assert (version.author_kind, version.reason) == ("system", f"said in run {run}")
    await talk(stage, "hello")
    assert "Ada: My name is Ada." in system(stage.model)
    assert talked.text[:40] not in system(stage.model)


@pytest.mark.parametrize(
    ("surface", "channel", "is_recalled"),
    [("slack", "D0123ABCD", True), ("slack", "C0123ABCD", False), ("telegram", "42", True), ("telegram", "-42", False)],
)
async def test_a_conversation_is_recalled_where_nobody_else_hears_it(
    store: Store, tmp_path: Path, surface: str, channel: str, is_recalled: bool
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await talk(stage, "Nobody else shall hear of the severance for Bob.", "Agreed: the severance stays between us.")
    stage.ada = replace(stage.ada, surface=surface)
    stage.model.replies.extend([calls("memory_search", query="severance"), "well"])
    await conversation.say(stage.runtime, stage.ada, PERSONA, "severance?", place=Place(surface, channel))
    await stage.work()
    assert ("between us" in system(stage.model)) is is_recalled
    assert ("between us" in said(stage.model)[0]) is is_recalled


@pytest.mark.parametrize("text", ["hello", "thanks a lot!", "?", "👍"])
async def test_small_talk_is_not_remembered(store: Store, tmp_path: Path, text: str) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await talk(stage, text)
    assert await kept(stage) == []


async def test_settings_turn_it_off(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), memory={"save_chats": False})
    await talk(stage, "Remember that we use Postgres for all of the kiosk reports.")
    assert await kept(stage) == []


async def test_what_is_rehearsed_is_not_remembered_as_real(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(simulated=True))
    await talk(
        stage, "Remember that we use Postgres for all of the kiosk reports.",
        (
            calls("store_memory", content="The kiosk opens in May."),
            calls("update_memory", label="human", content="Ada.", reason="x"),
        ),
        calls("memory_search", query="kiosk"),
        "noted",
    )  # fmt: skip
    assert [(row.text, row.scope) for row in await kept(stage)] == [("The kiosk opens in May.", f"~{PERSONA}")]
    assert "would have been changed" in said(stage.model, 1)[1]
    assert "The kiosk opens in May." in said(stage.model)[0]
    assert await store.read(blocks.held, PROJECT, PERSONA) == []


async def test_a_chat_that_failed_is_not_remembered(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(RuntimeError("broken")))
    await talk(stage, "Remember that we use Postgres for all of the kiosk reports.", RuntimeError("broken"))
    assert await kept(stage) == []


async def test_secrets_are_neither_kept_by_the_agent_nor_by_itself(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    key = "sk-proj-abcdef1234567890abcdef"
    run = await talk(
        stage, f"Remember that the deploy key is {key}. We use it for every kiosk report there is.",
        (
            calls("store_memory", content=f"The key is {key}"),
            calls("update_memory", label="keys", append=f"key: {key}", reason="x"),
        ),
        "done",
    )  # fmt: skip
    assert await stage.statuses(run) == ["refused", "refused"]
    assert all("looks like a secret" in each for each in said(stage.model))
    rows = await kept(stage)
    assert [row.type for row in rows] == ["fact", "conversation"]
    assert all(key not in row.text for row in rows)
    assert await store.read(blocks.held, PROJECT, PERSONA) == []


async def test_what_strangers_had_a_hand_in_stays_marked_for_who_recalls_it(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), tools=[read_page])
    stage.model.replies += [
        calls("read_page", url="https://a.example"),
        (
            calls("store_memory", content="The kiosk is for sale."),
            calls("update_memory", label="news", append="The kiosk is for sale.", reason="x"),
        ),
        (hand_in("done"),),
        "done",
    ]
    run = await stage.task()
    await stage.work()
    assert await stage.statuses(run) == ["done"] * 4
    (row,) = await kept(stage)
    assert (row.labels, row.person_id) == (["untrusted"], None)
    run = await talk(stage, "kiosk?", calls("memory_search", query="kiosk"), "well")
    assert {"untrusted", "private"} <= set((await stage.run(run)).labels)
    assert said(stage.model)[0].startswith('<untrusted source="memory">')


async def test_no_tool_reaches_what_is_anothers(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    now = stage.clock.now()
    await store.write(squad.ensure_project, "elsewhere", "UTC", now)
    ids = []
    for project, persona in (("elsewhere", PERSONA), (PROJECT, "qa")):
        note = Note(project_id=project, persona=persona, type="fact", text="kiosk", importance=0.9)
        ids.append((await store.write(archive.keep, note, stage.ada.actor, "x", now)).id)
    run = await talk(
        stage, "kiosk", (calls("memory_search", query="kiosk"), *(calls("memory_get", id=each) for each in ids)), "well"
    )
    assert await stage.statuses(run) == ["done", "failed", "failed"]
    assert said(stage.model)[0] == "nothing is remembered that fits: try other or fewer words"


async def test_mistakes_are_reported_and_nothing_is_written(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    mistakes = (
        calls("update_memory", label="a", reason="x"),
        calls("update_memory", label="a", content="x", append="y", reason="x"),
        calls("update_memory", label="a", old="x", reason="x"),
        calls("update_memory", label="a", old="x", new="y", reason="x"),
        calls("store_memory", content="  "),
        calls("memory_get", id="mem_x"),
    )
    run = await talk(stage, "hello", mistakes, "well")
    assert await stage.statuses(run) == ["failed"] * 6
    assert await kept(stage) == []
    assert await store.read(blocks.held, PROJECT, PERSONA) == []


async def test_a_conflict_is_reported_with_the_current_content_of_the_block(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await talk(stage, "hello", calls("update_memory", label="plan", content="mine", reason="x"), "noted")

    async def meanwhile(_: Any) -> Any:
        who = blocks.Editor(project_id=PROJECT, persona=PERSONA, author=stage.ada.actor)
        later = stage.clock.now()
        await store.write(blocks.edit, who, "plan", blocks.Edit(content="theirs"), "x", later)
        return calls("update_memory", label="plan", content="mine again", reason="x")

    run = await talk(
        stage, "hello", meanwhile, calls("update_memory", label="plan", content="both", version=2, reason="x"), "noted"
    )
    assert await stage.statuses(run) == ["failed", "done"]
    assert "it is now version 2 and reads: theirs" in said(stage.model, -2)[0]
    (block,) = await store.read(blocks.held, PROJECT, PERSONA)
    assert (block.content, block.version) == ("both", 3)


async def test_a_run_that_is_cut_off_and_goes_on_remembers_once(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    stage.model.replies += [calls("store_memory", content="The kiosk opens in May."), _hang]
    run = await stage.chat("Remember that we use Postgres for all of the kiosk reports.", PERSONA)
    await stage.cut(await stage.take(run), Interruption.SHUTDOWN, at_request=2)
    stage.model.replies[:] = ["noted"]
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert [(row.type, row.uses) for row in await kept(stage)] == [("fact", 0), ("fact", 0), ("conversation", 0)]
    assert all(row.version == 1 for row in await kept(stage))


async def _hang(_: Any) -> Any:
    await asyncio.Event().wait()


async def test_an_archived_memory_is_shown_to_nobody(store: Store, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await talk(stage, "hello", calls("store_memory", content="The kiosk opens in May.", importance=0.9), "noted")
    (row,) = await kept(stage)
    await store.write(archive.forget, row.id, stage.ada.actor, "wrong", stage.clock.now())
    run = await talk(stage, "kiosk", (calls("recall_memories", query="kiosk"), calls("memory_get", id=row.id)), "well")
    assert await stage.statuses(run) == ["done", "failed"]
    assert await store.read(lambda tx: recall.recall(tx, PROJECT, PERSONA, "kiosk", stage.clock.now())) == []
    away = await store.read(memories.memory, row.id)
    assert away is not None
    assert away.archived_at is not None
