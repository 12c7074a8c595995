"""What a tool is, what it is given, and what it hands back.

Which tools there are is the registry's job; how one is executed, that of `execute`.
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
from interlock.tools.errors import ToolError

if TYPE_CHECKING:
    from interlock.settings import Settings
    from interlock.store.engine import Store
    from interlock.store.tx import Tx
    from interlock.tools.children import Ended
    from interlock.tools.orphans import Record
    from interlock.tools.workspace import Workspace

P = ParamSpec("P")
UNTRUSTED, PRIVATE, OUTWARD = "untrusted", "private", "outward"
LABELS = frozenset({UNTRUSTED, PRIVATE, OUTWARD})
"""Untrusted: it brings in what strangers wrote. Private: it reads what is ours. Outward: it sends. Source: row C11."""
RISKS = frozenset({"GREEN", "YELLOW", "RED"})
CHILD_S = 60.0
CHILD_ENDED = "CHILD_ENDED"
"""The activity of a child process that was ended before its time."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]{0,31}")


class Write(NamedTuple):
    """Database work that belongs into the transaction of a call's outcome: `unit(tx, *args, **kwargs)`."""

    unit: Callable[..., object]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}


def write(unit: Callable[Concatenate[Tx, P], object], *args: P.args, **kwargs: P.kwargs) -> Write:
    """A `Write`, with the arguments checked against the unit's signature."""
    return Write(unit, args, kwargs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: the text for the model, and what is to be written together with it."""

    content: str
    is_error: bool = False
    writes: tuple[Write, ...] = ()
    ends_run: bool = False
    labels: frozenset[str] = frozenset()
    """Taint beyond what the tool declares, such as that of the file that was read."""

    @classmethod
    def of(cls, value: object) -> Outcome:
        """The outcome that a tool's return value stands for: itself, a text, nothing, or anything else as JSON.

        Never fails, since the effect has happened.
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
    """For whom and in what a call is made."""

    run_id: str
    agent_id: str
    persona: str
    project_id: str
    task_id: str | None
    mission_id: str | None
    call_id: str
    """Our id of the call."""
    idempotency_token: str
    """The same however often this call is tried; outside services are given it. Source: row E9."""
    simulated: bool
    now: datetime
    store: Store
    settings: Settings
    workspace: Workspace
    actor: Actor
    labels: frozenset[str] = frozenset()
    """The run's taint so far; it goes with what is written."""
    secrets: Callable[[str], str] | None = None
    """Gives this call the secrets that the settings name for its tool."""
    cast: Callable[[str], Mapping[str, Any] | None] | None = None
    """Gives a persona by its name, as it is kept with an agent; None for a name that is nobody's."""
    repeated_by: str | None = None
    """The approval by which a person has it done again, although nobody knows what came of it before."""

    def __repr__(self) -> str:
        """The call alone: a tool that prints its context tells nothing of what it was lent."""
        return f"<{type(self).__name__} {self.call_id} of {self.run_id}>"

    def secret(self, name: str) -> str:
        """A named secret in clear, where the settings let this tool have it; what is said of it is masked everywhere.

        Blocks where it is in a file. Raises ToolError if there is none for this tool. Source: row G8.
        """
        if self.secrets is None:
            raise ToolError(f"there is no secret `{name}` here")
        try:
            return self.secrets(name)
        except InterlockError as error:
            raise ToolError(str(error)) from error

    @property
    def taint(self) -> tuple[str, ...]:
        """The labels as they are stored."""
        return tuple(sorted(self.labels))

    async def changed_files(self) -> tuple[Write, ...]:
        """What makes the changes in the workspace last, for `Outcome.writes`."""
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
        """Runs a program, without a shell, and waits for its end: {code, output, errors}, in the workspace or in `cwd`.

        This is the only way for a tool to start a process: it and all it starts are ended with the call, also by the
        next worker where this one dies. It gets no variables of this process but PATH, the language and `env`.

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
        from interlock.store import audit

        await self.store.write(
            audit.note, CHILD_ENDED, self.actor, self.now, project_id=self.project_id, mission_id=self.mission_id,
            task_id=self.task_id, run_id=self.run_id, subject=self.call_id, program=child.program, pid=child.pid,
        )  # fmt: skip


ToolFunction = Callable[..., Awaitable[object]]
"""`async fn(ctx, **args)`; what it returns is read by `Outcome.of`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """A tool with all that is known of it before it is called.

    Raises UsageError if the name, the schema, the risk or a label is not valid.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """JSON Schema 2020-12 of type object, without references to anything outside itself."""
    fn: ToolFunction
    risk: str | None = None
    """What its author declares: GREEN, YELLOW or RED; None if policy is to judge by its looks."""
    idempotent: bool = False
    """Whether a call whose outcome is unknown may simply be made again."""
    read_only: bool = False
    """Whether a call changes nothing anywhere: it is idempotent then, and the disk is not waited for before it."""
    outside: bool = True
    """Whether its effect, or its reading, leaves Interlock: then it is simulated in rehearsal."""
    asks: bool = False
    """Whether it waits for a person's words, which become its result; `fn` is not called."""
    ends_run: bool = False
    reads: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
    """The workspace files whose content the effect depends on; an approval binds to their digests."""
    objects: Callable[[Mapping[str, Any]], str | None] | None = None
    """What is wrong with arguments that the schema allows, told to the agent before anybody is asked about the call."""
    labels: frozenset[str] = field(default_factory=frozenset)
    timeout_s: float = 60.0
    simulate: Callable[[dict[str, Any]], str] | None = None
    """What a rehearsal says instead of calling it."""
    builtin: bool = False
    """Whether it is one of Interlock's own, so that the built-in risk table speaks of it."""
    for_personas: frozenset[str] | None = None
    """Who may be offered it; None for all."""
    needs: frozenset[str] = frozenset()
    """Capabilities without which a worker cannot call it, such as `browser`: agents that have it work only there."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"`{self.name}` is no name for a tool: use up to 64 letters, digits, `_` and `-`")
        if not self.description.strip():
            raise UsageError(f"tool `{self.name}` needs a description: it tells the model what the tool does")
        if self.risk is not None and self.risk not in RISKS:
            raise UsageError(f"tool `{self.name}` declares the risk `{self.risk}`: use GREEN, YELLOW or RED")
        if unknown := self.labels - LABELS:
            raise UsageError(f"tool `{self.name}` has the label `{min(unknown)}`: use {', '.join(sorted(LABELS))}")
        if self.timeout_s <= 0:
            raise UsageError(f"tool `{self.name}` has a timeout of {self.timeout_s:g} s: use more than 0")
        if isinstance(self.needs, str):
            raise UsageError(f'tool `{self.name}` names its needs as one text: write `needs=["{self.needs}"]`')
        object.__setattr__(self, "needs", frozenset(self.needs))
        object.__setattr__(self, "idempotent", self.idempotent or self.read_only)
        for need in sorted(self.needs):
            if not _CAPABILITY.fullmatch(need):
                raise UsageError(
                    f"tool `{self.name}` needs `{need}`, which is no name: use up to 32 of a-z, 0-9, - and _"
                )

    @cached_property
    def digest(self) -> str:
        """What the tool was when somebody approved a call of it: name, description and schema. Source: row C4."""
        shape = {"name": self.name, "description": self.description, "input_schema": dict(self.input_schema)}
        return digest(shape)

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as offered to a model."""
        return ToolSpec(self.name, self.description, self.input_schema)

    async def call(self, context: ToolContext, args: Mapping[str, Any]) -> Outcome:
        """Calls it with arguments that were validated before.

        Raises ToolError, OutcomeUnknown, and whatever a function of the user's raises.
        """
        return Outcome.of(await self.fn(context, **args))
