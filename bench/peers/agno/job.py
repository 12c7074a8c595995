"""The scripted job by agno with its SQLite database, which it opens with synchronous FULL."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import AsyncSqliteDb
from agno.models.base import Model
from agno.models.response import ModelResponse

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, Run, main


@dataclass
class Scripted(Model):
    """Three calls of a tool, then a word."""

    id: str = "scripted"
    counts: Any = None

    async def ainvoke(self, *_: Any, messages: Any = (), assistant_message: Any = None, **__: Any) -> ModelResponse:
        """The next reply of the script."""
        self.counts.model += 1
        done = sum(1 for message in messages if message.role == "assistant")
        if done >= TOOL_CALLS:
            return ModelResponse(role="assistant", content=ANSWER)
        function = {"name": "lookup_order", "arguments": json.dumps({"order_id": str(done)})}
        call = {"id": f"call_{done}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """Not used here."""
        raise AssertionError("only asynchronous calls are made")

    invoke_stream = ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


@asynccontextmanager
async def opening(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """An agent whose runs are sessions of their own."""
    stored = AsyncSqliteDb(db_file=database.removeprefix("sqlite:///"))

    async def lookup_order(order_id: str) -> str:
        """Looks up an order."""
        return counts.order(order_id)

    model = Scripted(counts=counts)
    agent = Agent(model=model, tools=[lookup_order], db=stored, telemetry=False)

    async def run(number: int) -> str:
        return str((await agent.arun(QUESTION, session_id=str(number))).content)

    yield run


if __name__ == "__main__":
    main(usual=opening)
