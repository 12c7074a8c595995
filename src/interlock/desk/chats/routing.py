"""Routes texts without an addressee: by trigger patterns, or else by a model; the choice is shown.

INVARIANT: a text is routed once, in the transaction that makes the choice, even if this process crashes. The choice
itself is made in `agents.special.routing`. Source: row A13.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.persona import COORDINATOR, Persona
from interlock.agents.runtime import Runtime
from interlock.agents.special import routing
from interlock.agents.special.routing import KIND, MISSION, PERSONA, WORKFLOW, Candidate, Choice
from interlock.core.errors import UsageError
from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS, microusd
from interlock.desk.agents import conversation
from interlock.desk.chats.cards import Card
from interlock.desk.chats.replies import notice
from interlock.desk.chats.requests import Place
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.work import goals, workflows
from interlock.graph.applying import POLICY
from interlock.graph.launch import Launch, launch
from interlock.graph.workflow import Workflow
from interlock.llm.messages import ModelRef
from interlock.policy import checks
from interlock.settings import Settings
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import people
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.messages import conversations, outbox, routed_messages
from interlock.store.messages.conversations import Origin
from interlock.store.runs import traces
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import coordination

ROUTED = "MESSAGE_ROUTED"
LEAST = 0.5
"""Below this confidence of a model, the person is asked."""
MOST_WORKFLOWS = 20
REMEMBERED = timedelta(hours=12)
"""How long `no, finance` refers to the last message."""
_NO_LONGER = Choice(routing.NOBODY, "", 0.0, "whoever said it may no longer talk to agents")
DELIVERED, STARTED, ASKED, PENDING = "delivered", "started", "asked", "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """The result of routing a text."""

    target: str
    """A persona's name, `workflow NAME`, `mission`, or `nobody`; empty while a model is being asked."""
    confidence: float
    why: str
    status: str
    """delivered, started (a mission), asked (the person must choose), or pending (a model is being asked)."""
    run_id: str | None = None
    """The run of the posted message."""
    mission_id: str | None = None
    route_run_id: str | None = None
    """The run that asks a model."""

    @property
    def line(self) -> str:
        """The choice for people: ``→ research (0.93: `compare`)``."""
        kind = self.target if self.target in (MISSION, routing.NOBODY) else PERSONA
        return Choice(kind, self.target, self.confidence, self.why).line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text being routed, as stored in the payload of a run."""

    text: str
    person: Mapping[str, str]
    project: str
    key: str
    place: Mapping[str, Any] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of each candidate, by name."""
    workflows: Mapping[str, Any] = field(default_factory=dict)
    """The workflows that may be started, as of the arrival of the text."""
    model: str | None = None
    simulated: bool = False

    @property
    def who(self) -> Person:
        """Its author."""
        return Person(**self.person)

    @property
    def there(self) -> Place | None:
        """Where it was sent."""
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
    """Routes a text, once per key.

    A trigger pattern with enough confidence (`routing.confidence`) decides at no cost. Otherwise a model is asked in a
    run of its own, whose end routes the text; the choice is then reported where the text was sent, and by `outcome`.

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
        passer = TextRouter(runtime.personas.personas, runtime.settings, runtime.policy.checks)
        return await runtime.store.write(passer.decided, on_its_way, choice, runtime.clock.now())
    return await _ask_model(runtime, on_its_way, routing.question(text, known))


async def is_known(context: DeskContext, idempotency_key: str) -> bool:
    """Whether a text with this key was routed before: then `route` returns its result, and later conversations do not
    matter.
    """
    keys = (f"routed:{idempotency_key}", f"route:{idempotency_key}")
    return await context.store.read(lambda tx: any(routed_messages.by_key(tx, key) for key in keys))


async def correct(runtime: Runtime, person: Person, persona: str, text: str, *, place: Place, key: str) -> str | None:
    """Corrects a routing (`no, finance`): passes on the text given with it, or else the person's last routed text here.

    Returns the run's id; None if there is no such text.

    Raises Refused, UsageError.
    """
    require_operator(person, "talk to agents")
    since = runtime.clock.now() - REMEMBERED
    words = text or await runtime.store.read(_last_said, person.id, place, since)
    if not words:
        return None
    return await conversation.say(runtime, person, persona, words, idempotency_key=f"corrected:{key}", place=place)


def _last_said(tx: Tx, person_id: str, place: Place, since: datetime) -> str:
    """A person's last routed text in a place; empty if there is none."""
    for row in routed_messages.said_by(tx, person_id, since):
        decision = row.payload.get("routed") or (row.payload if row.kind == KIND else None)
        there = (decision or {}).get("place")
        if there is not None and (there["surface"], there["channel"]) == (place.surface, place.channel):
            return str(row.payload["text"])
    return ""


