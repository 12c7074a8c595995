"""do_nothing: an agent's way to state that no action is needed."""

from interlock.tools.builtin.schemas import arguments, text
from interlock.tools.contract import Outcome, Tool, ToolContext


async def _do_nothing(ctx: ToolContext, /, *, reason: str) -> Outcome:
    return Outcome(f"nothing done: {reason}", ends_run=True)


DO_NOTHING = Tool(
    name="do_nothing",
    description=(
        "Ends this run without an answer or any further action. Use it when nothing is asked of you, or when anything "
        "you could do or say would not help."
    ),
    input_schema=arguments("reason", reason=text("Why nothing is called for, in a sentence.", longest=1_000)),
    fn=_do_nothing,
    risk="GREEN",
    idempotent=True,
    outside=False,
    ends_run=True,
)
TOOLS = (DO_NOTHING,)
