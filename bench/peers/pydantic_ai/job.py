"""The scripted job by pydantic-ai, made durable by DBOS on SQLite: model calls and tools are steps of a workflow."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, Run, main


def launched(database: str, counts: Counts) -> Callable[[], Awaitable[str]]:
    """The workflow of a run, registered; DBOS has begun to go on with those that a dead process left."""
    settings: Any = {"name": "bench", "system_database_url": database, "log_level": "ERROR", "run_admin_server": False}
    DBOS(config=settings)

    async def scripted(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        counts.model += 1
        done = sum(1 for message in messages if isinstance(message, ModelResponse))
        if done >= TOOL_CALLS:
            return ModelResponse(parts=[TextPart(ANSWER)])
        return ModelResponse(parts=[ToolCallPart("lookup_order", {"order_id": str(done)})])

    agent = Agent(
        FunctionModel(scripted), name="bench", instructions="You help.", capabilities=[DBOSDurability(name="bench")]
    )

    @agent.tool_plain
    @DBOS.step()
    async def lookup_order(order_id: str) -> str:
        """Looks up an order."""
        return counts.order(order_id)

    @DBOS.workflow()
    async def work() -> str:
        return str((await agent.run(QUESTION)).output)

    DBOS.launch()
    made: Callable[[], Awaitable[str]] = work
    return made


@asynccontextmanager
async def opening(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """One workflow for each run."""
    work = launched(database, counts)

    async def run(number: int) -> str:
        with SetWorkflowID(str(number)):
            return await work()

    yield run
    DBOS.destroy()


@asynccontextmanager
async def resume(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Goes on with what a process left that is no more."""
    launched(database, counts)

    async def run(number: int) -> str:
        handle = await DBOS.retrieve_workflow_async(str(number))
        return str(await handle.get_result())

    yield run
    DBOS.destroy()


if __name__ == "__main__":
    main(usual=opening, resume=resume)
