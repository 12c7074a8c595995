"""The scripted job by agent-framework-core, which stores nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agent_framework import BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, Run, main


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Three calls of a tool, then a word."""

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self.counts = counts

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        async def answer() -> ChatResponse:
            self.counts.model += 1
            done = sum(1 for message in messages if str(message.role) == "assistant")
            if done >= TOOL_CALLS:
                return ChatResponse(messages=[Message(role="assistant", contents=[ANSWER])])
            call = Content.from_function_call(f"call_{done}", "lookup_order", arguments={"order_id": str(done)})
            return ChatResponse(messages=[Message(role="assistant", contents=[call])])

        return answer()


@asynccontextmanager
async def opening(_: str, __: int, counts: Counts) -> AsyncIterator[Run]:
    """One agent, no session."""

    async def lookup_order(order_id: str) -> str:
        """Looks up an order."""
        return counts.order(order_id)

    agent = Scripted(counts).as_agent(instructions="You help.", tools=[lookup_order])

    async def run(_: int) -> str:
        return str((await agent.run(QUESTION)).text)

    yield run


if __name__ == "__main__":
    main(usual=opening)
