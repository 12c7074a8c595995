"""The scripted job by langchain's `create_agent` with its SQLite or PostgreSQL checkpointer, durability sync."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, Run, main

POOL = 8
THREADS, EARLIER = 10, 1000


class Scripted(BaseChatModel):
    """Three calls of a tool, then a word."""

    counts: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Scripted":
        """Needs nothing."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.counts.model += 1
        begun = max(n for n, m in enumerate(messages) if m.type == "human")
        done = sum(1 for m in messages[begun:] if isinstance(m, AIMessage))
        if done < TOOL_CALLS:
            call = {"id": f"call_{done}", "name": "lookup_order", "args": {"order_id": str(done)}}
            message = AIMessage("", tool_calls=[call])
        else:
            message = AIMessage(ANSWER)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


@asynccontextmanager
async def saver_for(database: str) -> AsyncIterator[Any]:
    """The checkpointer of a database: SQLite with synchronous FULL, PostgreSQL with a pool."""
    if database.startswith("sqlite:///"):
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(database.removeprefix("sqlite:///")) as saver:
            await saver.setup()
            await saver.conn.execute("PRAGMA synchronous=FULL")
            yield saver
        return
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import AsyncConnectionPool

    settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(database, min_size=POOL, max_size=POOL, kwargs=settings) as pool:
        pooled: Any = pool
        server = AsyncPostgresSaver(pooled)
        await server.setup()
        yield server


def agent_over(saver: Any, counts: Counts) -> Any:
    """The agent."""

    async def lookup_order(order_id: str) -> str:
        """Looks up an order."""
        return counts.order(order_id)

    return create_agent(Scripted(counts=counts), [lookup_order], system_prompt="You help.", checkpointer=saver)


@asynccontextmanager
async def opening(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs on threads of their own."""
    async with saver_for(database) as saver:
        agent = agent_over(saver, counts)

        async def run(number: int) -> str:
            return await _asked(agent, number, [])

        yield run


@asynccontextmanager
async def after_one(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs on threads of their own, each after one earlier message."""
    async with saver_for(database) as saver:
        agent = agent_over(saver, counts)

        async def run(number: int) -> str:
            return await _asked(agent, number, [earlier(0)])

        yield run


@asynccontextmanager
async def after_many(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Runs on threads that have a thousand earlier messages each; they take turns, so that none grows by much."""
    async with saver_for(database) as saver:
        agent = agent_over(saver, counts)
        for thread in range(THREADS):
            await agent.aupdate_state(
                {"configurable": {"thread_id": str(thread)}}, {"messages": [earlier(n) for n in range(EARLIER)]}
            )

        async def run(number: int) -> str:
            return await _asked(agent, number % THREADS, [])

        yield run


@asynccontextmanager
async def resume(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Goes on with what a process left that is no more."""
    async with saver_for(database) as saver:
        agent = agent_over(saver, counts)

        async def run(number: int) -> str:
            told = await agent.ainvoke(None, {"configurable": {"thread_id": str(number)}}, durability="sync")
            return str(told["messages"][-1].content)

        yield run


def earlier(number: int) -> dict[str, str]:
    """A message of a conversation: by turns the person's and the answer."""
    role, content = ("assistant", ANSWER) if number % 2 else ("user", QUESTION)
    return {"role": role, "content": content}


async def _asked(agent: Any, thread: int, before: list[dict[str, str]]) -> str:
    question = {"messages": [*before, {"role": "user", "content": QUESTION}]}
    told = await agent.ainvoke(question, {"configurable": {"thread_id": str(thread)}}, durability="sync")
    return str(told["messages"][-1].content)


if __name__ == "__main__":
    main(usual=opening, after_one=after_one, after_many=after_many, resume=resume)
