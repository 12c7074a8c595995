"""What happens reaches clients over server-sent events: all of it, in order, once, and only to who may see it."""

from pathlib import Path

from interlock.llm.messages import Delta
from interlock.testing.scripted import Stream as Said
from tests.integration.web.house import Stream, house


async def test_chat_streams_its_words_and_ends_with_the_reply(tmp_path: Path) -> None:
    said = Said(Delta("text", "Two of "), Delta("text", "three."), "Two of three.")
    async with house(tmp_path, said) as home:
        body = {"message": "How many?", "stream": True}
        stream = await Stream.open(home.port, "/api/agents/research/chat", home.token, body=body)
        events = await stream.until("done")
        assert await stream.next() is None
        stream.close()
    assert [e.name for e in events] == ["lifecycle", "assistant", "assistant", "lifecycle", "done"]
    assert "".join(e.data["delta"] for e in events if e.name == "assistant") == "Two of three."
    done = events[-1].data
    assert set(done) == {"response", "tool_calls", "iterations", "run_id", "stop_reason", "cost_usd"}
    assert done["response"] == "Two of three."
    assert f"x-run-id: {done['run_id']}".encode() in stream.head