async def outcome(context: DeskContext, route_run_id: str) -> Routed | None:
    """The result of routing by a model; None while it is being asked."""
    return await context.store.read(_outcome, route_run_id)


def _outcome(tx: Tx, route_run_id: str) -> Routed | None:
    row = traces.run(tx, route_run_id)
    if row is None or row.status not in ENDED_RUNS:
        return None
    what = _text_of(row)
    choice = _chosen(row.result if row.status == "completed" else None, what)
    chat = routed_messages.by_key(tx, f"routed:{what.key}")
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
    """Workflows without required inputs that fit into the default budget of the project's missions."""
    found, budget = workflows.load(settings, personas).workflows, microusd(settings.mission_usd(project))
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
class TextRouter:
    """Routes texts in the transaction of the choice; `take_up` is the follow-up of runs of kind `route`."""

    personas: Mapping[str, Persona]
    settings: Settings
    checks: Mapping[str, Any] = field(default_factory=dict)
    """The policy's acceptance checks, by type of task."""

    def take_up(self, tx: Tx, run: Any, answer: str | None, now: datetime) -> None:
        """Handles the end of a routing run; without an answer, the person is asked."""
        what = _text_of(run)
        choice = _chosen(answer, what) if people.role(tx, what.who.id) in ROLES_THAT_ANSWER else _NO_LONGER
        self.decided(tx, what, choice, now, route_run=run.id)

    def decided(self, tx: Tx, what: _Text, choice: Choice, now: datetime, *, route_run: str | None = None) -> Routed:
        """Carries out a choice, once per text: posts it, starts a mission, or asks the person; recorded in the audit
        log.
        """
        fresh, mission_id, chat = new_id("run"), None, None
        is_new = True
        if choice.kind == PERSONA and choice.name in self.personas and choice.confidence >= LEAST:
            decision = {
                "target": choice.name,
                "confidence": choice.confidence,
                "reason": choice.why,
                "place": what.place,
            }
            chat = conversation.post(
                tx, what.who, self.personas[choice.name], what.project, self.settings.timezone, what.text, None,
                f"routed:{what.key}", fresh, now, (), what.there, decision,
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
        """Records a choice, and shows it with its confidence where the text was sent."""
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
        outbox.enqueue(tx, where, payload, f"reply:routed:{what.key}", now)

    def _starts(self, choice: Choice) -> bool:
        """Whether a mission is started without asking: only for a request for work, with enough confidence."""
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
    """The card about a choice: who got the message, or how to name the addressee."""
    match became.status:
        case "delivered":
            return notice(became.line, footer=f"{became.run_id} · not meant for them? Say `no, NAME`")
        case "started":
            return notice(became.line, "A mission was started.", footer=str(became.mission_id))
    named = ", ".join(f"`@{name}`" for name in personas)
    how = f"Say it again with who is to hear it at its beginning ({named}), or answer `no, NAME`"
    is_work = became.target == MISSION or became.target.startswith(WORKFLOW)
    more = f"; to start a mission, begin with `run`{_by(became)}." if is_work else "."
    return notice(became.line, how + more)


def _by(became: Routed) -> str:
    name = became.target.removeprefix(WORKFLOW).strip()
    return f" and end with `using workflow {name}`" if became.target.startswith(WORKFLOW) else ""
