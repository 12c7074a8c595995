"""`interlock reset` and `interlock session`, typed."""

import asyncio
import json
from pathlib import Path

from interlock import Interlock
from tests.integration.cli_process import Cli


async def _talk(folder: Path) -> None:
    async with Interlock.open(cwd=folder, env={}, model="rehearsal/offline") as box:
        assert (await box.chat("operations", "hello there")).response


def test_a_conversation_travels_through_a_file_and_begins_anew(cli: Cli) -> None:
    asyncio.run(_talk(cli.folder))
    agent = next(found["id"] for found in cli("agents", "--json").json() if found["persona"] == "operations")
    assert "lines written to s.jsonl" in cli("session", "export", agent, "-o", "s.jsonl").out
    assert ((cli.folder / "s.jsonl").stat().st_mode & 0o777) == 0o600
    text = (cli.folder / "s.jsonl").read_text()
    assert json.loads(text.splitlines()[0])["format"] == "interlock.session"
    assert cli("session", "export", agent).out == text
    refused = cli("session", "import", "s.jsonl")
    assert (refused.code, "add `--replace`" in refused.err) == (1, True)
    assert cli("session", "import", "s.jsonl", "--replace", "--json").json()["agent_id"] == agent
    (cli.folder / "bad.jsonl").write_text(text + "{\n")
    bad = cli("session", "import", "bad.jsonl", "--replace")
    assert bad.code == 2
    assert bad.err.startswith(f"interlock: bad.jsonl:{len(text.splitlines()) + 1}: it is not JSON")
    assert f"begins anew ({agent})" in cli("reset", agent).out
    assert len(cli("session", "export", agent).out.splitlines()) == 1
    assert cli("reset", "nobody").code == 1
