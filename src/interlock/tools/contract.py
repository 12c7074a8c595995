"""What a tool is, what it receives, and what it returns.

Tools are registered in `registry` and executed in `execute`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec

import pydantic_core

from interlock.core.errors import InterlockError, UsageError
from interlock.core.values import Actor, digest
from interlock.llm.messages import ToolSpec
from interlock.policy.risk import Risk
from interlock.tools.errors import ToolError

if TYPE_CHECKING:
    from interlock.settings import Settings
    from interlock.store.engine import Store
    from interlock.store.mailboxes.mailbox import Claim
    from interlock.store.tx import Tx
    from interlock.tools.children import Ended
    from interlock.tools.orphans import Record
    from interlock.tools.workspace import Workspace

P = ParamSpec("P")
UNTRUSTED, PRIVATE, OUTWARD = "untrusted", "private", "outward"
LABELS = frozenset({UNTRUSTED, PRIVATE, OUTWARD})
"""Untrusted: it returns content from outside. Private: it reads private data. Outward: it sends. Source: row C11."""
RISKS = frozenset(map(str, Risk))
CHILD_S = 60.0
CHILD_ENDED = "CHILD_ENDED"
"""The activity that records a child process that was ended early."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class Write(NamedTuple):
    """Database work to do in the transaction that records a call's outcome: `unit(tx, *args, **kwargs)`."""

    unit: Callable[..., object]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}


