"""A squad that chats: people and agents in channels, on a stage; the test provides the model's answers."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from interlock.agents.persona import PersonaSet, load_personas
from interlock.agents.runtime import Runtime
from interlock.desk.context import Person
from interlock.desk.workspace_chat import rooms
from interlock.llm.messages import ModelRequest, ToolUse
from interlock.llm.prices import PriceTable
from interlock.policy.in_force import InForce
from interlock.policy.rules import Policy
from interlock.settings import load_settings
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.runs import traces
from interlock.testing import FakeClock
from interlock.testing.runtime import OneModel
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.builtin import builtin_tools
from interlock.tools.contract import Tool
from interlock.tools.registry import Toolbox
from interlock.tools.workspace import Workspaces
from tests.contract.runner.stage import Stage

Says = Callable[[str, ModelRequest], Any]
"""What the agent of a persona does in a turn, in a call of its model."""
NAMES = ("Ada", "Bob")


@dataclass
class House:
    """People, and channels by name."""

    stage: Stage
    ada: Person
    bob: Person

    async def channel(
        self, name: str = "launch", *personas: str, kind: str = "channel", people: Sequence[str] = ()
    ) -> str:
        """A new channel created by Ada; its id."""
        made = await rooms.create(self.stage.runtime, self.ada, name, kind=kind, members=[*people, *personas])
        return str(made["id"])

    async def say(self, channel: str, text: str, who: Person | None = None, **more: Any) -> dict[str, Any]:
        """Somebody, usually Ada, posts a message."""
        return await rooms.say(self.stage.runtime, who or self.ada, channel, text, **more)

    async def said(self, channel: str, **more: Any) -> list[tuple[str, str]]:
        """Authors and texts of a channel's messages."""
        found = await rooms.history(self.stage.runtime, self.ada, channel, **more)
        return [(each["name"], each["text"]) for each in found]

    async def runs(self) -> list[Any]:
        """All runs, oldest first."""
        return (await self.stage.store.read(traces.runs))[::-1]


def persona_of(request: ModelRequest) -> str:
    """The persona whose turn a request belongs to."""
    text = "\n".join(part.text for part in request.system)
    return text.partition("(`")[2].partition("`)")[0]


def woke(request: ModelRequest) -> str:
    """The message that started the run, as its model reads it."""
    return request.messages[0].text


def in_turn(says: Says) -> Callable[[ModelRequest], Any]:
    """A model for all agents: each does what `says` returns in the first call of its turn, and ends with the next."""

    def answer(request: ModelRequest) -> Any:
        if request.messages[-1].role == "user" and len(request.messages) > 1:
            return "That was all."
        return says(persona_of(request), request)

    return answer


def speaks(text: str, **where: Any) -> ToolUse:
    """An agent posts a message."""
    return calls("send_message", text=text, **where)


def silent() -> ToolUse:
    """An agent does nothing."""
    return calls("do_nothing", reason="others have said it")


@cache
def _company() -> PersonaSet:
    """The personas, none of which runs out of money; loaded once."""
    found = load_personas(True, [], known_tools=frozenset(_builtin().names))
    more = {"chat_run_usd": 5.0, "daily_usd": 500.0}
    rich = {
        name: each.model_copy(update={"budget": each.budget.model_copy(update=more)})
        for name, each in found.personas.items()
    }
    return replace(found, personas=rich)


@cache
def _builtin() -> Toolbox:
    return Toolbox(builtin_tools())


def _toolbox(tools: Iterable[Tool]) -> Toolbox:
    """The built-in tools, created once, before any project has used them; with additional `tools`."""
    if more := list(tools):
        return Toolbox([*builtin_tools(), *more])
    found = copy(_builtin())
    found.met = {}
    return found


@cache
def _prices() -> PriceTable:
    return PriceTable.load()


async def housed(
    store: Store, home: Path, says: Says, *, tools: Iterable[Tool] = (), **settings: Any
) -> House:  # fmt: skip
    """A house with the operators Ada and Bob; the project has money."""
    given = {"home": home, "database_url": store.url, "project_day_usd": 1_000.0, **settings}
    clock, model, found = FakeClock(), ScriptedModel(otherwise=in_turn(says)), load_settings(home, {}, given)
    runtime = Runtime(
        settings=found, clock=clock, store=store, in_force=InForce(Policy.builtin()), personas=_company(),
        models=OneModel(model), prices=_prices().on(lambda: clock.now().date()),
        toolbox=_toolbox(tools), workspaces=Workspaces(found.home, store),
    )  # fmt: skip
    await store.write(squad.ensure_project, "default", "UTC", clock.now())
    people = [await store.write(squad.ensure_person, f"test:{name}", name, "operator", clock.now()) for name in NAMES]
    ada, bob = (Person(row.id, row.name, row.role, "test") for row in people)
    return House(Stage(runtime, model, clock, ada), ada, bob)
