"""A squad that talks: people and agents in channels, over a stage; what its model says is the test's. No test here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlock.agents.persona import Persona
from interlock.desk import rooms
from interlock.desk.office import Person
from interlock.llm.messages import ModelRequest, ToolUse
from interlock.store import squad, traces
from interlock.store.engine import Store
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import Stage, staged

Says = Callable[[str, ModelRequest], Any]
"""What the agent of a persona does in a turn, in a call of its model."""
NOTHING = "nothing_to_add"


@dataclass
class House:
    """People, and channels by name."""

    stage: Stage
    ada: Person
    bob: Person

    async def channel(
        self, name: str = "launch", *personas: str, kind: str = "channel", people: Sequence[str] = ()
    ) -> str:
        """A new channel of Ada's; its id."""
        made = await rooms.create(self.stage.runtime, self.ada, name, kind=kind, members=[*people, *personas])
        return str(made["id"])

    async def say(self, channel: str, text: str, who: Person | None = None, **more: Any) -> dict[str, Any]:
        """Somebody, usually Ada, says something."""
        return await rooms.say(self.stage.runtime, who or self.ada, channel, text, **more)

    async def said(self, channel: str, **more: Any) -> list[tuple[str, str]]:
        """Who has said what in a channel."""
        found = await rooms.history(self.stage.runtime, self.ada, channel, **more)
        return [(each["name"], each["text"]) for each in found]

    async def runs(self) -> list[Any]:
        """All runs, oldest first."""
        return (await self.stage.store.read(traces.runs))[::-1]


def persona_of(request: ModelRequest) -> str:
    """Whose turn a request is of."""
    text = "\n".join(part.text for part in request.system)
    return text.partition("(`")[2].partition("`)")[0]


def woke(request: ModelRequest) -> str:
    """What the run was woken by, as its model reads it."""
    return request.messages[0].text


def in_turn(says: Says) -> Callable[[ModelRequest], Any]:
    """A model for all agents: each does in the first call of its turn what `says` has it do, and ends with the next."""

    def answer(request: ModelRequest) -> Any:
        if request.messages[-1].role == "user" and len(request.messages) > 1:
            return "That was all."
        return says(persona_of(request), request)

    return answer


def speaks(text: str, **where: Any) -> ToolUse:
    """An agent says something."""
    return calls("send_message", text=text, **where)


def silent() -> ToolUse:
    """An agent has nothing to say."""
    return calls("do_nothing", reason="others have said it")


def _wealthy(stage: Stage) -> dict[str, Persona]:
    """The personas, none of whom has to ask for money."""
    known = stage.runtime.personas.personas
    more = {"chat_run_usd": 5.0, "daily_usd": 500.0}
    return {
        name: each.model_copy(update={"budget": each.budget.model_copy(update=more)}) for name, each in known.items()
    }


async def housed(store: Store, home: Path, says: Says, **settings: Any) -> House:
    """A house with Ada and Bob, who operate; the project has money."""
    settings = {"project_day_usd": 1_000.0, **settings}
    stage = await staged(store, home, ScriptedModel(otherwise=in_turn(says)), **settings)
    stage.runtime = replace(stage.runtime, personas=replace(stage.runtime.personas, personas=_wealthy(stage)))
    bob = await store.write(squad.ensure_person, "test:bob", "Bob", "operator", stage.clock.now())
    return House(stage, stage.ada, Person(bob.id, bob.name, bob.role, "test"))
