"""What a run keeps in memory while it executes: conversation, calls, money. It can always be rebuilt from rows.

What happens next is the runner's job.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

from interlock.agents.history.conversation import lines_of
from interlock.agents.models import spending
from interlock.agents.models.model_choice import Amiss
from interlock.agents.persona import Persona
from interlock.agents.prompts.system_words import safe
from interlock.agents.running.brief import Brief
from interlock.agents.running.interruption import Interrupt
from interlock.agents.running.steps import UNUSED, Hold, Reservation, Results, StepRecord, commit_results
from interlock.agents.running.underway import CallState, InFlight
from interlock.agents.runtime import Runtime
from interlock.core.complaint import Complaint
from interlock.core.values import Actor, ActorKind
from interlock.llm.messages import (
    Message,
    Model,
    ModelError,
    ModelInfo,
    ModelRef,
    ModelRequest,
    SystemPart,
    ToolResult,
    ToolSpec,
    Usage,
)
from interlock.llm.models import model_info
from interlock.llm.tokens import estimate_prompt_tokens, message_tokens
from interlock.policy.progress import Stuck, Watch
from interlock.store.drivers.postgres import Unreachable
from interlock.store.errors import LeaseLost
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money.ledger import Opening, Spender
from interlock.store.tx import Tx
from interlock.tools.execute import Done, Gate

P = ParamSpec("P")
T = TypeVar("T")
HANDS_IN = "submit_deliverable"
STORE_RETRY_S = 1.0
LEAST_ANSWER = 1024
"""How many tokens to ask for if the window is almost full."""
LIKELY = (0.5, 1.5)
"""The range of ratios of a provider's count to our estimate within which the count is believed."""
_log = logging.getLogger(__name__)
NUDGE = (
    "You ended without handing anything in, so the task is not finished. Hand in your work with submit_deliverable; "
    "if you cannot do the task, hand in what you have and say what is missing."
)


