"""Text that is addressed to nobody: passed on by what its words say, else by a model's word; the choice is shown.

INVARIANT: a message is passed on once, in the transaction that makes the choice, whatever happens to this process.
How a choice is made is `agents.routing`'s. Source: row A13.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from interlock.agents import routing
from interlock.agents.context import Runtime
from interlock.agents.persona import COORDINATOR, Persona
from interlock.agents.routing import KIND, MISSION, PERSONA, WORKFLOW, Candidate, Choice
from interlock.core.errors import UsageError
from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS, microusd
from interlock.desk import conversation, goals, workflows
from interlock.desk.cards import Card
from interlock.desk.office import Office, Person, require_operator
from interlock.desk.replies import said
from interlock.desk.requests import Place
from interlock.graph.applying import POLICY
from interlock.graph.launch import Launch, launch
from interlock.graph.workflow import Workflow
from interlock.llm.messages import ModelRef
from interlock.policy import checks
from interlock.settings import Settings
from interlock.store import audit, conversations, coordination, mailbox, outbox, people, routed, squad, traces
from interlock.store.approvals import ROLES_THAT_ANSWER
from interlock.store.conversations import Origin
from interlock.store.mailbox import Post
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx

ROUTED = "MESSAGE_ROUTED"
LEAST = 0.5
"""Below it nobody is bothered on a model's guess: the person is asked."""
MOST_WORKFLOWS = 20
REMEMBERED = timedelta(hours=12)
"""For so long `no, finance` means the last message."""
_NO_LONGER = Choice(routing.NOBODY, "", 0.0, "whoever said it may no longer talk to agents")
DELIVERED, STARTED, ASKED, PENDING = "delivered", "started", "asked", "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What became of a text."""

    target: str
    """A persona's name, `workflow NAME`, `mission`, or `nobody`; empty while a model is being asked."""
    confidence: float
    why: str
    status: str
    """delivered, started (a mission), asked (the person is to say who), or pending (a model is asked)."""
    run_id: str | None = None
    """The chat that was posted."""
    mission_id: str | None = None
    route_run_id: str | None = None
    """The run in which a model was asked."""

    @property
    def line(self) -> str:
        """As people are shown it: ``→ research (0.93: `compare`)``."""
        kind = self.target if self.target in (MISSION, routing.NOBODY) else PERSONA
        return Choice(kind, self.target, self.confidence, self.why).line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text that is on its way, as the payload of a run keeps it."""

    text: str
    person: Mapping[str, str]
    project: str
    key: str
    place: Mapping[str, Any] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each name that may be chosen."""
    workflows: Mapping[str, Any] = field(default_factory=dict)
    """Those that may be started, as they were when the text came."""
    model: str | None = None
    simulated: bool = False

    @property
    def who(self) -> Person:
        """Who said it."""
        return Person(**self.person)

    @property
    def there(self) -> Place | None:
        """Where it was said."""
        return None if self.place is None else Place(**self.place)


async def route(
    runtime: Runtime,
    person: Person,
    text: str,
    *,
    project: str | None = None,
    place: Place | None = None,
    idempotency_key: str | None = None,
) -> Routed:
    """Passes a text on to whom it is for; the same key passes it on once.

    A trigger pattern that is sure enough (`routing.confidence`) decides at no cost. Else a model is asked in a run of
    its own, whose end passes the text on; then the choice is told where the text was said, and `outcome` has it.

    Raises Refused for a viewer, UsageError for an empty or too long text, or if no model can be asked.
    """
    require_operator(person, "talk to agents")
    conversation.message_of(text)
    within = project or runtime.settings.project
    flows = await asyncio.to_thread(_startable, runtime.settings, runtime.personas.personas, within)
    known = routing.candidates(
        runtime.personas.personas,
        [Candidate(WORKFLOW, flow.name, flow.title, flow.triggers) for flow in flows.values()],
    )
    ref = _usable(runtime, runtime.settings.model)
    on_its_way = _Text(
        text=text, person=asdict(person), project=project or runtime.settings.project,
        key=idempotency_key or new_id("say"), place=None if place is None else asdict(place),
        kinds={each.name: each.kind for each in known},
        workflows={name: flow.to_json() for name, flow in flows.items()},
        model=None if ref is None else str(ref),
        simulated=ref is not None and (await runtime.models.get(ref)).simulated,
    )  # fmt: skip
    choice = routing.best(text, known)
    if choice.confidence >= runtime.settings.routing.confidence:
        passer = Passer(runtime.personas.personas, runtime.settings, runtime.policy.checks)
        return await runtime.store.write(passer.decided, on_its_way, choice, runtime.clock.now())
    return await _ask_model(runtime, on_its_way, routing.question(text, known))


