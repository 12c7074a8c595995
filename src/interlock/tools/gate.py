"""The gate of a run: validates and decides every tool call of the model before anything happens.

`execute` decides once more and executes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from interlock.core.ids import new_id
from interlock.llm.messages import ToolUse
from interlock.policy.binding import subject_hash
from interlock.policy.calls import ApprovedBinding, Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.grants import Grant
from interlock.policy.in_force import InForce
from interlock.policy.placeholders import names
from interlock.policy.risk import Effect, Risk
from interlock.policy.rules import Policy
from interlock.store.signoff import grants
from interlock.tools.definitions import call_of
from interlock.tools.pinned import contents, digests_of
from interlock.tools.registry import Tool, Toolbox, ToolContext
from interlock.tools.secrets import Vault, Who


class CallStatus(StrEnum):
    """The status of a tool call, as in `tool_calls.status`."""

    HELD = "held"
    DENIED = "denied"
    REFUSED = "refused"
    READY = "ready"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


ENDED = frozenset(
    {CallStatus.DENIED, CallStatus.REFUSED, CallStatus.DONE, CallStatus.FAILED, CallStatus.SKIPPED}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A tool call that the model requested, with its decision.

    `status` is ready, held, denied or refused; `answer` is set for the last two.
    """

    id: str
    position: int
    use: ToolUse
    tool: Tool | None
    status: CallStatus
    decision: Decision | None
    answer: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    subject: str | None = None
    invalid: bool = False
    """Whether the model made a mistake in calling (unknown tool, bad arguments)."""

    @property
    def only_looks(self) -> bool:
        """Whether the call may run and certainly changes nothing, sends nothing and asks nobody."""
        is_free = self.status is CallStatus.READY and self.decision is not None and self.decision.risk is Risk.GREEN
        return is_free and self.tool is not None and self.tool.read_only and not self.tool.outside


@dataclass(frozen=True, slots=True)
class Gate:
    """What the tool calls of one run are judged with: policy, tools, caller, secrets."""

    in_force: InForce
    toolbox: Toolbox
    offered: frozenset[str]
    caller: Caller
    people_for_red: int = 1
    """How many people must approve a RED call, at least."""
    barred: Mapping[str, str] = field(default_factory=dict)
    """Digests of tools whose definition has changed, each with the id of the approval that asks about it."""
    vault: Vault = field(default_factory=Vault)
    """The secrets that are filled in when a call is executed, and masked in its result."""

    @property
    def policy(self) -> Policy:
        """The policy in force now; it may be replaced during a run."""
        return self.in_force.policy

    async def propose(self, use: ToolUse, position: int, context: ToolContext, labels: frozenset[str]) -> Proposal:
        """Validates and decides a call as the model made it, in a run with these labels; nothing happens yet."""
        tool = self.toolbox.get(use.name) if use.name in self.offered else None
        if tool is None:
            yours = ", ".join(sorted(self.offered)) or "none"
            return _refused(use, position, None, f"there is no tool `{use.name}` for you here; yours are: {yours}")
        if use.args is None:
            return _refused(use, position, tool, "the arguments were not a JSON object: send the call again")
        if errors := self.toolbox.validate(tool, use.args):
            return _refused(use, position, tool, "the arguments are not valid: " + "; ".join(errors))
        if tool.objects is not None and (objection := tool.objects(use.args)) is not None:
            return replace(_refused(use, position, tool, objection), invalid=False)
        if tool.digest in self.barred:
            return _refused(use, position, tool, self.changed(tool))
        if names(use.args) and (problem := self.vault.refusal(self.who(tool), use.args)) is not None:
            return _refused(use, position, tool, problem)
        files = digests_of(await contents(tool, use.args, context.workspace))
        decision = await self.judge(self.call(tool, use.args), context, labels)
        proposal_id = new_id("tcl")
        if decision.effect is Effect.DENY:
            why = "; ".join(decision.reasons) or "the policy forbids it"
            return Proposal(
                id=proposal_id, position=position, use=use, tool=tool, status=CallStatus.DENIED, decision=decision,
                answer=f"denied by the policy ({', '.join(decision.rules)}): {why}. Choose another way.",
            )  # fmt: skip
        held = tool.asks or decision.effect is not Effect.ALLOW
        subject = subject_hash(context.run_id, use.id, tool.digest, use.args, files)
        return Proposal(
            id=proposal_id, position=position, use=use, tool=tool, decision=decision, files=files, subject=subject,
            status=CallStatus.HELD if held else CallStatus.READY,
        )  # fmt: skip

    def call(self, tool: Tool, args: Mapping[str, Any]) -> Call:
        """The call in the form that the policy judges."""
        return call_of(tool, args, self.vault.may_use(self.who(tool), args)) if names(args) else call_of(tool, args)

    async def judge(
        self, call: Call, context: ToolContext, labels: frozenset[str], approval: ApprovedBinding | None = None
    ) -> Decision:
        """Decides a call by the policy in force. Grants are looked up only if one could let the call run."""
        decision = self.decide(call, approval, labels=labels)
        if not decision.grantable or decision.effect is not Effect.HOLD:
            return decision
        live = await context.store.read(
            grants.live, self.caller.project, call.tool, self.caller.persona, context.now, simulated=context.simulated
        )
        return self.decide(call, approval, live, labels=labels) if live else decision

    def decide(
        self,
        call: Call,
        approval: ApprovedBinding | None = None,
        live: Sequence[Grant] = (),
        *,
        labels: frozenset[str] = frozenset(),
    ) -> Decision:
        """Decides a call of a run with these labels, given an approval of it and the grants in force."""
        caller = replace(self.caller, labels=labels) if labels else self.caller
        return decide(
            call, caller, self.policy, approval=approval, grants=live,
            people_for_red=self.people_for_red,
        )  # fmt: skip

    def who(self, tool: Tool) -> Who:
        """The tool and persona that would receive a secret."""
        return Who(tool.name, self.caller.persona, outside=tool.outside)

    def changed(self, tool: Tool) -> str:
        """Why a tool whose definition has changed cannot be used, for the model."""
        question = self.barred[tool.digest]
        return f"`{tool.name}` is not the tool that this project knows: people are asked with approval {question}"

    def subject(self, run_id: str, call_id: str, tool: Tool, args: Any, files: Mapping[str, str]) -> str:
        """What an approval of a call binds to."""
        return subject_hash(run_id, call_id, tool.digest, args, files)


def _refused(use: ToolUse, position: int, tool: Tool | None, answer: str) -> Proposal:
    return Proposal(
        id=new_id("tcl"), position=position, use=use, tool=tool, status=CallStatus.REFUSED, decision=None,
        answer=answer, invalid=True,
    )  # fmt: skip