def write(unit: Callable[Concatenate[Tx, P], object], *args: P.args, **kwargs: P.kwargs) -> Write:
    """A `Write`, with the arguments checked against the unit's signature."""
    return Write(unit, args, kwargs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call: the text for the model, and what to write in the same transaction."""

    content: str
    is_error: bool = False
    writes: tuple[Write, ...] = ()
    ends_run: bool = False
    labels: frozenset[str] = frozenset()
    """Labels besides those that the tool declares, such as those of a file that was read."""

    @classmethod
    def of(cls, value: object) -> Outcome:
        """The outcome for a tool's return value: an outcome as it is, a text, `done` for None, anything else as JSON.

        Never fails, since the effect has already happened.
        """
        if isinstance(value, Outcome):
            return value
        if value is None:
            return cls("done")
        if not isinstance(value, str):
            try:
                value = pydantic_core.to_json(value, fallback=repr).decode()
            except ValueError:
                value = repr(value)
        return cls(value.encode("utf-8", "replace").decode())


class ToolContext(NamedTuple):
    """The run, the agent and the surroundings of a call, for tools that ask for it."""

    run_id: str
    agent_id: str
    persona: str
    project_id: str
    task_id: str | None
    mission_id: str | None
    call_id: str
    """Interlock's own id of the call."""
    idempotency_token: str
    """The same each time this call is tried; pass it to outside services. Source: row E9."""
    simulated: bool
    now: datetime
    store: Store
    settings: Settings
    workspace: Workspace
    actor: Actor
    labels: frozenset[str] = frozenset()
    """The run's labels so far (taint); what is written gets them too."""
    secrets: Callable[[str], str] | None = None
    """Gives this call the secrets that the settings name for its tool."""
    cast: Callable[[str], Mapping[str, Any] | None] | None = None
    """Looks up a persona by name, in the form that is stored with an agent; None for an unknown name."""
    repeated_by: str | None = None
    """The approval by which a person has the call repeated although its earlier outcome is unknown."""
    claim: Claim | None = None
    """The lease of the run; None for a call outside of runs, as in tests."""

    def __repr__(self) -> str:
        """Names only the call, so that a tool that prints its context reveals no secrets."""
        return f"<{type(self).__name__} {self.call_id} of {self.run_id}>"

    def secret(self, name: str) -> str:
        """The value of a named secret that the settings allow this tool; it is masked wherever it appears afterwards.

        Blocks if the secret is in a file. Raises ToolError if there is none for this tool. Source: row G8.
        """
        if self.secrets is None:
            raise ToolError(f"there is no secret `{name}` here")
        try:
            return self.secrets(name)
        except InterlockError as error:
            raise ToolError(str(error)) from error

    @property
    def taint(self) -> tuple[str, ...]:
        """The labels in the form in which they are stored."""
        return tuple(sorted(self.labels))

    async def write(self, unit: Callable[..., Any], *args: Any) -> Any:
        """Runs a unit in a transaction of its own; what belongs to the outcome of the call goes into `Outcome.writes`.

        Raises LeaseLost, without changes, if the run no longer belongs to this worker. Source: row E10.
        """
        return await self.store.write(_leased, self.claim, unit, args)

    async def changed_files(self) -> tuple[Write, ...]:
        """The writes that save the changes in the workspace, for `Outcome.writes`."""
        return await self.workspace.collect(
            self.actor, self.now, mission_id=self.mission_id, task_id=self.task_id, labels=self.labels
        )

    async def child(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = CHILD_S,
        given: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Ended:
        """Runs a program without a shell, in the workspace or in `cwd`, and waits for it: {code, output, errors}.

        This is the only way for a tool to start a process. The process and everything it starts are ended with the
        call, by the next worker if this one dies. `given` is its standard input. Of this process's environment it gets
        only PATH and the language, besides `env`.

        Raises ToolError if it cannot be started, OutcomeUnknown if it takes longer than `timeout_s`.
        """
        from interlock.tools import children

        if cwd is None:
            await self.workspace.lay_down()
            self.workspace.take()
            cwd = self.workspace.root
        order = children.Order(
            argv=argv, cwd=cwd, run_id=self.run_id, call_id=self.call_id, timeout_s=timeout_s, env=env or {},
            given=given,
        )  # fmt: skip
        return await children.run(self.settings.home, order, self._cut_off)

    async def _cut_off(self, child: Record) -> None:
        from interlock.store.auditing import audit

        await self.store.write(
            audit.note, CHILD_ENDED, self.actor, self.now, project_id=self.project_id, mission_id=self.mission_id,
            task_id=self.task_id, run_id=self.run_id, subject=self.call_id, program=child.program, pid=child.pid,
        )  # fmt: skip


def _leased(tx: Tx, claim: Claim | None, unit: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Checks the lease last: a unit may have to lock the lane of the run before the run itself."""
    from interlock.store.mailboxes import mailbox

    result = unit(tx, *args)
    if claim is not None:
        mailbox.own(tx, claim, even_if_controlled=True)
    return result


ToolFunction = Callable[..., Awaitable[object]]
"""`async fn(ctx, **args)`; its return value is converted by `Outcome.of`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """A tool with its metadata.

    Raises UsageError if the name, the schema, the risk or a label is invalid.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema 2020-12 of type object, without references to other documents."""
    fn: ToolFunction
    risk: str | None = None
    """GREEN, YELLOW or RED, as its author declares; None lets the policy judge by name, description and schema."""
    idempotent: bool = False
    """Whether a call whose outcome is unknown may simply be repeated."""
    read_only: bool = False
    """Whether calls change nothing anywhere: then it counts as idempotent, and a call need not wait for the disk."""
    outside: bool = True
    """Whether it acts on or reads from anything outside Interlock: then it is simulated in rehearsals."""
    asks: bool = False
    """Whether it puts a question to a person, whose answer is its result; `fn` is not called."""
    ends_run: bool = False
    reads: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
    """The workspace files that the effect depends on; an approval binds to their digests."""
    objects: Callable[[Mapping[str, Any]], str | None] | None = None
    """Returns what is wrong with arguments that the schema allows; the agent is told before anybody is asked."""
    labels: frozenset[str] = field(default_factory=frozenset)
    timeout_s: float | None = None
    """The longest that a call may take; None for the setting `times.tool_s`."""
    simulate: Callable[[dict[str, Any]], str] | None = None
    """Returns what a rehearsal reports instead of calling it."""
    builtin: bool = False
    """Whether it comes with Interlock, so that the built-in risk table applies."""
    needs: frozenset[str] = frozenset()
    """Capabilities that a worker needs to call it, such as `browser`; agents that have the tool run only there."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"`{self.name}` is not a valid tool name: use up to 64 letters, digits, `_` and `-`")
        if not self.description.strip():
            raise UsageError(f"tool `{self.name}` needs a description: it tells the model what the tool does")
        if self.risk is not None and self.risk not in RISKS:
            raise UsageError(f"tool `{self.name}` declares the risk `{self.risk}`: use GREEN, YELLOW or RED")
        if unknown := self.labels - LABELS:
            raise UsageError(f"tool `{self.name}` has the label `{min(unknown)}`: use {', '.join(sorted(LABELS))}")
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise UsageError(f"tool `{self.name}` has a timeout of {self.timeout_s:g} s: use more than 0")
        if isinstance(self.needs, str):
            raise UsageError(f'tool `{self.name}` names its needs as one text: write `needs=["{self.needs}"]`')
        object.__setattr__(self, "needs", frozenset(self.needs))
        object.__setattr__(self, "idempotent", self.idempotent or self.read_only)
        for need in sorted(self.needs):
            if not _CAPABILITY.fullmatch(need):
                raise UsageError(
                    f"tool `{self.name}` needs `{need}`, which is not a name: use up to 32 of a-z, 0-9, - and _"
                )

    @cached_property
    def digest(self) -> str:
        """Identifies the tool as people approved it: a digest of name, description and schema. Source: row C4."""
        shape = {"name": self.name, "description": self.description, "input_schema": dict(self.input_schema)}
        return digest(shape)

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as offered to a model."""
        return ToolSpec(self.name, self.description, self.input_schema)

    async def call(self, context: ToolContext, args: Mapping[str, Any]) -> Outcome:
        """Calls it with arguments that have been validated.

        Raises ToolError, OutcomeUnknown, and whatever the function raises.
        """
        return Outcome.of(await self.fn(context, **args))
