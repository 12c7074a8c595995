"""The table of unknown outcomes in the documents is what the code does, row by row. Source: row E9."""

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from interlock.store.engine import Store
from interlock.store.schema import ToolCall, table
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.execute import CallStatus
from tests.chaos.conftest import Databases
from tests.contract.runner.stage import staged
from tests.contract.runner.test_effects import Effect, Killed, killed

PAGE = (Path(__file__).parents[2] / "docs" / "durability.md").read_text("utf-8")
_PART = re.search(r"<!-- retry-table -->\n(.*?)<!-- /retry-table -->", PAGE, re.DOTALL)
assert _PART is not None
ROWS = re.findall(r"^\| `(\w+)`[^|]*\| ([^|]+?) \| ([^|]+?) \|$", _PART[1], re.MULTILINE)
CALLS = table(ToolCall)


def test_table_names_every_status_of_a_call_once() -> None:
    assert sorted(status for status, _, _ in ROWS) == sorted(CallStatus)


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "other"])
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
async def test_call_that_a_dead_process_has_left_behind_is_treated_as_documented(
    sqlite_databases: Databases, tmp_path: Path, row: tuple[str, str, str], idempotent: bool
) -> None:
    status, expected = row[0], row[1 if idempotent else 2]
    held = status == CallStatus.HELD
    effect = Effect(Killed(), "did it", idempotent=idempotent, risk="RED" if held else "YELLOW")
    async with Store(sqlite_databases()) as store:
        stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
        run = await stage.think()
        if not held:
            await killed(stage)
            await store.write(lambda tx: tx.run(sa.update(CALLS).values(status=status, result="said before")))
        await stage.work()
        found = [question.kind for question in await stage.pending()], len(effect.seen)
        ended = await stage.ended(run) == ("completed", "end_turn")
    match expected:
        case "made" | "made again":
            assert (found, ended) == (([], 2), True)
            assert effect.seen[0][1] == effect.seen[1][1]
        case "a person is asked":
            assert (found, ended) == ((["UNKNOWN_OUTCOME"], 1), False)
        case "waits":
            assert (found, ended) == ((["TOOL_CALL"], 0), False)
        case other:
            assert (other, found, ended) == ("kept", ([], 1), True)
