"""Executes chat commands: each is one operation of the desk, and a card with its result.

The commands are listed in `command_table`; requests are stored and replied to in `reception`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.core.errors import Conflict, InterlockError, UsageError
from interlock.desk.agents import lessons, sessions
from interlock.desk.budgets import money
from interlock.desk.chats import chat_texts, replies
from interlock.desk.chats.cards import Card
from interlock.desk.chats.command_table import COMMANDS, VIEWER, Command, in_chat, named, spelled, suggestion
from interlock.desk.chats.requests import Place, Request
from interlock.desk.context import Person, require_operator
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.desk.reading.details import task
from interlock.desk.reading.finding import Unknown
from interlock.desk.signoff import grants, signing
from interlock.desk.signoff.asking import approval_card
from interlock.desk.signoff.targets import Target
from interlock.desk.work import controls
from interlock.desk.work.goals import submit
from interlock.store import lookup

SHOWN = 20
"""The maximum number of questions in a listing."""
ALIKE = "alike"
FRESH_S = 300.0
"""The maximum age of a command that resumes something."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The context of one command: the person, the place and the request."""

    runtime: Runtime
    person: Person
    place: Place
    key: str
    """The request's idempotency key."""
    command: Command
    words: str
    fields: Mapping[str, Any] | None
    """The fields of a button or a form."""
    said_at: float | None = None
    accepted_at: datetime | None = None
    """When the request was accepted, if it is repeated because its previous holder died."""

    def usage(self) -> UsageError:
        """The error for missing arguments."""
        return UsageError(f"write `{spelled(self.place.surface, self.command.usage)}`")

    def alone(self) -> None:
        """Checks that the command has no arguments, so that `stop ID` does not stop everything.

        Raises UsageError.
        """
        if self.words.strip():
            whole = spelled(self.place.surface, self.command.name)
            one = spelled(self.place.surface, "cancel ID")
            raise UsageError(f"`{whole}` is for the whole squad and takes nothing more: to end one thing, `{one}`")

    def fresh(self) -> datetime | None:
        """Checks that the command was sent recently; returns when.

        Chat services may deliver a message hours late; commands that stop something are obeyed regardless.

        Raises Conflict.
        """
        late_s = 0.0 if self.said_at is None else self.runtime.clock.now().timestamp() - self.said_at
        if late_s > FRESH_S:
            raise Conflict(
                f"you said `{self.command.name}` {late_s / 60:.0f} minutes ago, and it only came now: look with"
                f" `{spelled(self.place.surface, 'status')}` how things are, and say it again"
            )
        return None if self.said_at is None else datetime.fromtimestamp(self.said_at, UTC)

    def ident(self) -> tuple[str, str]:
        """The id given, and the words after it.

        Raises UsageError if there is none.
        """
        if self.fields is not None:
            found, rest = str(self.fields.get("id") or ""), ""
        else:
            found, _, rest = self.words.strip().replace("\n", " \n").partition(" ")
        if not (found := found.strip("`'\"<>*_,. \n")):
            raise self.usage()
        return found, rest.strip()

    async def approval(self) -> tuple[str, str]:
        """As `ident`, for an approval, with the part after a colon: the scope of a grant, or the mark of a batch.

        Buttons and forms contain the full id; only people who type may abbreviate it.

        Raises UsageError if there is no id, Unknown if a button refers to an unknown one.
        """
        found, rest = self.ident()
        whole = found.partition(":")[0]
        if self.fields is not None and not await self.runtime.store.read(lookup.exists, "approval", whole):
            raise Unknown("approval", whole, (), "approvals")
        return found, rest

    def only_ident(self) -> str:
        """The id given, if nothing follows it.

        Raises UsageError.
        """
        found, rest = self.ident()
        if rest:
            raise self.usage()
        return found


Handler = Callable[[Desk], Awaitable[Card | None]]


