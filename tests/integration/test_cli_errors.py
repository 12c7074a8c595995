"""Bad input: one clear line on stderr, the fixed exit code, and nothing written."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.worker.home import HomeLock
from tests import processes
from tests.integration.cli_process import Cli, until

OFFLINE = ("--model", "rehearsal/offline")


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("run", "Compare A and B"), 2, "set ANTHROPIC_API_KEY or another provider's key"),
        (("run", "  ", *OFFLINE), 2, "the goal is empty"),
        (("run", "x", "--model", "nonsense"), 2, "nonsense"),
        (("run", "x", "--model", "nobody/x"), 2, "there is no provider `nobody`"),
        (("run", "x", "--deadline", "soon", *OFFLINE), 2, "`soon` is not a time"),
        (("run", "x", "--budget", "0", *OFFLINE), 2, "`0` is not a budget"),
        (("run", "x", "--budget", "much", *OFFLINE), 2, "invalid value for `--budget`: it should be a number"),
        (("run", "x", "--project", "A b", *OFFLINE), 2, "`A b` is not a valid project name: use at most"),
        (("ledger", "--limit", "0"), 2, "invalid value for `--limit`: it should be at least 1: see"),
        (("run",), 2, "missing argument `GOAL`"),
        (("runn", "x"), 2, "no such command `runn`"),
        (("status",), 2, "no such command `status`, did you mean `task`? See `interlock --help`"),
        (("approvals", "--status", "x"), 2, "no such option: --status: see `interlock approvals --help`"),
        (("tasks",), 1, "start a mission with `interlock run`"),
        (("approve", "apr_x"), 1, "start a mission with `interlock run`"),
        (("deny", "apr_x"), 2, "missing option `--reason`"),
        (("approve", "apr_x", "--args", "{"), 2, "the arguments are not JSON"),
        (("approve", "apr_x", "--args", "[]"), 2, "not a JSON object"),
        (("approve", "apr_x", "--args", '{"to": "a", "to": "b"}'), 2, "the key `to` stands in the arguments twice"),
        (("policy", "check", "nowhere.yaml"), 2, "nowhere.yaml:1: cannot be read"),
        (("policy", "explain"), 2, "give one call as JSON, or `--stdin`"),
        (("policy", "explain", "{"), 2, "the call is not JSON"),
        (("policy", "explain", '{"args": {}}'), 2, "the call names no tool"),
        (("persona", "check", "nowhere"), 2, "there is no such file or folder"),
    ],
)
def test_a_wrong_command_is_one_line_that_says_what_to_do(
    cli: Cli, args: tuple[str, ...], code: int, says: str
) -> None:
    done = cli(*args)
    assert (done.code, done.out) == (code, "")
    assert len(done.err.splitlines()) == 1
    assert says in done.err


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"INTERLOCK_DATABASE_URL": "mysql://x/y"}, "`mysql` is not a database that interlock supports"),
        ({"INTERLOCK_DATABASE_URL": "postgresql://me:hush@127.0.0.1:1/x"}, "127.0.0.1"),
        ({"INTERLOCK_CONCURRENCY": "many"}, "INTERLOCK_CONCURRENCY: `concurrency`"),
        ({"INTERLOCK_DATABASE_URL": "hush"}, "it is not a URL"),
        ({"INTERLOCK_HOME": "/proc/nowhere"}, "/proc/nowhere"),
    ],
)
def test_a_setting_that_cannot_work_is_named_without_its_secrets(
    cli: Cli, variables: dict[str, str], says: str
) -> None:
    done = cli("run", "x", *OFFLINE, **variables)
    assert done.code in (1, 2)
    assert len(done.err.splitlines()) == 1
    assert says in done.err
    assert "hush" not in done.err


def test_a_question_to_the_policy_tells_what_it_did_not_understand(cli: Cli) -> None:
    done = cli("policy", "explain", '{"tool": "file_read", "persona": "nobody", "tsk": {}}')
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert "key `tsk` is ignored: did you mean `task`" in done.err
    assert "there is no persona `nobody`: it is judged as a specialist" in done.err


def test_doctor_finds_a_home_that_is_a_file(cli: Cli) -> None:
    (cli.folder / "file").write_text("x")
    done = cli("doctor", "--json", INTERLOCK_HOME="file")
    assert done.code == 1
    assert "home" in [finding["check"] for finding in done.json() if finding["state"] == "error"]


def test_every_fault_of_the_settings_is_told_at_once(cli: Cli) -> None:
    (cli.folder / "interlock.yaml").write_text("modle: a/b\nconcurrency: 0\n")
    done = cli("missions")
    assert done.code == 2
    assert {line.split(": ")[1] for line in done.err.splitlines()} == {"interlock.yaml:1", "interlock.yaml:2"}


def test_a_broken_policy_stops_the_start_with_all_its_faults(cli: Cli) -> None:
    (cli.folder / "policy.yaml").write_text("version: 1\nrules:\n  - {id: a, risk: PINK}\nbsae: {}\n")
    done = cli("run", "x", *OFFLINE)
    assert done.code == 2
    assert {line.split(": ")[1] for line in done.err.splitlines()} == {"policy.yaml:3", "policy.yaml:4"}
    assert not (cli.folder / ".interlock" / "interlock.db").exists()


def test_a_bad_persona_is_refused_and_the_others_work(cli: Cli) -> None:
    (cli.folder / "personas").mkdir()
    (cli.folder / "personas" / "bad.yaml").write_text("schema_version: 1\nname: bad\nname: again\n")
    done = cli("run", "Compare A and B", *OFFLINE)
    assert done.code == 0
    assert "bad.yaml:3" in done.err
    checked = cli("persona", "check")
    assert checked.code == 2
    assert "bad.yaml:3" in checked.err


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to look like one" * 20, b""])
def test_a_file_that_is_no_database_of_ours_is_left_alone(cli: Cli, content: bytes) -> None:
    database = cli.folder / ".interlock" / "interlock.db"
    database.parent.mkdir()
    if content:
        database.write_bytes(content)
    else:
        with sqlite3.connect(database) as other:
            other.execute("CREATE TABLE theirs (x)")
    before = database.read_bytes()
    done = cli("missions")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert database.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused_and_left_alone(cli: Cli) -> None:
    assert cli("run", "x", "--no-wait", *OFFLINE).code == 0
    with sqlite3.connect(cli.folder / ".interlock" / "interlock.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.execute("UPDATE meta SET value = '9999' WHERE key = 'minimum_reader'")
    done = cli("missions")
    assert done.code == 1
    assert "revision `9999`" in done.err


def test_an_unknown_id_suggests_what_was_meant(cli: Cli) -> None:
    mission = cli("run", "x", "--no-wait", "--json", *OFFLINE).json()["mission_id"]
    done = cli("task", mission[:-1] + "~")
    assert (done.code, f"did you mean `{mission}`" in done.err) == (1, True)


def test_name_or_id_that_leads_nowhere_ends_one_and_not_two(cli: Cli) -> None:
    assert cli("run", "x", "--no-wait", *OFFLINE).code == 0
    for command in (
        "quarantine nobody", "release nobody", "reset nobody", "queue nobody", "chat nobody hello",
        "session export nobody", "schedule remove nothing", "schedule list --project no", "channel list --project no",
        "channel create a --member nobody", "channel show nothing", "memory search --project no", "outbox retry seven",
        "memory search --persona nobody", "memory show nothing", "budget estimates --project no", "outbox retry 7",
        "prices nothing", "token revoke nothing", "token create a --project no", "missions --project no",
        "people role nobody viewer", "run x --workflow nothing --no-wait", "tasks --mission no",
    ):  # fmt: skip
        done = cli(*command.split(), INTERLOCK_MODEL="rehearsal/offline")
        assert (command, done.code, done.out, done.err.count("\n")) == (command, 1, "", 1), done.err


def test_details_of_the_unexpected_go_to_a_file_without_secrets(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import interlock.cli.opening as o\n"
        "def broken(**_):\n"
        "    raise RuntimeError('key sk-ant-api03-' + 'a' * 80)\n"
        "o.settings = broken\n"
    )
    done = cli("persona", "list", PYTHONPATH=f"{tmp_path}:{cli.environment({})['PYTHONPATH']}")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert ".interlock/errors.log" in done.err
    log = (tmp_path / ".interlock" / "errors.log").read_text()
    assert "RuntimeError" in log
    assert "a" * 80 not in log + done.err


def test_characters_that_the_terminal_lacks_are_told_by_number(cli: Cli) -> None:
    done = replace(cli, anew=True)("doctor", INTERLOCK_HOME="日本", PYTHONIOENCODING="latin-1")
    assert "something unexpected" not in done.err
    assert "\\u65e5\\u672c" in done.out


def test_a_process_goes_on_where_there_is_no_room_for_what_it_says(cli: Cli) -> None:
    environment = cli.environment({"INTERLOCK_MODEL": "rehearsal/offline"})
    with open("/dev/full", "wb") as full:
        up = processes.start(
            ("-m", "interlock.cli", "up"), folder=cli.folder, environment=environment, stdout=full, stderr=full
        )
    try:
        lock = HomeLock(cli.folder / ".interlock")
        until(lambda: up.poll() is not None or lock.holder())
        done = cli("run", "Write a haiku about queues", "--model", "rehearsal/offline")
        assert (done.code, up.poll()) == (0, None), done.err
    finally:
        processes.close(up)
