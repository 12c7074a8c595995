"""The person an agent answers in a run: the author of the message that started it, in a chat or a channel."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.policy.audience import is_overheard
from interlock.store.schema import Agent, Channel, ChatMessage, Person, Run, table
from interlock.store.tx import Tx

RUNS, SAID, CHANNELS = table(Run), table(ChatMessage), table(Channel)
PEOPLE, AGENTS = table(Person), table(Agent)
_r, _s, _c, _p, _ag = RUNS.c, SAID.c, CHANNELS.c, PEOPLE.c, AGENTS.c
_WHO = sa.case(
    (_r.cause_kind == sa.text("'message'"), _r.cause_id), (_s.author_kind == sa.text("'person'"), _s.author),
    else_=sa.null(),
)  # fmt: skip
_SPEAKER = (
    sa.select(
        _ag.persona,
        _ag.descriptor,
        _r.started_at,
        _r.labels,
        _r.simulated,
        _p.id.label("person_id"),
        _p.name,
        (_p.role == sa.text("'viewer'")).label("is_guest"),
        _c.kind.label("room"),
    )
    .join_from(RUNS, AGENTS, _r.agent_id == _ag.id)
    .join(SAID, _r.trigger_message_id == _s.id, isouter=True)
    .join(CHANNELS, _s.channel_id == _c.id, isouter=True)
    .join(PEOPLE, _p.id == _WHO, isouter=True)
    .where(_r.id == b("run_"))
)


def alone_with(tx: Tx, run_id: str) -> str | None:
    """The person whom a run answers in private."""
    found = speaker(tx, run_id)
    if found is None or found.room not in (None, "dm"):
        return None
    place = found.descriptor
    others_hear = is_overheard(str(place.get("connector", "")), str(place.get("channel", "")))
    return None if others_hear else found.person_id


def speaker(tx: Tx, run_id: str) -> Any | None:
    """Of a run: `person_id` and `name` of whom it answers, None if that is nobody; `is_guest`, if they may only look or
    talk; `room` (channel, private, dm) where it answers in one; `persona`, `started_at`, `labels`, `simulated`.
    """
    return tx.one(_SPEAKER, {"run_": run_id})
