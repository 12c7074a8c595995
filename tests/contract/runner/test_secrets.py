"""Secrets under attack: a tool gets the value, and nothing that is stored, shown or sent ever has it.

Whatever a run leaves is searched for the value: every row of the database, files, prompts, logs, a backup.
"""

import asyncio
import base64
import logging
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from interlock.app.log_masking import discreet
from interlock.core.errors import Refused
from interlock.desk.reading.details import trace
from interlock.llm.messages import Text
from interlock.policy.placeholders import RULE
from interlock.store.auditing import audit
from interlock.store.schema import Memory, table
from interlock.store.tx import Tx
from interlock.store.upkeep import archive
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.decorated import tool, tool_of
from interlock.tools.registry import Outcome, OutcomeUnknown, Tool, ToolContext, ToolError
from tests.contract.runner.stage import CountingStore, Stage, staged, told

VALUE = "Tr0ub4dor-and-3-horses"
KEY = "a-provider-key-that-looks-like-nothing"
SPELT = (VALUE, base64.b64encode(VALUE.encode()).decode(), VALUE.encode().hex(), VALUE.replace("-", "%2D"))
PLACE = "{{secret:TOKEN}}"
TABLES = [sa.select(each) for each in SQLModel.metadata.sorted_tables]
"""Made once: each statement is compiled once for as long as it is kept."""


class Echo:
    """A tool that gives away what it gets, in each way there is."""

    def __init__(self, how: str, name: str = "echo", *, risk: str = "GREEN") -> None:
        self.how, self.seen = how, list[Any]()
        schema = {"type": "object", "properties": {"auth": {"type": "string"}, "to": {"type": "string"}}}
        self.tool = Tool(name=name, description="Says things.", fn=self._say, risk=risk, input_schema=schema)

    async def _say(self, ctx: ToolContext, /, **args: Any) -> object:
        self.seen.append(args)
        text = f"got {args} and {KEY}, that is {' '.join(SPELT)}"
        match self.how:
            case "error":
                raise ToolError(text)
            case "unknown":
                raise OutcomeUnknown(text)
            case "crash":
                raise RuntimeError(text)
            case "chained":
                raise ToolError("it failed") from ValueError(text)
            case "outcome":
                return Outcome(text, is_error=True)
            case "file":
                await ctx.workspace.write("leak.txt", text.encode())
                return Outcome("done", writes=await ctx.changed_files())
            case "name":
                await ctx.workspace.write(f"notes/{VALUE}.txt", b"nothing")
                return Outcome("done", writes=await ctx.changed_files())
            case "name on disk":
                await ctx.workspace.lay_down()
                (ctx.workspace.root / f"of {VALUE}").mkdir()
                (ctx.workspace.root / f"of {VALUE}" / f"{SPELT[2]}.txt").write_text("nothing")
                return Outcome("done", writes=await ctx.changed_files())
            case "log":
                try:
                    raise ValueError(text)
                except ValueError:
                    logging.getLogger("somebody.else").warning("they sent %s", text, exc_info=True)
                return "done"
            case "long":
                return "x" * 59_990 + VALUE
        return {"all": [text]}


async def on_stage(store: CountingStore, home: Path, model: ScriptedModel, *tools: Any, **secret: Any) -> Stage:
    path = home.parent / f"{home.name}.token"
    path.write_text(VALUE)
    given = {"file": str(path), "tools": ["echo", "note"], "domains": ["*"], **secret}
    return await staged(
        store, home, model, tools, secrets={"TOKEN": given}, providers={"anthropic": {"api_key": KEY}}
    )  # fmt: skip


async def rows(stage: Stage) -> str:
    """All there is in the database, as one text."""

    def read(tx: Tx) -> str:
        return "\n".join(repr(row) for each in TABLES for row in tx.rows(each))

    return await stage.store.read(read)