async def carry_out(
    runtime: Runtime, person: Person, request: Request, *, accepted_at: datetime | None = None
) -> Card | None:
    """Executes a known person's request; returns the reply, or None if another card is the answer.

    `accepted_at` is given for a request that a dead process may have executed before. Errors that a person can do
    something about are replies; others are raised.
    """
    surface = request.place.surface
    command = named(request.command) if request.command.strip() else COMMANDS["help"]
    try:
        if command is None:
            return await chat_texts.talk(runtime, person, request)
        desk = Desk(
            runtime, person, request.place, request.key, command, request.words, request.fields, request.said_at,
            accepted_at,
        )  # fmt: skip
        if command.role != VIEWER:
            require_operator(person, f"use `{command.name}`")
        return await HANDLERS[command.name](desk)
    except InterlockError as error:
        return _error_card(surface, error)


def _error_card(surface: str, error: InterlockError) -> Card:
    from interlock.store.errors import StoreError

    if isinstance(error, StoreError):
        raise error
    return replies.fault(in_chat(surface, str(error)))


async def _run(desk: Desk) -> Card:
    if not desk.words.strip():
        raise desk.usage()
    mission_id = await submit(
        desk.runtime, desk.person, desk.words, idempotency_key=f"chat:{desk.key}", place=desk.place
    )  # fmt: skip
    hindrance = await desk.runtime.store.read(emergency.hindrance)
    waits = f"It waits: {in_chat(desk.place.surface, hindrance)}" if hindrance else ""
    return replies.notice("Mission started", waits, footer=mission_id)


async def _status(desk: Desk) -> Card:
    desk.alone()
    return replies.status_card(await listings.status(desk.runtime), await listings.missions(desk.runtime))


async def _tasks(desk: Desk) -> Card:
    state = desk.words.strip() or None
    return replies.tasks_card(await listings.tasks(desk.runtime, status=state), state)


async def _task(desk: Desk) -> Card:
    return replies.task_card(await task(desk.runtime, desk.only_ident()))


async def _cancel(desk: Desk) -> Card:
    return replies.canceled_card(await controls.cancel(desk.runtime, desk.person, desk.only_ident()))


async def _agents(desk: Desk) -> Card:
    desk.alone()
    return replies.agents_card(await listings.agents(desk.runtime))


async def _approvals(desk: Desk) -> Card:
    if desk.words.strip():
        return await approval_card(desk.runtime, desk.only_ident(), taps=False, reader=desk.person)
    cards = await signing.approvals(desk.runtime, limit=SHOWN, reader=desk.person)
    total = await signing.waiting(desk.runtime)
    return replies.queue_card(desk.place.surface, cards, total)


async def _approve(desk: Desk) -> Card | None:
    ident, note = await desk.approval()
    target, given = Target.of(ident), desk.fields or {}
    words, args = given.get("note") or given.get("reason") or note or None, given.get("args")
    if target.batch is not None:
        return await _together(desk, target, words)
    answering = signing.approve(
        desk.runtime, desk.person, target.ident, note=words, args=args, grant=target.grant, mark=target.mark
    )  # fmt: skip
    return await _answer(desk, target.ident, answering)


async def _deny(desk: Desk) -> Card | None:
    ident, reason = await desk.approval()
    target = Target.of(ident)
    reason = str((desk.fields or {}).get("reason") or (desk.fields or {}).get("note") or reason)
    if target.batch == ALIKE:
        return await _together(desk, target, None)
    if not reason.strip():
        raise UsageError(
            f"a denial needs a reason that the agent can act on: "
            f"`{spelled(desk.place.surface, f'deny {target.ident} REASON')}`"
        )
    if target.batch is not None:
        return await _together(desk, target, reason)
    return await _answer(desk, target.ident, signing.deny(desk.runtime, desk.person, target.ident, reason=reason))


async def _together(desk: Desk, target: Target, words: str | None) -> Card | None:
    """Answers exactly the questions identified by a mark; shows them if `alike` is given instead."""
    verb, surface, ident = desk.command.name, desk.place.surface, target.ident
    if target.batch == ALIKE:
        cards = await signing.alike(desk.runtime, ident)
        return replies.batch_card(surface, verb, ident, cards, signing.mark_of([card["id"] for card in cards]))
    done = await signing.answer_batch(desk.runtime, desk.person, verb, ident, target.batch or "", words)
    return replies.answered_together_card(done)


