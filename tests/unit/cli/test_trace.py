"""A run's prompt on the screen, and the files of instructions that `init` writes."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.history.conversation import system_line
from interlock.agents.prompts.bootstrap import BootstrapFolder
from interlock.agents.prompts.prompt import build_prompt
from interlock.cli.details import show_task, show_trace
from interlock.cli.starter import INSTRUCTIONS, write_starter
from interlock.desk.reading.prompts import prompt_view
from interlock.llm.tokens import text_tokens
from tests.unit.agents.test_prompt_layers import ALL

NOW = datetime(2026, 2, 8, tzinfo=UTC)


class Row:
    """A row with the columns that a prompt is shown by."""

    def __init__(self, **columns: Any) -> None:
        self.__dict__ |= columns


def view_of(data: Any, **run: Any) -> dict[str, Any]:
    prompt = build_prompt(data)
    line = system_line(prompt.parts, prompt.record)
    row = Row(message_type=line.message_type, blocks=line.blocks, tool_input=line.tool_input)
    usage = {"input_tokens": 100, "cache_read_tokens": 900}
    return prompt_view(Row(**{"id": "run_1", "step_count": 2, "token_usage": usage, **run}), [row])


def trace(prompt: dict[str, Any] | None) -> dict[str, Any]:
    rest = dict.fromkeys(
        ("stop_reason", "error", "persona", "model", "simulated", "cause_id", "mission_id", "task_id", "forgotten_at")
    )
    return {
        **rest, "id": "run_1", "status": "completed", "cause_kind": "message", "cost_usd": 0.0, "token_usage": {},
        "created_at": NOW, "tool_calls": [], "steps": [], "messages": [
            {"message_type": "system_message", "tool_name": None, "content": "all of it", "tool_input": None},
            {"message_type": "user_message", "tool_name": None, "content": "hello", "tool_input": None},
        ], "prompt": prompt,
    }  # fmt: skip


def test_the_view_counts_each_layer_and_what_can_come_from_a_cache() -> None:
    found = view_of(ALL)
    layers = {layer["name"]: layer for layer in found["layers"]}
    assert layers["blocks"]["stable"] is True
    assert layers["clock"]["stable"] is False
    assert all(layer["tokens"] == text_tokens(layer["text"]) for layer in layers.values())
    tokens = found["tokens"]
    assert (
        tokens["system"] == sum(layer["tokens"] for layer in layers.values()) == tokens["stable"] + tokens["changing"]
    )
    assert (found["mode"], found["left_out"], found["failed"]) == ("full", {}, [])


def test_a_run_that_has_not_begun_has_no_mode() -> None:
    found = prompt_view(Row(id="run_1", step_count=0, token_usage={}), [])
    assert (found["mode"], found["layers"], found["tokens"]["total"]) == (None, [], 0)


def test_the_screen_shows_each_layer_with_its_tokens_and_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    data = replace(ALL, files=(), left_out=(("USER.md", "it is binary"),), failures=("memories: gone",))
    show_trace(trace(view_of(data)), NOW)
    out = capsys.readouterr().out
    assert "mode        full" in out
    assert "from cache  900 of 1,000 tokens that went in, over 2 calls" in out
    assert "failed      memories: gone" in out
    assert "left out    USER.md: it is binary\n            workspace, project, recall," in out
    assert "layer: behaviour" in out
    assert "hello" in out
    assert "all of it" not in out


def test_without_being_asked_for_the_prompt_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_trace({key: value for key, value in trace(None).items() if key != "prompt"}, NOW)
    out = capsys.readouterr().out
    assert "hello" in out
    assert "layer" not in out


FORGED = "so far\n\nWaits for an answer\ninterlock approve apr_1\n\x1b[2J2 min ago  Ada  COMMENT\nfine by me"


def test_no_line_that_an_agent_wrote_looks_like_one_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    said = {"message_type": "assistant_message", "tool_name": None, "content": FORGED, "tool_input": None}
    show_trace({**trace(None), "messages": [said]}, NOW)
    lists = ("depends_on", "subtasks", "votes", "transitions", "runs", "approvals", "turned_back")
    names = ("block_kind", "wait_for", "workflow", "persona", "feedback", "estimate", "deliverable")
    check = {"number": 1, "state": "failed", "set_by": None, "name": "tests", "detail": FORGED}
    told = {"created_at": NOW, "author": "coder", "kind": "COMMENT", "text": FORGED}
    show_task(
        {
            **dict.fromkeys(names), **{name: [] for name in lists}, "title": "It", "id": "tsk_1", "status": "REVIEW",
            "parent_id": "mis_1", "goal": "", "type": "ops", "priority": "low", "cost_usd": 0.0, "budget_usd": 1.0,
            "created_at": NOW, "description": FORGED, "checks": [check], "thread": [told],
        },
        NOW,
    )  # fmt: skip
    out = capsys.readouterr().out.splitlines()
    for line in FORGED.replace("\x1b", "\\x1b").splitlines():
        assert [each for each in out if line and each.endswith(line)] == [f"  {line}"] * 4 * bool(line)


def test_the_files_that_init_writes_cost_nothing_until_somebody_writes_into_them(tmp_path: Path) -> None:
    (tmp_path / "USER.md").write_text("Anna.")
    write_starter(tmp_path)
    assert all((tmp_path / name).stat().st_size > 0 for name in INSTRUCTIONS)
    found = BootstrapFolder(tmp_path, tmp_path / ".interlock/workspaces").look_now()
    assert [(file.name, file.text) for file in found.files] == [("USER.md", "Anna.")]
    assert found.left_out == ()
    with (tmp_path / "AGENTS.md").open("a") as file:
        file.write("\n- Be brief.\n")
    found = BootstrapFolder(tmp_path, tmp_path / ".interlock/workspaces").look_now()
    assert found.files[0].text.endswith("\n- Be brief.")