async def left(stage: Stage, home: Path) -> str:
    """All that was stored, sent to the model, or lies on disk."""
    requests = repr([(r.system, r.messages, r.tools) for r in stage.model.requests])
    files = [path.read_bytes().decode("utf-8", "replace") for path in sorted(home.rglob("*")) if path.is_file()]
    return "\n".join([await rows(stage), requests, *files])


def assert_clean(text: str) -> None:
    for form in (*SPELT, KEY):
        assert form not in text


@pytest.mark.parametrize(
    "how",
    ["result", "error", "unknown", "crash", "chained", "outcome", "file", "name", "name on disk", "log", "long"],
)
async def test_no_way_of_telling_gets_a_value_past_the_door(
    store: CountingStore, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    echo = Echo(how)
    wish = calls("echo", auth=f"Bearer {PLACE}", to="https://anywhere.example")
    stage = await on_stage(store, tmp_path, ScriptedModel(wish, calls("read_file", path="leak.txt"), "done"), echo.tool)
    run = await stage.think(trust="lead")
    with discreet(stage.runtime.vault.scrub):
        await stage.work()
    assert echo.seen == [{"auth": f"Bearer {VALUE}", "to": "https://anywhere.example"}]
    assert_clean(await left(stage, tmp_path) + caplog.text)
    assert ("they sent" in caplog.text) is (how == "log")
    assert PLACE in repr([call.args for call in await stage.calls(run)])
    [used] = await store.read(audit.activities, action="SECRET_USED")
    assert (used.subject, used.run_id, used.data["tool"]) == ("TOKEN", run, "echo")


async def test_a_model_that_says_a_value_says_a_placeholder(store: CountingStore, tmp_path: Path) -> None:
    echo = Echo("result")
    stage = await on_stage(
        store,
        tmp_path,
        ScriptedModel([Text(f"it is {VALUE}"), calls("echo", auth=VALUE)], f"it was {VALUE}"),
        echo.tool,
    )
    await stage.think(trust="lead")
    await stage.work()
    assert echo.seen == [{"auth": "[secret: TOKEN]"}]
    assert_clean(await left(stage, tmp_path))


async def test_a_question_shows_the_placeholder_and_the_approved_call_gets_the_value(
    store: CountingStore, tmp_path: Path
) -> None:
    echo = Echo("result")
    stage = await on_stage(
        store, tmp_path, ScriptedModel(calls("echo", auth=PLACE), "done"), echo.tool, domains=[]
    )  # fmt: skip
    run = await stage.think(trust="lead")
    await stage.work()
    question = await stage.the_question()
    assert (question.risk, RULE in question.rules, question.request["args"]) == ("RED", True, {"auth": PLACE})
    await stage.approve(question.id)
    await stage.work()
    assert echo.seen == [{"auth": VALUE}]
    [used] = await store.read(audit.activities, action="APPROVAL_USED")
    assert used.subject == question.id
    assert_clean(repr(await trace(stage.runtime, run)) + await left(stage, tmp_path))


@pytest.mark.parametrize(
    ("args", "secret", "answer"),
    [
        ({"auth": "{{secret:OTHER}}"}, {}, "there is no secret `OTHER` for echo here; there are: TOKEN"),
        ({"auth": PLACE}, {"tools": []}, "there is no secret `TOKEN` for echo here; there are: none"),
        ({"auth": PLACE}, {"personas": ["somebody"]}, "there are: none"),
        ({"auth": PLACE, "to": "https://evil.example"}, {"domains": ["good.example"]}, "may go to good.example only"),
    ],
)
async def test_a_call_that_may_not_have_a_secret_is_refused_before_anybody_is_asked(
    store: CountingStore, tmp_path: Path, args: dict[str, str], secret: dict[str, Any], answer: str
) -> None:
    echo = Echo("result")
    stage = await on_stage(store, tmp_path, ScriptedModel(calls("echo", **args), "done"), echo.tool, **secret)
    run = await stage.think(trust="lead")
    await stage.work()
    assert (echo.seen, await stage.statuses(run), await stage.pending()) == ([], ["refused"], [])
    assert answer in repr(told(stage.model))


async def test_a_person_who_edits_a_secret_in_gives_no_tool_what_is_not_its_own(
    store: CountingStore, tmp_path: Path
) -> None:
    echo = Echo("result", "other", risk="YELLOW")
    stage = await on_stage(store, tmp_path, ScriptedModel(calls("other", auth="x"), "done"), echo.tool)
    await stage.think(trust="intern")
    await stage.work()
    question = await stage.the_question()
    with pytest.raises(Refused, match="there is no secret `TOKEN` for other here"):
        await stage.approve(question.id, args={"auth": PLACE})
    await stage.approve(question.id)
    await stage.work()
    assert echo.seen == [{"auth": "x"}]
    assert VALUE not in await rows(stage)


async def test_a_call_that_is_edited_keeps_the_secret_that_it_may_have(store: CountingStore, tmp_path: Path) -> None:
    echo = Echo("result", risk="YELLOW")
    wish = calls("echo", auth=PLACE, to="https://one.example")
    stage = await on_stage(store, tmp_path, ScriptedModel(wish, "done"), echo.tool)
    await stage.think(trust="intern")
    await stage.work()
    question = await stage.the_question()
    assert question.risk == "YELLOW"
    await stage.approve(question.id, args={"auth": PLACE, "to": "https://two.example"})
    await stage.work()
    assert echo.seen == [{"auth": VALUE, "to": "https://two.example"}]
    assert_clean(await left(stage, tmp_path))


async def test_a_tool_of_ones_own_asks_for_its_secret_by_name(store: CountingStore, tmp_path: Path) -> None:
    got: list[str] = []

    @tool(risk="GREEN", name="note")
    def note(ctx: ToolContext, about: str) -> str:
        """Notes something."""
        got.append(ctx.secret(about))
        return f"used {got[-1]}"

    model = ScriptedModel(calls("note", about="TOKEN"), calls("note", about="OTHER"), "done")
    stage = await on_stage(store, tmp_path, model, tool_of(note))
    run = await stage.think(trust="lead")
    await stage.work()
    assert (got, await stage.statuses(run)) == ([VALUE], ["done", "failed"])
    assert "there is no secret `OTHER`" in repr(told(model))
    assert [row.subject for row in await store.read(audit.activities, action="SECRET_USED")] == ["TOKEN"]
    assert_clean(await left(stage, tmp_path))


async def test_models_are_told_the_names_of_secrets_that_their_tools_may_use(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await on_stage(store, tmp_path, ScriptedModel("done"), Echo("result").tool)
    await stage.think()
    await stage.work()
    offered = {spec.name: spec.description for spec in stage.model.requests[0].tools}
    assert [name for name, about in offered.items() if PLACE in about] == ["echo"]


async def test_a_backup_holds_no_value(store: CountingStore, tmp_path: Path) -> None:
    echo = Echo("result")
    home = tmp_path / "home"
    stage = await on_stage(store, home, ScriptedModel(calls("echo", auth=PLACE), "done"), echo.tool)
    await stage.think(trust="lead")
    await stage.work()
    path = tmp_path / "b.backup"
    await asyncio.to_thread(archive.back_up, store.url, path, "1", stage.clock.now())
    with archive.Archive(path) as opened:
        held = repr([list(opened.rows(part)) for part in opened.manifest.parts])
    assert PLACE in held
    assert_clean(held)


async def test_secret_at_the_cut_of_a_long_message_is_not_remembered_in_part(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await on_stage(store, tmp_path, ScriptedModel("well"))
    begun = "\nWe use the key "
    filler = "hello there " * 400
    await stage.chat(f"{filler[: 4_000 - len(begun) - 14]}{begun}{VALUE} for the kiosk.", "operations")
    await stage.work()
    kept = await store.read(lambda tx: [row.text for row in tx.rows(sa.select(table(Memory)))])
    assert any("We use the key [secret" in text for text in kept)
    assert VALUE[:8] not in str(kept)
