"""A process that serves and one that executes, on one PostgreSQL database: whoever talks over HTTP hears the words."""

import asyncio
from pathlib import Path

from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer
from tests.contract.web.house import Stream
from tests.integration.cli_process import Cli
from tests.processes import Process

TEXT = "The vendors differ in what they call a seat. " * 6


async def said(process: Process, words: str) -> str:
    """The first line of a process with these words."""
    while words not in (line := await process.line()):
        assert line, f"it ended without saying `{words}`"
    return line


async def test_words_of_a_worker_reach_who_talks_with_the_process_that_serves(
    tmp_path: Path, postgres_url: str
) -> None:
    cli = Cli(tmp_path)
    answer = Answer([{"type": "text", "text": TEXT}], pause_s=0.1)
    async with MessagesApi(lambda _body, _number: answer) as provider:
        variables = {
            "INTERLOCK_DATABASE_URL": postgres_url, "ANTHROPIC_BASE_URL": provider.base_url,
            "ANTHROPIC_API_KEY": "a-key-of-tests-1", "INTERLOCK_MODEL": "anthropic/claude-sonnet-5-5",
        }  # fmt: skip
        token = (await asyncio.to_thread(cli, "token", "create", "a test", **variables)).out.strip()
        with cli.running("worker", **variables) as worker, cli.running("serve", "--port", "0", **variables) as serve:
            await said(worker, "executing")
            port = int((await said(serve, "listening at")).rsplit(":", 1)[1])
            body = {"message": "What did you find?", "stream": True}
            stream = await Stream.open(port, "/api/agents/research/chat", token, body=body)
            events = await stream.until("done")
            stream.close()
    deltas = [event.data["delta"] for event in events if event.name == "assistant"]
    assert "".join(deltas) == TEXT
    assert len(deltas) > 3, "they come while they are said"
    assert events[-1].data["response"].strip() == TEXT.strip()
