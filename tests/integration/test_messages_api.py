"""The local Messages API that users test with: as a process of its own, and what it turns away."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from interlock.llm.anthropic import AnthropicModel
from interlock.llm.messages import Message, ModelError, ModelRequest, Reply, Text
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, in_order, text
from tests import processes

SCRIPT = """
from interlock.testing.messages_script import Answer, Ending, text

def answer(request, number):
    ending = Ending.RESET if number == 2 else Ending.WHOLE
    return Answer([text(f"answer {number} for " + request["model"])], ending=ending)
"""
ASKED = ModelRequest("m", (), (Message("user", (Text("hello"),)),), timeout_s=20)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Where the process listens, and its journal."""
    (tmp_path / "my_script.py").write_text(SCRIPT)
    journal = tmp_path / "journal.jsonl"
    command = ("-m", "interlock.testing.messages_api", "--script", "my_script:answer", "--api-key", "sk-right-key")
    told = ("--journal", str(journal))
    with processes.running((*command, *told), folder=tmp_path, environment={"PATH": os.defpath}) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip().removeprefix("listening on "), journal


async def reply_of(base_url: str, key: str = "sk-right-key") -> Reply:
    model = AnthropicModel(key, base_url)
    try:
        *_, reply = [item async for item in model.stream(ASKED)]
    finally:
        await model.close()
    assert isinstance(reply, Reply)
    return reply


async def test_a_process_answers_from_a_script_and_keeps_a_journal(process: tuple[str, Path]) -> None:
    base_url, journal = process
    assert (await reply_of(base_url)).message.text == "answer 1 for m"
    with pytest.raises(ModelError):
        await reply_of(base_url)
    assert (await reply_of(base_url)).message.text == "answer 3 for m"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    happened = [(line["number"], line["event"]) for line in lines]
    assert happened[:5] == [(1, "request"), (1, "answered"), (2, "request"), (2, "abandoned"), (3, "request")]
    assert lines[0]["body"]["messages"][0]["content"][0]["text"] == "hello"


async def test_a_process_lets_only_its_key_in(process: tuple[str, Path]) -> None:
    with pytest.raises(ModelError, match="check ANTHROPIC_API_KEY"):
        await reply_of(process[0], "sk-wrong-key")


@pytest.mark.parametrize("header", [{"authorization": "Bearer k"}, {"x-api-key": "k"}])
async def test_either_spelling_of_the_key_is_accepted(header: dict[str, str]) -> None:
    async with MessagesApi(in_order(Answer([text("so")])), api_key="k") as api, httpx2.AsyncClient() as client:
        answer = await client.post(f"{api.base_url}/v1/messages", json={"model": "m"}, headers=header)
    assert answer.json()["content"] == [{"type": "text", "text": "so"}]


async def test_a_call_without_a_key_or_elsewhere_is_turned_away() -> None:
    async with MessagesApi(in_order(Answer())) as api, httpx2.AsyncClient() as client:
        keyless = await client.post(f"{api.base_url}/v1/messages", json={})
        elsewhere = await client.get(f"{api.base_url}/v1/models")
    assert (keyless.status_code, elsewhere.status_code) == (401, 404)