async def is_known(office: Office, idempotency_key: str) -> bool:
    """Whether a text with this key was on its way through here before: then `route` has it where it is, and whoever was
    talked with since is not who it is for.
    """
    keys = (f"routed:{idempotency_key}", f"route:{idempotency_key}")
    return await office.store.read(lambda tx: any(routed.by_key(tx, key) for key in keys))


async def correct(runtime: Runtime, person: Person, persona: str, text: str, *, place: Place, key: str) -> str | None:
    """Passes on what somebody sets right (`no, finance`): what they say with it, else what they said last here.

    Returns the run's id; None if they have said nothing here that could be meant.

    Raises Refused, UsageError.
    """
    require_operator(person, "talk to agents")
    since = runtime.clock.now() - REMEMBERED
    words = text or await runtime.store.read(_last_said, person.id, place, since)
    if not words:
        return None
    return await conversation.say(runtime, person, persona, words, idempotency_key=f"corrected:{key}", place=place)


def _last_said(tx: Tx, person_id: str, place: Place, since: datetime) -> str:
    """What somebody said last in a place that was passed on by a choice; empty if they said nothing."""
    for row in routed.said_by(tx, person_id, since):
        told = row.payload.get("routed") or (row.payload if row.kind == KIND else None)
        there = (told or {}).get("place")
        if there is not None and (there["surface"], there["channel"]) == (place.surface, place.channel):
            return str(row.payload["text"])
    return ""


async def outcome(office: Office, route_run_id: str) -> Routed | None:
    """What became of a text for which a model was asked; None while it is asked."""
    return await office.store.read(_outcome, route_run_id)


def _outcome(tx: Tx, route_run_id: str) -> Routed | None:
    row = traces.run(tx, route_run_id)
    if row is None or row.status not in ENDED_RUNS:
        return None
    what = _text_of(row)
    choice = _chosen(row.result if row.status == "completed" else None, what)
    chat = routed.by_key(tx, f"routed:{what.key}")
    mission = coordination.root_by_key(tx, f"goal:{what.project}:routed:{what.key}")
    return Routed(
        target=choice.target, confidence=choice.confidence, why=choice.why, run_id=chat, mission_id=mission,
        status=DELIVERED if chat else STARTED if mission else ASKED, route_run_id=route_run_id,
    )  # fmt: skip


def _text_of(run: Any) -> _Text:
    names = {each.name for each in fields(_Text)}
    return _Text(**{name: value for name, value in run.payload.items() if name in names})


def _chosen(answer: str | None, what: _Text) -> Choice:
    read = "no model could be asked" if answer is None else routing.read(answer, what.kinds)
    return Choice(routing.NOBODY, "", 0.0, read) if isinstance(read, str) else read


def _startable(settings: Settings, personas: Mapping[str, Persona], project: str) -> dict[str, Workflow]:
    """Workflows that need nothing to be given and fit into the usual budget of a project's missions."""
    found, budget = workflows.loaded(settings, personas).workflows, microusd(settings.mission_usd(project))
    fit = {name: flow for name, flow in found.items() if not flow.missing and flow.least_microusd(budget) <= budget}
    return dict(list(fit.items())[:MOST_WORKFLOWS])


def _usable(runtime: Runtime, named: str | None) -> ModelRef | None:
    try:
        return runtime.models.resolve(named)
    except UsageError:
        return None


async def _ask_model(runtime: Runtime, what: _Text, prompt: str) -> Routed:
    coordinator = runtime.personas.personas.get(COORDINATOR)
    if coordinator is None:
        raise UsageError(f"say who is to hear that: the persona `{COORDINATOR}`, which would find out, did not load")
    model = str(runtime.models.resolve(runtime.settings.routing.model or runtime.settings.model))
    run_id = await runtime.store.write(
        _post, routing.router(coordinator), what, prompt, model, new_id("run"), runtime.settings.timezone,
        runtime.clock.now(),
    )  # fmt: skip
    known = await outcome(runtime, run_id)
    return known or Routed(target="", confidence=0.0, why="", status=PENDING, route_run_id=run_id)


def _post(
    tx: Tx, router: Persona, what: _Text, prompt: str, model: str, run_id: str, timezone: str, now: datetime
) -> str:
    squad.ensure_project(tx, what.project, timezone, now)
    parts = {"connector": what.who.surface, "user": what.who.id}
    agent = squad.ensure_agent(
        tx, Descriptor(KIND, what.project, COORDINATOR, parts), router.to_json(), router.trust, now
    )  # fmt: skip
    message = Post(
        project_id=what.project, agent_id=agent.id, kind=KIND,
        payload={"purpose": KIND, "prompt": prompt, **asdict(what)}, idempotency_key=f"route:{what.key}",
        cause_kind="message", cause_id=what.who.id, model=model, run_id=run_id,
    )  # fmt: skip
    return mailbox.post(tx, message, now)[0]


