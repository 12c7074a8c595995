"""Lessons: what the Learner answers is checked, kept once, and shown to the next run that it fits."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.core.ids import new_id
from interlock.llm.messages import Reply, StopReason
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.knowledge import lessons
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.squad import Descriptor
from interlock.testing.scripted import ScriptedModel, reply_of
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, staged


def lesson(evidence: Any, rule: str = "Check the totals twice.", **more: Any) -> dict[str, Any]:
    """A lesson as a Learner writes it."""
    return {"kind": "fix", "rule": rule, "confidence": 0.6, "evidence": evidence, **more}


def answer(*found: Any) -> str:
    """A Learner's answer with some words around it."""
    return f"Here is what I learned:\n```json\n{json.dumps({'lessons': list(found)})}\n```"


async def learned(stage: Stage, text: str | Reply) -> None:
    """Lets the Learner give that answer."""
    stage.model.replies.append(text)
    await stage.store.write(_learn, stage.runtime.personas.personas["learner"].to_json(), stage.clock.now())
    await stage.work()


def _learn(tx: Any, persona: dict[str, Any], now: Any) -> None:
    agent = squad.ensure_agent(
        tx, Descriptor("learn", PROJECT, "learner", {"mission": "m"}), persona, "specialist", now
    )
    message = Post(
        project_id=PROJECT, agent_id=agent.id, kind="learn", payload={"purpose": "learn", "prompt": "learn"},
        idempotency_key=new_id("key"), cause_kind="event",
    )  # fmt: skip
    mailbox.post(tx, message, now)


async def counted(stage: Stage) -> tuple[int, int, int]:
    """How many lessons the last answer brought, how many were known, and how many were left out."""
    row = (await stage.store.read(audit.activities, action="LESSONS_LEARNED"))[-1]
    return row.data["kept"], row.data["seen_again"], row.data["left_out"]


async def evidence(stage: Stage) -> str:
    """A run that exists."""
    stage.model.replies.append("done")
    run = await stage.think()
    await stage.work()
    return run


async def test_run_is_given_as_many_lessons_as_the_settings_say(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), lessons={"shown": 6})
    run = await evidence(stage)
    rules = [f"Ask the {who} before you begin." for who in ("cook", "baker", "miller", "smith", "potter", "tailor")]
    await learned(stage, answer(*(lesson([run], rule) for rule in rules)))
    await evidence(stage)
    prompt = "\n".join(part.text for part in stage.model.requests[-1].system)
    assert [rule in prompt for rule in rules] == [True] * 6


async def test_lesson_is_on_probation_and_shown_to_the_next_run(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await evidence(stage)
    await learned(stage, answer(lesson([run, "run_that_never_was"])))
    (row,) = await store.read(lessons.lessons)
    assert (row.status, row.evidence, row.rule, row.applied_count) == (
        "probation", [run], "Check the totals twice.", 0,
    )  # fmt: skip
    await evidence(stage)
    prompt = "\n".join(part.text for part in stage.model.requests[-1].system)
    assert "Check the totals twice." in prompt
    assert [row.applied_count for row in await store.read(lessons.lessons)] == [1]


@pytest.mark.parametrize(
    "changes",
    [
        {"evidence": ["run_that_never_was"]},
        {"evidence": []},
        {"evidence": "run"},
        {"evidence": [7, None]},
        {"kind": "gossip"},
        {"rule": " "},
        {"rule": "x" * 601},
        {"confidence": 1.5},
        {"confidence": True},
        {"confidence": "high"},
        {"confidence": float("nan")},
    ],
)
async def test_lesson_that_is_not_one_is_left_out(
    store: CountingStore, tmp_path: Path, changes: dict[str, Any]
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await evidence(stage)
    await learned(stage, answer({**lesson([run]), **changes}, lesson([run], "Keep this one.")))
    assert [row.rule for row in await store.read(lessons.lessons)] == ["Keep this one."]
    assert await counted(stage) == (1, 0, 1)


async def test_same_rule_is_kept_once_with_all_its_evidence(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    runs = [await evidence(stage) for _ in range(3)]
    await learned(stage, answer(lesson(runs[:1]), lesson(runs[:2], "check  the TOTALS twice.")))
    await learned(stage, answer(lesson(runs[2:])))
    (row,) = await store.read(lessons.lessons)
    assert (row.rule, row.evidence) == ("Check the totals twice.", runs)
    assert await counted(stage) == (0, 1, 0)


@pytest.mark.parametrize("text", ["nothing to learn", '{"lessons": "none"}', "{broken", '{"lessons": [7]}', "[]"])
async def test_answer_without_lessons_changes_nothing(store: CountingStore, tmp_path: Path, text: str) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await learned(stage, text)
    assert await store.read(lessons.lessons) == []
    (row,) = await store.read(audit.activities, action="LESSONS_LEARNED")
    assert row.data["kept"] == 0


async def test_lessons_of_another_kind_of_work_are_not_shown(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await evidence(stage)
    await learned(
        stage,
        answer(lesson([run], "Only for coders.", persona="coder"), lesson([run], "Only for seo.", task_type="seo")),
    )
    await evidence(stage)
    prompt = "\n".join(part.text for part in stage.model.requests[-1].system)
    assert "Only for coders." not in prompt
    assert "Only for seo." not in prompt


async def test_failed_learner_teaches_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await evidence(stage)
    cut = reply_of(answer(lesson([run])), stop_reason=StopReason.MAX_TOKENS)
    await learned(stage, cut)
    assert await store.read(lessons.lessons) == []
    assert await store.read(audit.activities, action="LESSONS_LEARNED") == []