async def _grants(desk: Desk) -> Card:
    verb, _, ident = desk.words.strip().partition(" ")
    if not verb:
        return replies.grants_card(desk.place.surface, await grants.grants(desk.runtime))
    if verb != "revoke" or not ident.strip() or " " in ident.strip():
        raise desk.usage()
    require_operator(desk.person, "revoke grants")
    return replies.revoked_card(await grants.revoke(desk.runtime, desk.person, ident.strip("` ")))


async def _answer(desk: Desk, ident: str, answering: Awaitable[dict[str, Any]]) -> Card | None:
    """Ignores a repeated answer by the same person: a second click, or a redelivered request."""
    try:
        card = await answering
    except InterlockError as error:
        if not signing.is_repeated(error, desk.person, desk.command.name):
            raise
        card = {**await signing.approval(desk.runtime, ident), "still_needed": 0}
    if desk.fields is not None and not card["still_needed"] and not card.get("grant"):
        return None
    if hindrance := card.get("hindrance"):
        card = {**card, "hindrance": in_chat(desk.place.surface, hindrance)}
    return replies.answered_card(card)


def _control(act: Callable[[Runtime, Person], Awaitable[dict[str, Any]]]) -> Handler:
    async def handle(desk: Desk) -> Card:
        """INVARIANT: repeating a request does not undo what others have set since."""
        desk.alone()
        if desk.accepted_at is not None:
            now = await desk.runtime.store.read(emergency.squad_view)
            if now["since"] is not None and now["since"] >= desk.accepted_at:
                return replies.mode_card(desk.place.surface, {**now, "runs": []})
        return replies.mode_card(desk.place.surface, await act(desk.runtime, desk.person))

    return handle


async def _quarantine(desk: Desk) -> Card:
    agent, reason = desk.ident()
    done = await emergency.quarantine(desk.runtime, desk.person, agent, reason=reason or None)
    return replies.member_card(desk.place.surface, done)


async def _resume(desk: Desk) -> Card | None:
    """INVARIANT: an older command does not resume what was stopped since."""
    return await _control(partial(emergency.resume, said_at=desk.fresh()))(desk)


async def _release(desk: Desk) -> Card:
    said_at = desk.fresh()
    done = await emergency.release(desk.runtime, desk.person, desk.only_ident(), said_at=said_at)
    return replies.member_card(desk.place.surface, done)


async def _reset(desk: Desk) -> Card:
    named = desk.only_ident() if desk.words.strip() or desk.fields else await chat_texts.here(desk.runtime, desk.place)
    if named is None:
        raise UsageError(f"nobody was talked with here: write `{spelled(desk.place.surface, 'reset AGENT')}`")
    done = await sessions.reset(desk.runtime, desk.person, named)
    return replies.notice(f"{done['persona']} begins anew", "What was said before is left out from now on.")


async def _budget(desk: Desk) -> Card:
    desk.alone()
    return replies.budget_card(await money.budget(desk.runtime))


async def _learn(desk: Desk) -> Card:
    desk.alone()
    return replies.learned_card(await lessons.learn(desk.runtime, desk.person))


async def _help(desk: Desk) -> Card:
    wanted = desk.words.split()[:1]
    return replies.help_card(desk.place.surface, (named(wanted[0]) or suggestion(wanted[0])) if wanted else None)


HANDLERS: Mapping[str, Handler] = {
    "run": _run,
    "status": _status,
    "tasks": _tasks,
    "task": _task,
    "cancel": _cancel,
    "agents": _agents,
    "approvals": _approvals,
    "approve": _approve,
    "deny": _deny,
    "grants": _grants,
    "pause": _control(emergency.pause),
    "resume": _resume,
    "drain": _control(emergency.drain),
    "stop": _control(emergency.stop),
    "quarantine": _quarantine,
    "release": _release,
    "reset": _reset,
    "budget": _budget,
    "learn": _learn,
    "help": _help,
}
"""By name. INVARIANT: every command of the table has one."""
