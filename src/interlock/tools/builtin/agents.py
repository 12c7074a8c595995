"""start_background_agent, sessions_spawn and send_agent_message: concurrent agents, and messages to them.

Rows E11, E12. Limits and mailboxes are in the store.
"""

from typing import Any

from interlock.core.errors import InterlockError
from interlock.store.auditing import audit
from interlock.store.errors import StoreError
from interlock.store.messages import agent_mail
from interlock.store.messages.agent_mail import Letter
from interlock.store.runs import subagents
from interlock.store.runs.subagents import Order, Started
from interlock.tools.builtin.schemas import arguments, text
from interlock.tools.contract import Outcome, Tool, ToolContext, write
from interlock.tools.errors import ToolError

LONGEST_PROMPT = 50_000
LONGEST_MESSAGE = 10_000
LOOP = "AGENT_LOOP"
"""The kind of the alert on two agents that exchange messages without end."""


async def _background(ctx: ToolContext, /, *, prompt: str, persona: str | None = None) -> dict[str, Any]:
    return await _started(ctx, prompt, persona, None)


async def _spawn(ctx: ToolContext, /, *, task: str, label: str, persona: str | None = None) -> dict[str, Any]:
    return await _started(ctx, task, persona, label)


async def _started(ctx: ToolContext, prompt: str, persona: str | None, label: str | None) -> dict[str, Any]:
    limits = ctx.settings.subagents
    order = Order(
        token=ctx.idempotency_token, run_id=ctx.run_id, actor=ctx.actor, prompt=prompt, label=label,
        persona=persona or ctx.persona, persona_json=_cast(ctx, persona), labels=ctx.taint, most=limits.most,
        per_parent=limits.per_parent, life_s=limits.life_s,
    )  # fmt: skip
    try:
        started: Started = await ctx.write(subagents.start, order, ctx.now)
    except StoreError:
        raise
    except InterlockError as error:
        raise ToolError(str(error)) from error
    return {
        "agent_id": started.agent_id, "session": started.key, "persona": started.persona,
        "note": "It works on its own from now on. You are told its result when it ends, in a message of its own: do "
        "not wait for it, and do not do its work.",
    }  # fmt: skip


def _cast(ctx: ToolContext, persona: str | None) -> Any:
    """A persona in the form stored with an agent; None for the agent's own.

    Raises ToolError for an unknown name.
    """
    if persona is None or persona == ctx.persona:
        return None
    found = ctx.cast(persona) if ctx.cast is not None else None
    if found is None:
        raise ToolError(f"there is no persona `{persona}` here: leave `persona` out for one like yourself")
    return found


async def _send(ctx: ToolContext, /, *, text: str, agent_id: str | None = None) -> Outcome:
    to_id = agent_id or await ctx.store.read(agent_mail.foreground, ctx.run_id, ctx.project_id)
    if to_id is None:
        raise ToolError("nobody talks with an agent of this project, so there is no one to tell: put it in your result")
    if to_id == ctx.agent_id:
        return Outcome("nothing was sent: that would be yourself; say it in your answer")
    try:
        to = await ctx.store.read(agent_mail.recipient, ctx.project_id, to_id)
    except StoreError:
        raise
    except InterlockError as error:
        raise ToolError(str(error)) from error
    limits = ctx.settings.loops
    if await ctx.store.read(agent_mail.count_between, ctx.agent_id, to.id, limits, ctx.now) >= limits.messages:
        return _round_in_circles(ctx, to)
    letter = Letter(
        key=ctx.call_id, sender_id=ctx.agent_id, persona=ctx.persona, run_id=ctx.run_id, to_id=to.id, text=text,
        labels=ctx.taint,
    )  # fmt: skip
    return Outcome(f"sent to {to.persona} ({to.id})", writes=(write(agent_mail.send, letter, ctx.now),))


def _round_in_circles(ctx: ToolContext, to: Any) -> Outcome:
    """Source: row I1."""
    limits = ctx.settings.loops
    many = f"{limits.messages} messages went between {ctx.persona} and {to.persona} within {limits.messages_s:g} s"
    alert = write(
        audit.alert, ctx.now, project_id=ctx.project_id, severity="warning", kind=LOOP, subject=ctx.run_id,
        text=f"{many}: what {ctx.persona} wanted to add was not sent; `interlock trace {ctx.run_id}` shows it",
        key="agents:" + ":".join(sorted((ctx.agent_id, to.id))),
    )  # fmt: skip
    return Outcome(f"not sent: {many}, which looks like a loop. Come to an end without it.", True, (alert,))


_PERSONA = text("Who is to do it, such as `research`. Leave it out for one like yourself.", longest=64)
START_BACKGROUND_AGENT = Tool(
    name="start_background_agent",
    description=(
        "Starts a new agent that works in the background on what you ask, and returns at once with its id. It sees "
        "nothing of your conversation. Its result comes to you later, in a message of its own. Use it for work that "
        "takes long and that you need not watch; a few may work at a time."
    ),
    input_schema=arguments(
        "prompt",
        prompt=text(
            "All that it must know: what to do, with which facts and limits, what its result shall be, and what to "
            "report with send_agent_message meanwhile.",
            longest=LONGEST_PROMPT,
        ),
        persona=_PERSONA,
    ),
    fn=_background,
    risk="YELLOW",
    idempotent=True,
    outside=False,
)
SESSIONS_SPAWN = Tool(
    name="sessions_spawn",
    description=(
        "Starts an agent in a session of its own under a label, and returns at once with its id. As "
        "start_background_agent, but no two of yours have the same label at a time."
    ),
    input_schema=arguments(
        "task",
        "label",
        task=text("All that it must know of its task; it sees nothing of your conversation.", longest=LONGEST_PROMPT),
        label={
            **text("A short name for this piece of work, such as `vendor-check`.", longest=64),
            "pattern": r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        },
        persona=_PERSONA,
    ),
    fn=_spawn,
    risk="YELLOW",
    idempotent=True,
    outside=False,
)
SEND_AGENT_MESSAGE = Tool(
    name="send_agent_message",
    description=(
        "Tells another agent something; it reads it when its turn comes, and you go on at once. Without `agent_id` it "
        "goes to the agent with which the person talks for whom you work. Not for people, and not for your result."
    ),
    input_schema=arguments(
        "text",
        text=text("What it is to know, in a few sentences that stand alone.", longest=LONGEST_MESSAGE),
        agent_id=text("The id of an agent, as you were told it.", longest=64),
    ),
    fn=_send,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
TOOLS = (START_BACKGROUND_AGENT, SESSIONS_SPAWN, SEND_AGENT_MESSAGE)
