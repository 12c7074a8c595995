"""What the system prompt of a run is built from, gathered from its session; `prompt` builds it."""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from interlock.agents.prompts.background import failure
from interlock.agents.prompts.bootstrap import NOTHING, Bootstrap
from interlock.agents.prompts.prompt import LessonNote, PromptData, mode_of
from interlock.agents.prompts.prompt_input import Mode, Place
from interlock.agents.running.session import Session
from interlock.agents.special import learning, rounds, routing, voting
from interlock.policy.learning.lesson_rules import UNTRUSTED, disputes

HEARTBEAT = "HEARTBEAT.md"
WITHOUT_FILES = frozenset({learning.KIND, voting.KIND, routing.KIND})
"""Kinds of runs that judge or choose, and are told nothing of how work is to be done."""


async def prompt_data(session: Session, lessons: Sequence[Any], now: datetime) -> PromptData:
    """The data for the layers of a run's system prompt; `lessons` are rows. It names each source that failed."""
    brief, runtime, persona = session.brief, session.runtime, session.persona
    descriptor, background = brief.agent.descriptor, brief.background
    mode = mode_of(persona.prompt_mode, descriptor.get("kind", ""))
    bootstrap, failures = await _bootstrap(session, mode)
    notes = {row.id: _note(row, lessons) for row in lessons}
    promoted = tuple(notes[row.id] for row in lessons if row.status == "promoted")
    return PromptData(
        persona=persona,
        tools=session.tools,
        now=now,
        agent_id=brief.agent.id,
        project=brief.run.project_id,
        model=str(session.ref),
        timezone=brief.project.timezone,
        rules=promoted,
        lessons=tuple(notes[row.id] for row in lessons if row.status != "promoted"),
        max_turns=session.max_turns,
        run_budget_microusd=persona.run_microusd(chat=session.is_chat),
        failures=(*background.failures, *failures),
        text_is_delivered=session.is_chat and rounds.is_delivered(brief.run),
        mode=mode,
        place=_place(descriptor, brief.run),
        host=_host(),
        codebase=bootstrap.codebase,
        heartbeat_s=_heartbeat_s(session, descriptor, bootstrap),
        files=bootstrap.files,
        left_out=bootstrap.left_out,
        blocks=background.blocks,
        memories=background.memories,
        tasks=background.tasks,
        said=background.said,
        extra=str(brief.run.payload.get("extra") or ""),
        clean=runtime.sources.clean,
        clean_lines=runtime.sources.clean.lines,
    )


async def _bootstrap(session: Session, mode: Mode) -> tuple[Bootstrap, tuple[str, ...]]:
    if mode == "none" or session.brief.run.kind in WITHOUT_FILES:
        return NOTHING, ()
    try:
        found = await session.runtime.sources.folder.look()
    except Exception as error:  # noqa: BLE001 - a lesser prompt is better than no run: row F4
        return NOTHING, (failure("bootstrap", error),)
    settings = session.runtime.settings
    if session.brief.agent.descriptor.get("kind") == "heartbeat" and settings.heartbeat.file == (
        settings.bootstrap / HEARTBEAT
    ):
        said = "it is in the message"
        rest = tuple(file for file in found.files if file.name != HEARTBEAT)
        return Bootstrap(rest, (*found.left_out, (HEARTBEAT, said)), found.codebase), ()
    return found, ()


def _heartbeat_s(session: Session, descriptor: Mapping[str, Any], bootstrap: Bootstrap) -> float | None:
    settings = session.runtime.settings.heartbeat
    is_asked = descriptor.get("kind") == "heartbeat" or (
        session.persona.name == settings.persona and any(file.name == HEARTBEAT for file in bootstrap.files)
    )
    return settings.every_s if is_asked else None


def _place(descriptor: Mapping[str, Any], run: Any) -> Place:
    kind, connector = str(descriptor.get("kind", "")), str(descriptor.get("connector", ""))
    if run.channel_id is not None:
        return Place("room", connector, str(run.payload.get("room") or ""))
    return Place("" if kind == "room" else kind, connector)


@lru_cache(maxsize=1)
def _host() -> str:
    return f"{platform.system()} {platform.machine()}"


def _note(row: Any, lessons: Sequence[Any]) -> LessonNote:
    against = [other.evidence_at for other in disputes(row, lessons)]
    return LessonNote(
        row.id, row.kind, row.rule, row.confidence, row.status == "probation",
        is_untrusted=UNTRUSTED in row.labels,
        disputed=("newer" if row.evidence_at > max(against) else "older") if against else "",
    )  # fmt: skip
