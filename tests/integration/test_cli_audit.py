"""The audit log and the secrets from the command line: what is shown, which code a finding ends with, and no value."""

import asyncio
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from interlock.core.values import SYSTEM
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from tests.integration.cli_process import Cli


def furnished(cli: Cli) -> Path:
    """A home with five activities; returns its database."""
    path = cli.folder / ".interlock" / "interlock.db"
    path.parent.mkdir()

    def noted(tx: Tx) -> None:
        for number in range(5):
            audit.note(tx, "BUDGET_RAISED", SYSTEM, datetime(2026, 1, number + 1, tzinfo=UTC), project_id="default")

    async def make() -> None:
        await migrate.upgrade(f"sqlite:///{path}")
        async with Store(f"sqlite:///{path}") as store:
            await store.write(noted)

    asyncio.run(make())
    return path


def test_log_is_listed_sealed_exported_and_a_changed_row_ends_with_one(cli: Cli) -> None:
    path = furnished(cli)
    listed = cli("audit", "list", "--since", "2026-01-04", "--action", "budget_raised", "--json").json()
    assert [row["id"] for row in listed] == [4, 5]
    assert "5 activities sealed in 1 batch" in cli("audit", "seal").out
    assert cli("audit", "verify").code == 0
    assert cli("audit", "heads", "--json").json()[0]["count"] == 5
    assert cli("audit", "export", "-o", "log.jsonl").code == 0
    exported = (cli.folder / "log.jsonl").read_text()
    (cli.folder / "log.jsonl").write_text(exported.replace('"id":2,"project_id":"default"', '"id":2,"project_id":"x"'))
    with sqlite3.connect(path) as tampered:
        tampered.execute("DELETE FROM activities WHERE id = 3")
    found = cli("audit", "verify")
    assert (found.code, "activity 3 is gone, which link 1 has sealed" in found.out) == (1, True)
    offline = cli("audit", "verify", "--file", "log.jsonl", "--json")
    assert (offline.code, [fault["row"] for fault in offline.json()["faults"]]) == (1, [2])
    (cli.folder / ".interlock" / "audit.key").unlink()
    lost = cli("audit", "seal")
    assert (lost.code, lost.err.count("\n")) == (1, 1)
    assert "if the key is lost, `interlock audit anew`" in lost.err
    unasked = cli("audit", "anew")
    assert (unasked.code, unasked.out, "say with `--yes`" in unasked.err) == (2, "", True)
    assert cli("audit", "anew", "--yes").code == 0
    for text in ("yesterday", "999999w", "0001-01-01T00:00+14:00"):
        assert cli("audit", "list", "--since", text).code == 2, text


def test_secrets_are_listed_without_their_values_and_missing_ones_are_told(cli: Cli) -> None:
    settings = "secrets:\n  GITHUB: {env: GH, tools: [look], domains: [api.example]}\n  OTHER: {file: away.txt}\n"
    (cli.folder / "interlock.yaml").write_text(settings)
    shown = [cli("secrets", "list", GH="hunter2hunter2"), cli("secrets", "list", "--json", GH="hunter2hunter2")]
    assert all("hunter2" not in each.out + each.err and each.code == 0 for each in shown)
    github, other = json.loads(shown[1].out)
    assert (github["source"], github["problem"], github["tools"]) == ("variable GH", None, ["look"])
    assert "no such file" in other["problem"]
    doctor = cli("doctor", GH="hunter2hunter2").out
    assert "GITHUB from variable GH, for look" in doctor
    assert "the secret `OTHER` cannot be read" in doctor
    assert "heads are not published: set `audit.heads_file`" in doctor
