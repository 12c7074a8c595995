"""The first minutes: init, doctor, demo."""

import asyncio
from pathlib import Path

from interlock.agents.persona import load_personas
from interlock.core.clock import SystemClock
from interlock.core.values import digest
from interlock.store import blobs, squad
from interlock.store.engine import Store
from interlock.store.tx import Tx
from tests.integration.cli_process import Cli


def test_init_writes_files_that_are_fine_as_they_are(cli: Cli) -> None:
    done = cli("init", "here")
    assert done.code == 0
    inside = Cli(cli.folder / "here")
    assert inside("policy", "check").code == 0
    assert inside("persona", "check").code == 0
    assert len(load_personas(False, [inside.folder / "personas"], known_tools=frozenset()).personas) == 11
    explained = inside("policy", "explain", '{"tool": "file_write", "args": {"path": "contracts/a", "content": ""}}')
    assert '"risk": "RED"' in explained.out
    assert '"contracts"' in explained.out
    assert inside("run", "Compare A and B", "--model", "rehearsal/offline").code == 0


def test_init_never_overwrites(cli: Cli) -> None:
    (cli.folder / "policy.yaml").write_text("version: 1\n")
    first = cli("init")
    (cli.folder / "personas" / "coder.yaml").write_text("mine")
    second = cli("init")
    assert "kept   policy.yaml" in first.out
    assert "wrote" not in second.out
    assert (cli.folder / "policy.yaml").read_text() == "version: 1\n"
    assert (cli.folder / "personas" / "coder.yaml").read_text() == "mine"


def test_doctor_shows_no_key_and_ends_with_1_where_something_is_wrong(cli: Cli) -> None:
    (cli.folder / "AGENTS.md").write_text("Be brief.")
    (cli.folder / "USER.md").write_bytes(b"\x00")
    elsewhere = {"INTERLOCK_PROVIDERS__GROQ__BASE_URL": "http://me:heron@127.0.0.1:9/v1?k=heron"}
    fine = cli("doctor", ANTHROPIC_API_KEY="sk-ant-Qx7-zebra-unshown", **elsewhere)
    assert fine.code == 0
    assert "groq: at http://127.0.0.1:9/v1" in fine.out
    assert "heron" not in fine.out
    assert "AGENTS.md, about 4 tokens of a prompt" in fine.out
    assert "agents are not shown all of USER.md: it is binary" in fine.out
    assert "anthropic: set, 24 characters" in fine.out
    assert not any(part in fine.out for part in ("sk-ant", "zebra", "Qx7"))
    broken = cli("doctor", ANTHROPIC_API_KEY="sk-ant-cut in two")
    assert broken.code == 1
    assert "space or line break" in broken.out
    assert "two" not in broken.out
    (cli.folder / "policy.yaml").write_text("version: 2\n")
    wrong = cli("doctor", "--json", INTERLOCK_TIMES__REASSIGN_S="5")
    assert wrong.code == 1
    assert [f["check"] for f in wrong.json() if f["state"] == "error"] == ["policy"]
    (times,) = [f for f in wrong.json() if f["check"] == "times"]
    assert (times["state"], "`times.reassign_s` is less than twice" in times["found"]) == ("warning", True)


def test_nobody_else_can_read_the_database_wherever_it_is_and_doctor_says_so_of_an_older_one(cli: Cli) -> None:
    folder = cli.folder / "open"
    folder.mkdir(mode=0o755)
    file, there = folder / "interlock.db", {"INTERLOCK_HOME": str(folder)}
    assert cli("run", "Compare A and B", "--model", "rehearsal/offline", **there).code == 0
    modes = {path.name: path.stat().st_mode & 0o077 for path in folder.iterdir() if path.is_file()}
    assert {name for name, mode in modes.items() if mode} == {".gitignore"}
    assert {"interlock.db", "executing.lock"} <= set(modes)
    assert not any(each["check"] == "readers" for each in cli("doctor", "--json", **there).json())
    file.chmod(0o644)
    (told,) = [each for each in cli("doctor", "--json", **there).json() if each["check"] == "readers"]
    assert (told["state"], f"run `chmod 600 {file}`" in told["found"]) == ("warning", True)


def fill(tx: Tx) -> None:
    """A project with files of 250 MiB on the books, and another one with hardly any; replaced ones do not count."""
    now = SystemClock().now()
    for project in ("default", "small"):
        squad.ensure_project(tx, project, "UTC", now)
    for path, data, base in (("a", b"first", 0), ("a", b"second", 1), ("b", b"third", 0), ("c", b"gone", 0)):
        blobs.write_file(tx, "default", path, data, now, base_version=base, run_id=None)
    blobs.write_file(tx, "default", "c", None, now, base_version=1, run_id=None)
    blobs.write_file(tx, "small", "a", b"little", now, base_version=0, run_id=None)
    tx.run(blobs.BLOBS.update().where(blobs.BLOBS.c.size > len(b"gone")).values(size=125 << 20))
    tx.run(blobs.BLOBS.update().where(blobs.BLOBS.c.hash == digest(b"little")).values(size=6))