@dataclass(frozen=True, slots=True)
class Passer:
    """Passes texts on, in the transaction of the choice; `take_up` is the follow-up of runs of kind `route`."""

    personas: Mapping[str, Persona]
    settings: Settings
    checks: Mapping[str, Any] = field(default_factory=dict)
    """What the policy demands, by type of task."""

    def take_up(self, tx: Tx, run: Any, answer: str | None, now: datetime) -> None:
        """Takes up the end of a run that was to say whom a text is for; without an answer the person is asked."""
        what = _text_of(run)
        choice = _chosen(answer, what) if people.role(tx, what.who.id) in ROLES_THAT_ANSWER else _NO_LONGER
        self.decided(tx, what, choice, now, route_run=run.id)

    def decided(self, tx: Tx, what: _Text, choice: Choice, now: datetime, *, route_run: str | None = None) -> Routed:
        """Carries a choice out, once for a text: posts it, starts a mission, or asks who is meant; all on record."""
        fresh, mission_id, chat = new_id("run"), None, None
        is_new = True
        if choice.kind == PERSONA and choice.name in self.personas and choice.confidence >= LEAST:
            told = {"target": choice.name, "confidence": choice.confidence, "reason": choice.why, "place": what.place}
            chat = conversation.post(
                tx, what.who, self.personas[choice.name], what.project, self.settings.timezone, what.text, None,
                f"routed:{what.key}", fresh, now, (), what.there, told,
            )  # fmt: skip
            status, is_new = DELIVERED, chat == fresh
        elif self._starts(choice):
            wish = self._launch(what, choice)
            mission_id = launch(tx, wish, now)
            status, is_new = STARTED, mission_id == wish.mission_id
        else:
            status = ASKED
        became = Routed(
            target=choice.target, confidence=choice.confidence, why=choice.why, status=status, run_id=chat,
            mission_id=mission_id, route_run_id=route_run,
        )  # fmt: skip
        if is_new:
            self._record(tx, what, became, now)
        return became

    def _record(self, tx: Tx, what: _Text, became: Routed, now: datetime) -> None:
        """Puts a choice on record, and shows it with its confidence where the text was said."""
        squad.ensure_project(tx, what.project, self.settings.timezone, now)
        audit.note(
            tx, ROUTED, what.who.actor, now, project_id=what.project, mission_id=became.mission_id,
            run_id=became.route_run_id or became.run_id, subject=what.who.id, target=became.target,
            confidence=became.confidence, reason=became.why, status=became.status,
            by="model" if became.route_run_id else "triggers", chat_run=became.run_id, mission=became.mission_id,
            route_run=became.route_run_id,
        )  # fmt: skip
        if (place := what.there) is None:
            return
        where = conversations.reply_place(
            tx, place.surface, place.channel, place.user, place.thread, what.project, now
        )  # fmt: skip
        payload = {"card": card(became, list(self.personas)).to_json(), **place.reply}
        outbox.say(tx, where, payload, f"reply:routed:{what.key}", now)

    def _starts(self, choice: Choice) -> bool:
        """Whether a mission is started without asking: only where work was asked for, and that is sure enough."""
        is_sure = choice.confidence >= self.settings.routing.confidence
        return choice.kind in (MISSION, WORKFLOW) and choice.asks_for_work and is_sure and COORDINATOR in self.personas

    def _launch(self, what: _Text, choice: Choice) -> Launch:
        place, goal = what.there, goals.goal_of(what.text[: goals.MOST_CHARS])
        return Launch(
            project_id=what.project, goal=goal, requested_by=what.who.id, coordinator=self.personas[COORDINATOR],
            budget_microusd=microusd(self.settings.mission_usd(what.project)), idempotency_key=f"routed:{what.key}",
            timezone=self.settings.timezone, model=what.model if what.simulated else None, simulated=what.simulated,
            origin=None if place is None else Origin(place.surface, place.channel, place.thread),
            checks=[{**each, "by": POLICY.id} for each in self.checks.get(checks.MISSION, ())],
            workflow=Workflow.from_json(what.workflows[choice.name]) if choice.kind == WORKFLOW else None,
        )  # fmt: skip


def card(became: Routed, personas: list[str]) -> Card:
    """What somebody is told of a choice: who has their message, or how to say whom they mean."""
    match became.status:
        case "delivered":
            return said(became.line, footer=f"{became.run_id} · not meant for them? Say `no, NAME`")
        case "started":
            return said(became.line, "A mission was started.", footer=str(became.mission_id))
    named = ", ".join(f"`@{name}`" for name in personas)
    how = f"Say it again with who is to hear it at its beginning ({named}), or answer `no, NAME`"
    is_work = became.target == MISSION or became.target.startswith(WORKFLOW)
    more = f"; to start a mission, begin with `run`{_by(became)}." if is_work else "."
    return said(became.line, how + more)


def _by(became: Routed) -> str:
    name = became.target.removeprefix(WORKFLOW).strip()
    return f" and end with `using workflow {name}`" if became.target.startswith(WORKFLOW) else ""
