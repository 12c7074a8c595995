"""`reset` in a chat: the conversation of who says it, where they say it, begins anew."""

from typing import Any

from interlock.store.runs import traces
from tests.contract.desk.front import ANA, BEN, VIC, Front, text_of
from tests.contract.store.furniture import markers_of


async def agents_of(front: Front) -> list[str]:
    """Those that people talked with, in order."""
    runs = [run for run in await front.box.runtime.store.read(traces.runs) if run.kind == "chat"]
    return list(dict.fromkeys(run.agent_id for run in sorted(runs, key=lambda run: (run.created_at, run.id))))


async def marks(front: Front, agent_id: str) -> list[str]:
    """The kinds of an agent's markers."""
    found: list[Any] = await front.box.runtime.store.read(markers_of, agent_id)
    return [marker.kind for marker in found]


async def test_who_says_it_begins_anew_and_nobody_else(front: Front) -> None:
    await front.say("@research what did you find?", ANA)
    await front.say("@research and for me?", BEN)
    anas, bens = await agents_of(front)
    assert "research begins anew" in text_of(await front.say("reset research", ANA))
    assert await marks(front, anas) == ["start", "reset"]
    assert await marks(front, bens) == ["start"]


async def test_it_needs_a_name_that_one_has_talked_with_and_more_than_a_viewer(front: Front) -> None:
    await front.say("@research what did you find?", ANA)
    (agent_id,) = await agents_of(front)
    assert "no agent `nobody` has worked here" in text_of(await front.say("reset nobody", ANA))
    assert "you have not talked with `research`" in text_of(await front.say("reset research", BEN))
    assert "viewer" in text_of(await front.say(f"reset {agent_id}", VIC))
    assert await marks(front, agent_id) == ["start"]