def test_doctor_warns_of_a_project_whose_agents_can_soon_write_no_more_files(cli: Cli) -> None:
    def told() -> list[tuple[str, str]]:
        return [(each["state"], each["found"]) for each in cli("doctor", "--json").json() if each["check"] == "files"]

    async def filled() -> None:
        async with Store(f"sqlite:///{cli.folder / '.interlock' / 'interlock.db'}") as store:
            await store.write(fill)

    assert told() == []
    assert cli("run", "Compare A and B", "--model", "rehearsal/offline", "--no-wait").code == 0
    asyncio.run(filled())
    [(state, found)] = told()
    assert (state, found.partition(": after")[0]) == (
        "warning", "project default: 2 files of at most 5,000, 250 MiB of at most 256",
    )  # fmt: skip


def test_doctor_tells_whether_what_reaches_the_outside_is_set_up(cli: Cli) -> None:
    def found(**variables: str) -> dict[str, tuple[str, str]]:
        return {each["check"]: (each["state"], each["found"]) for each in cli("doctor", "--json", **variables).json()}

    without = found()
    assert "set BRAVE_API_KEY" in without["search"][1]
    assert all("not set up" in without[check][1] for check in ("e-mail", "slack", "telegram"))
    half = found(
        INTERLOCK_SMTP__HOST="mail.example.com", SLACK_BOT_TOKEN="xoxb-1", TELEGRAM_BOT_TOKEN="1:a",
        INTERLOCK_TELEGRAM__WEBHOOK_URL="https://example.com/telegram/webhook",
    )  # fmt: skip
    assert half["e-mail"] == ("warning", "it has no sender: set `smtp.sender` in interlock.yaml")
    assert half["slack"] == ("error", "it cannot be heard: set SLACK_APP_TOKEN or SLACK_SIGNING_SECRET")
    assert half["telegram"] == ("error", "its webhook has no secret: set INTERLOCK_TELEGRAM__WEBHOOK_SECRET")
    whole = found(
        BRAVE_API_KEY="hush", INTERLOCK_SMTP__HOST="mail.example.com", INTERLOCK_SMTP__SENDER="a@example.com",
        SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1", INTERLOCK_SLACK__CHANNEL="C1", TELEGRAM_BOT_TOKEN="1:a",
    )  # fmt: skip
    assert whole["search"] == ("ok", "by Brave")
    assert whole["e-mail"] == ("ok", "by smtp as a@example.com")
    assert whole["slack"] == ("ok", "by Socket Mode, alerts go to C1")
    assert whole["telegram"] == ("ok", "by polling; alerts go nowhere without `telegram.chat`")
    hooked = found(
        TELEGRAM_BOT_TOKEN="1:a", INTERLOCK_TELEGRAM__WEBHOOK_SECRET="hush",
        INTERLOCK_TELEGRAM__WEBHOOK_URL="https://me:s3cretpw@example.com/telegram/webhook",
    )  # fmt: skip
    assert "example.com/telegram/webhook" in hooked["telegram"][1]
    assert not any("s3cretpw" in told or "hush" in told for _, told in hooked.values())
    postal = {"INTERLOCK_POSTAL__BASE_URL": "https://p.example.com", "INTERLOCK_POSTAL__SENDER": "a@example.com"}
    assert found(**postal)["e-mail"] == ("warning", "Postal needs a key: set POSTAL_API_KEY")


def test_the_demo_goes_from_goal_to_signed_deliverable(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "demo"
    done = cli("demo", "--home", str(home), INTERLOCK_MODEL="nobody/x", ANTHROPIC_API_KEY="unused")
    assert done.code == 0
    for words in ("A person must sign", "send_email", "board@example.com", "approved by", "The plan, done", "DONE"):
        assert words in done.out
    assert (home / "deliverable.md").read_text().startswith("# Compare three session stores")
    calls = [
        call
        for run in cli("runs", "--json", INTERLOCK_HOME=str(home)).json()
        for call in cli("trace", run["id"], "--json", INTERLOCK_HOME=str(home)).json()["tool_calls"]
        if call["tool"] == "send_email"
    ]
    assert [(call["status"], call["risk"], call["simulated"]) for call in calls] == [("done", "RED", True)]


def test_doctor_tells_whether_commands_of_checks_can_run(cli: Cli) -> None:
    def told(**variables: str) -> tuple[str, str]:
        (found,) = [each for each in cli("doctor", "--json", **variables).json() if each["check"] == "sandbox"]
        return found["state"], found["found"]

    empty = cli.folder / "empty"
    empty.mkdir()
    assert told() == ("ok", "bubblewrap works")
    assert told(PATH=str(empty)) == (
        "warning", "commands of checks cannot run here: install bubblewrap (Debian: `apt install bubblewrap`)",
    )  # fmt: skip
    off = "commands of checks run with this account's files and network: leave `sandbox.checks` out"
    assert told(INTERLOCK_SANDBOX__CHECKS="off") == ("warning", off)
