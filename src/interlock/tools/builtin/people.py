"""ask_operator and notification: the two ways from an agent to a person."""

from interlock.core.values import ActorKind
from interlock.store.auditing import audit
from interlock.tools.builtin.schemas import arguments, choice, many, text
from interlock.tools.contract import Outcome, Tool, ToolContext, write
from interlock.tools.errors import ToolError

SEVERITIES = ("info", "warning", "critical")


async def _ask(ctx: ToolContext, /, *, question: str, options: list[str] | None = None) -> Outcome:
    raise ToolError("nobody can be asked here: go on with what you know, and say what you assumed")


async def _notify(ctx: ToolContext, /, *, message: str, severity: str = "info") -> Outcome:
    who = ctx.persona if ctx.actor.kind is ActorKind.AGENT else ctx.actor.id
    alert = write(
        audit.alert,
        ctx.now,
        project_id=ctx.project_id,
        severity=severity,
        kind="notification",
        text=f"{who}: {message}",
        key=f"notification:{ctx.call_id}",
        subject=ctx.task_id or ctx.run_id,
    )
    return Outcome("the operators are notified", writes=(alert,))


ASK_OPERATOR = Tool(
    name="ask_operator",
    description=(
        "Asks a person one question and waits for the answer, which may take hours. Use it only where you cannot go on "
        "without it: a decision that is not yours, a contradiction, something only a person can know. Ask everything "
        "that belongs together at once."
    ),
    input_schema=arguments(
        "question",
        question=text(
            "The question, complete for somebody who has not seen your work: what you need, why, and what follows "
            "from each answer.",
            longest=4_000,
        ),
        options=many(
            "Answers to choose from, where there are some; the person may answer in other words.",
            text("One possible answer.", longest=200),
            least=2,
            most=10,
        ),
    ),
    fn=_ask,
    risk="GREEN",
    idempotent=True,
    outside=False,
    asks=True,
)
NOTIFICATION = Tool(
    name="notification",
    description=(
        "Sends the operators of this project an alert and goes on without waiting. Use it for what a person must know "
        "soon, not for progress or results."
    ),
    input_schema=arguments(
        "message",
        message=text("What happened and what the person should do, in a few sentences.", longest=2_000),
        severity=choice("How much it matters; info where it is left out.", *SEVERITIES),
    ),
    fn=_notify,
    risk="YELLOW",
    idempotent=True,
    outside=False,
)
TOOLS = (ASK_OPERATOR, NOTIFICATION)
