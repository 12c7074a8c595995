"""Input and output of the policy: calls, callers, presented approvals, decisions. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.policy.risk import Effect, Risk, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as proposed by a model."""

    tool: str
    args: Any = field(default_factory=dict)
    description: str = ""
    input_schema: Any = None
    declared_risk: str | None = None
    """The risk declared by the tool's own author; None for foreign tools, whose declaration does not count."""
    digest: str = ""
    """The digest of the tool's definition, to which grants are bound. Empty: no grant covers it."""
    is_builtin: bool = False
    """Whether it is one of our tools, to which the built-in table applies, rather than one of the same name."""
    labels: frozenset[str] = frozenset()
    """The reach of the tool as declared by its author: untrusted, private, outward."""
    may_use: frozenset[str] = frozenset()
    """Those of the named secrets in its arguments that the settings allow this tool at its destination."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """Annotations of an MCP tool (`destructiveHint`, `openWorldHint`, …); they raise, never lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a tool; all fields are from the run, none from the model."""

    agent_name: str = ""
    persona: str = ""
    trust: Trust = Trust.INTERN
    project: str = ""
    task_type: str | None = None
    cost_usd: float = 0.0
    """The cost of its task so far; for a chat, of its run."""
    labels: frozenset[str] = frozenset()
    """The taint of its run so far: untrusted, private. Source: row C11."""
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovedBinding:
    """A person's approval, and the call for which it is presented."""

    approval_id: str
    subject: str
    """`binding.subject_hash` of what was approved."""
    presented: str
    """`binding.subject_hash` of the call as it is now."""
    people: int = 1
    """How many different people approved."""
    not_requester: bool = False
    """Whether none of them is the person on whose behalf the call is made."""
    consulted: bool = False
    """Whether models were asked about exactly these arguments first, or need not be."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a call, with its reasons."""

    risk: Risk
    effect: Effect
    rules: tuple[str, ...]
    """Ids of the rules that matched, or that could not be evaluated."""
    reasons: tuple[str, ...]
    """Sentences for people and models, the tool's own risk first; they contain no values of the arguments."""
    people: int = 1
    """How many must approve, if it is held."""
    not_requester: bool = False
    consensus: bool = False
    """Whether models must agree before a person is asked. Source: row C8."""
    expires_s: int | None = None
    """The lifetime of the question; None: as in the settings."""
    policy_hash: str = ""
    grantable: bool = False
    """Whether it is held only because of its agent's trust, so that a grant would lift it. Source: row C7."""
    grant: str | None = None
    """The grant that lifted it."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A finding about a call; findings only raise its risk."""

    rule: str
    """`builtin:<what>`."""
    risk: Risk
    reason: str
    """A clause for people and models, without values of the arguments."""
    holds: bool = False
    """Whether the call waits for a person whatever the matrix says of its risk."""