@dataclass(slots=True, kw_only=True)
class Session:
    """A run while it executes."""

    runtime: Runtime
    claim: Claim
    brief: Brief
    persona: Persona
    ref: ModelRef
    model: Model
    gate: Gate
    system: tuple[SystemPart, ...]
    tools: tuple[ToolSpec, ...]
    messages: list[Message]
    earlier: int
    """How many of `messages` come from earlier runs."""
    position: int
    """The position of the next row of the conversation."""
    spender: Spender
    deadline_at: datetime
    began_s: float
    """When this process took the run up, by the monotonic clock."""
    ends_s: float
    """The deadline by the monotonic clock, so that no jump of the wall clock ends a run."""
    interrupt: Interrupt
    watch: Watch
    """Watches whether the run makes progress."""
    usage: Usage = UNUSED
    labels: frozenset[str] = frozenset()
    kept: frozenset[str] | None = None
    """The labels as last recorded; None if unknown."""
    calls: list[CallState] = field(default_factory=list)
    """The calls of the last step, in order."""
    reservation: Reservation | None = None
    max_tokens: int = 0
    """What the reservation was made for."""
    attempt: int = 0
    """How many reservations were made for the coming step so far."""
    in_flight: InFlight | None = None
    owed_microusd: int | None = None
    """The cost of an attempt that has ended, until it is recorded."""
    mistakes: int = 0
    """Turns in a row without a valid call."""
    failures: int = 0
    """Attempts in a row without a reply from the current model."""
    refused: dict[str, ModelError] = field(default_factory=dict)
    """The models that have failed since the last reply, and why."""
    amiss: Amiss | None = None
    """What is wrong with the model that the run should use, if it starts with another."""
    summaries: int = 0
    """How many steps only made room in the window."""
    dense_tokens: int = 0
    """How many tokens the prompt had when there was nothing left to summarise."""
    nudged: bool = False
    handed_in: bool = False
    quiet: bool = False
    """Whether a call asked to end the run without another reply."""
    openings: tuple[Opening, ...] = ()
    """Accounts that must exist before the first reservation."""
    owes_answers: bool = False
    """Whether the model has not yet been given the results of the last step's calls."""
    owes_nudge: bool = False
    """Whether the model has not yet been told that it ended too early."""
    tokens: int = 0
    """The tokens of the prompt that have been counted."""
    counted: int = 0
    """How many messages `tokens` includes."""
    scale: float = 1.0
    """The ratio of the provider's token count to our estimate, from its last reply."""
    step_microusd: int = 0
    """The cost of the last step."""
    budget_denied: str | None = None
    """Why a person refused more money, if one was asked."""

    actor: Actor = field(init=False)
    """The agent, as the actor of transitions."""
    has_asked: bool = False
    """Whether it has put a question to people, answered or not."""
    is_resumed: bool = field(init=False)
    """Whether it was executed before, perhaps by a process that died."""
    is_chat: bool = field(init=False)
    """Whether the tighter limits of conversations apply."""
    max_turns: int = field(init=False)
    """The most model calls of this run."""
    info: ModelInfo = field(init=False)
    """What is known about its model, from its name and from what its provider has refused."""

    def __post_init__(self) -> None:
        agent = self.brief.agent
        self.actor = Actor(ActorKind.AGENT, agent.id, agent.persona)
        self.is_resumed = bool(self.brief.messages)
        self.is_chat = self.claim.run.kind == "chat"
        self.max_turns = self.persona.max_turns(chat=self.is_chat)
        self.info = model_info(self.ref)

    @property
    def turns(self) -> int:
        """Model calls so far, without those that only summarised."""
        return self.claim.steps - self.summaries

    @property
    def worked_s(self) -> float:
        """How long this process has been executing it, in seconds."""
        return self.runtime.clock.monotonic() - self.began_s

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.ends_s - self.runtime.clock.monotonic())

    @property
    def needs_deliverable(self) -> bool:
        """Whether the run must submit a deliverable."""
        return bool(self.claim.run.kind == "task")

    @property
    def last_text(self) -> str:
        """The text of the model's last reply."""
        return next((m.text for m in reversed(self.messages) if m.role == "assistant"), "")

    @property
    def open_calls(self) -> list[CallState]:
        """The calls of the last step that have no outcome yet."""
        return [call for call in self.calls if call.is_open]

    def leaves_open(self, *, settles: bool) -> bool:
        """Whether its end may have money, calls or questions to close; with `settles`, that books the last call's cost.

        Of what was before this process took it up nothing is known.
        """
        is_reserved = self.reservation is not None and not settles
        return self.is_resumed or self.has_asked or is_reserved or bool(self.open_calls)

    @property
    def open_microusd(self) -> int:
        """The cost to book for the open reservation if the run is interrupted now, in micro-dollars. Source: row D6."""
        if self.owed_microusd is not None:
            return self.owed_microusd
        if self.in_flight is None:
            return 0
        cut = spending.estimate_of_cut(self.in_flight.prompt_tokens, self.in_flight.streamed_chars)
        return self.runtime.prices.cost(self.ref, cut).microusd

    async def write(self, unit: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a unit of the store; waits while the database is unavailable, so that nothing done is lost.

        A worker that cannot be heard for too long lets go of the run meanwhile.
        """
        complaint: Complaint | None = None
        while True:
            try:
                return await self.runtime.store.write(unit, *args, **kwargs)
            except Unreachable as error:
                if error.is_final:
                    raise
                complaint = complaint or Complaint(_log)
                complaint.say("run %s waits for the database: %s", self.claim.run.id, error)
                await asyncio.sleep(STORE_RETRY_S)

    async def record(self, results: Results, reservation: Reservation | None = None) -> None:
        """Transaction B.

        Raises LeaseLost, and so if the results made the task a loop; OverBudget if the reservation does not fit.
        """
        if not await self.write(commit_results, self.claim, self.spender, results, reservation, self.now()):
            raise LeaseLost(self.claim.run.id)
        self.kept = frozenset(results.labels)
        self.has_asked = self.has_asked or bool(results.holds)

    def now(self) -> datetime:
        """The wall clock."""
        return self.runtime.clock.now()

    def request(self, max_tokens: int) -> ModelRequest:
        """The next model call."""
        return ModelRequest(
            model=self.ref.model,
            system=self.system,
            messages=tuple(self.messages),
            tools=self.tools,
            max_tokens=max_tokens,
            thinking=self.persona.thinking,
            temperature=self.persona.temperature,
            timeout_s=self.runtime.settings.times.model_call_s,
        )

    def prompt_tokens(self) -> int:
        """Estimates the tokens of the next prompt; parts that were counted before are not counted again."""
        if not self.counted:
            self.tokens, self.counted = estimate_prompt_tokens(self.request(1)), len(self.messages)
        while self.counted < len(self.messages):
            self.tokens += message_tokens(self.messages[self.counted])
            self.counted += 1
        return self.tokens

    def context_tokens(self) -> int:
        """The same in the provider's count, as far as that is known."""
        return math.ceil(self.prompt_tokens() * self.scale)

    def quote(self) -> tuple[Reservation, int]:
        """The reservation for the next call at its worst case, and the longest answer that it allows."""
        info, tokens = self.info, self.prompt_tokens()
        room = max(LEAST_ANSWER, info.context_tokens - math.ceil(tokens * self.scale))
        wanted = min(self.persona.max_tokens, info.max_output_tokens, room)
        return self.reservation_of(self.runtime.prices.worst_case(self.ref, tokens, wanted)), wanted

    def reservation_of(self, worst_microusd: int) -> Reservation:
        """A reservation for the next attempt of the coming step."""
        return Reservation(
            step=self.claim.steps + 1, attempt=self.attempt + 1, model=str(self.ref), worst_microusd=worst_microusd
        )

    def reserved(self, reservation: Reservation, max_tokens: int) -> None:
        """Notes that the reservation is recorded."""
        self.reservation, self.attempt, self.max_tokens = reservation, reservation.attempt, max_tokens

    def works_with(self, ref: ModelRef, model: Model) -> None:
        """Switches to another model; the switch is recorded already."""
        self.ref, self.model, self.failures, self.scale, self.dense_tokens = ref, model, 0, 1.0, 0
        self.reservation = self.owed_microusd = None
        self.info = model_info(ref)

    def counted_as(self, tokens: int, usage: Usage) -> None:
        """Applies a provider's count of a prompt that was estimated at `tokens` tokens."""
        scale = usage.prompt_tokens / max(1, tokens)
        self.scale = scale if LIKELY[0] <= scale <= LIKELY[1] else 1.0

    def after_summary(self, step: StepRecord) -> None:
        """Applies a step that summarised, once it is recorded."""
        self._booked(step)
        self.summaries += 1

    def after_step(self, message: Message, step: StepRecord) -> None:
        """Applies a reply whose transaction A is recorded."""
        self._booked(step)
        self.position += len(step.lines)
        self._append(message)
        self.refused.clear()
        self.step_microusd = step.settlement.actual_microusd
        held = {hold.call_id: hold.approval["id"] for hold in step.holds}
        self.calls = [
            CallState(
                row["id"], row["position"], row["call_id"], row["tool"], row["args"], row["risk"], row["status"],
                held.get(row["id"]), row["result"], row["is_error"], token=row["idempotency_token"],
            )
            for row in step.calls
        ]  # fmt: skip

    def _booked(self, step: StepRecord) -> None:
        self.claim.steps, self.usage, self.kept = step.number, step.total_usage, frozenset(step.labels)
        self.has_asked = self.has_asked or bool(step.holds)
        self.reservation, self.attempt, self.owed_microusd = None, 0, None
        self.failures = 0

    def after_call(self, call: CallState, done: Done) -> None:
        """Applies the outcome of a call, which the next transaction B records."""
        call.status, call.result, call.is_error = str(done.status), done.content, done.is_error
        self.labels |= done.labels
        self.quiet = self.quiet or done.ends_run
        if call.tool == HANDS_IN and not done.is_error:
            self.handed_in = True

    def stuck(self) -> Stuck | None:
        """Counts the last step, whose calls have ended; why to stop the run if it makes no progress, else None."""
        self.watch.step(self.step_microusd, self.calls)
        task = self.brief.task
        return self.watch.stuck(self.runtime.settings.breakers, task.budget_microusd if task is not None else None)

    def answers(self) -> Message:
        """The results of the last step's calls, in call order."""
        return safe(Message("user", tuple([ToolResult(c.call_id, c.result or "", c.is_error) for c in self.calls])))

    def results(
        self, done: Sequence[Done] = (), holds: Sequence[Hold] = (), message: Message | None = None
    ) -> Results:  # fmt: skip
        """The content of transaction B; `message` is what the model is told next."""
        return Results(
            done=done,
            holds=holds,
            lines=lines_of(message, {c.call_id: c.tool for c in self.calls}) if message is not None else (),
            position=self.position,
            labels=sorted(self.labels),
            usage=self.usage,
            is_news=self.labels != self.kept or self.claim.run.crashes > 0,
            loops=self.runtime.settings.loops,
        )

    def said(self, message: Message, results: Results) -> None:
        """Applies a message to the model that transaction B has recorded."""
        self._append(message)
        self.position += len(results.lines)

    def wished(self, call: CallState) -> Any:
        """The arguments of a call of the last step, as the model gave them."""
        said = next(m for m in reversed(self.messages) if m.role == "assistant")
        return said.tool_uses[call.position].args

    def _append(self, message: Message) -> None:
        """Adds a message to the conversation as it would be read back: consecutive messages of one role become one."""
        last = self.messages[-1] if len(self.messages) > self.earlier else None
        if not message.blocks:
            return
        if last is None or last.role != message.role:
            self.messages.append(message)
        else:
            self.messages[-1] = Message(last.role, (*last.blocks, *message.blocks))
            self.counted = 0


def later(now: datetime, seconds: float) -> datetime:
    """A time `seconds` after `now`."""
    return now + timedelta(seconds=seconds)
