"""What the system prompt of a run is built from, gathered from its session; how it reads is `prompt`'s matter."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.agents.prompt import LessonNote, PromptData
from interlock.agents.session import Session
from interlock.policy.lesson_rules import UNTRUSTED, disputes


def prompt_data(session: Session, lessons: Sequence[Any], now: datetime) -> PromptData:
    """What the layers of a run's system prompt draw on; `lessons` are rows."""
    brief = session.brief
    notes = {row.id: _note(row, lessons) for row in lessons}
    promoted = tuple(notes[row.id] for row in lessons if row.status == "promoted")
    return PromptData(
        persona=session.persona,
        tools=session.tools,
        now=now,
        agent_id=brief.agent.id,
        project=brief.run.project_id,
        model=str(session.ref),
        timezone=brief.project.timezone,
        rules=promoted,
        lessons=tuple(notes[row.id] for row in lessons if row.status != "promoted"),
        max_turns=session.max_turns,
        run_budget_microusd=session.persona.run_microusd(chat=session.is_chat),
        text_is_delivered=session.is_chat,
    )


def _note(row: Any, lessons: Sequence[Any]) -> LessonNote:
    against = [other.evidence_at for other in disputes(row, lessons)]
    return LessonNote(
        row.id, row.kind, row.rule, row.confidence, row.status == "probation",
        is_untrusted=UNTRUSTED in row.labels,
        disputed=("newer" if row.evidence_at > max(against) else "older") if against else "",
    )  # fmt: skip
