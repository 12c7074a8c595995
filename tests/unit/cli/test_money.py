"""Commands about money, in this process: what they print, and their exit codes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock import Interlock
from interlock.cli.main import run
from interlock.store.money.ledger import ACCOUNTS


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one mission that was rehearsed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    asyncio.run(_mission())
    return tmp_path


async def _mission(change: Any = None) -> None:
    async with Interlock.open(model="rehearsal/offline") as box:
        if change is None:
            await box.run("Compare A and B")
        else:
            await box.runtime.store.write(lambda tx: tx.run(change))


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """A command's exit code, output and errors."""
    capsys.readouterr()
    code = run(args)
    told = capsys.readouterr()
    return code, told.out, told.err


def test_ledger_and_budgets_from_the_command_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (account,) = [a["id"] for a in json.loads(said(capsys, "budget", "--json")[1]) if a["kind"] == "mission"]
    mission = account.partition(":")[2]
    code, out, _ = said(capsys, "budget", "raise", mission, "2", "--note", "it is worth it")
    assert (code, out) == (0, f"{account} may spend $22.00 now, $22.00 of it is left\n")
    assert "may spend $3.00 now" in said(capsys, "budget", "set", account, "3")[1]
    for args, words in (
        (("raise", account, "-12.5"), "`-12.5` is not an amount to raise a limit by: give dollars from 0.01 to"),
        (("set", account, "-1", "--note", "x"), "`-1` is not a limit: give dollars from 0 to"),
        (("raise", "X", "1"), "no account `X`"),
    ):
        code, _, err = said(capsys, "budget", *args)
        assert (code, words in err) == (1 if "X" in args else 2, True), err
    code, _, err = said(capsys, "ledger", "--mission", mission, "--after", "led_none")
    assert (code, err) == (1, "interlock: no line `led_none`: give the id of the last line that you saw\n")
    code, out, _ = said(capsys, "ledger", "--mission", mission)
    assert code == 0
    for words in ("first limit $20.00", "set aside", "limit raised", "it is worth it", "limit lowered", "$19.00"):
        assert words in out
    assert out.endswith("and so says the account, under a limit of $3.00\n")
    found = json.loads(said(capsys, "ledger", "--account", account, "--limit", "2", "--json")[1])
    assert len(found["lines"]) == 2
    assert found["next"] == found["lines"][-1]["id"]
    assert "no task has been finished" in said(capsys, "budget", "estimates")[1]
    code, out, _ = said(capsys, "ledger", "verify")
    assert (code, "agree with" in out) == (0, True)
    wrong = sa.update(ACCOUNTS).where(ACCOUNTS.c.id == account).values(settled_microusd=1_500_000)
    asyncio.run(_mission(wrong))
    code, out, _ = said(capsys, "ledger", "verify")
    assert (code, "a difference of $1.500000" in out) == (1, True)
    assert "but the account says $1.50 spent" in said(capsys, "ledger", "--account", account)[1]
    assert said(capsys, "budget", "set", account, "1")[0] == 1
    assert said(capsys, "budget", "raise", "nobody", "1")[2].startswith("interlock: no account `nobody`")


def test_prices_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "interlock.yaml").write_text("prices: prices.yaml\n")
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n- {provider: acme, model: new, bands: [{input: 3000000, output: 9000000}]}\n")
    code, out, _ = said(capsys, "prices")
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["acme/new", "any", "$3", "$9"]
    assert "any other" in out
    (shown,) = json.loads(said(capsys, "prices", "acme", "--json")[1])
    assert (shown["model"], shown["holds"], shown["source"].endswith("prices.yaml:2")) == ("acme/new", True, True)
    code, _, err = said(capsys, "prices", "acme/nwe")
    assert (code, "did you mean `acme/new`" in err) == (1, True)
    prices.write_text("models:\n- {provider: acme, model: new, bands: [{input: free, output: 9}]}\n")
    code, _, err = said(capsys, "prices")
    assert (code, "prices.yaml:2: `bands` needs entries" in err) == (2, True)
