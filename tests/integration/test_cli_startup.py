"""The command line is thin: what it loads before it knows what to do."""

import subprocess
import sys
from dataclasses import replace

from tests.integration.cli_process import Cli

HEAVY = {
    "alembic", "anthropic", "langgraph", "mcp", "nicegui", "openai", "psycopg", "pydantic", "rich", "sentry_sdk",
    "slack_bolt", "sqlalchemy", "sqlmodel", "telegram",
}  # fmt: skip


def loaded_by(cli: Cli, code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    command, environment = [sys.executable, "-c", script], cli.environment({})
    done = subprocess.run(command, cwd=cli.folder, env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_command_line_loads_no_framework(cli: Cli) -> None:
    assert loaded_by(cli, "import interlock.cli, interlock.cli.main") & HEAVY == set()


def test_importing_the_package_loads_nothing_until_it_is_used(cli: Cli) -> None:
    assert loaded_by(cli, "import interlock") & (HEAVY | {"typer"}) == set()
    assert {"langgraph", "sqlmodel"} <= loaded_by(cli, "from interlock import Interlock")


def test_looking_loads_neither_what_executes_nor_what_decides(cli: Cli) -> None:
    asked = [
        ["schedule", "list"], ["missions"], ["tasks"], ["approvals"], ["agents"], ["runs"], ["alerts"], ["budget"],
        ["ledger"], ["outbox"], ["grants"], ["lessons"], ["token", "list"], ["channel", "list"],
    ]  # fmt: skip
    assert cli(*asked[0]).code == 0, "it makes the home"
    code = f"from interlock.cli.main import run\nassert [run(each) for each in {asked!r}] == [0] * {len(asked)}"
    executes = {"alembic", "anthropic", "cel", "httpx", "jsonschema", "langgraph", "mcp", "openai", "psycopg"}
    assert loaded_by(cli, code) & executes == set()


def test_secrets_are_masked_without_what_the_words_of_all_tools_mean(cli: Cli) -> None:
    masks = "from interlock.policy.secrets import scrub\nassert 'hunter22' not in scrub('password=hunter22')"
    code = f"{masks}\nprint(*(name for name in sys.modules if name.startswith('interlock.policy')))"
    found = loaded_by(cli, code)
    assert "interlock.policy.secrets" in found
    assert "interlock.policy.definitions.vocabulary" not in found


def test_help_names_every_command(cli: Cli) -> None:
    done = replace(cli, anew=True)("--help")
    assert done.code == 0
    for name in (
        "init", "demo", "up", "run", "missions", "tasks", "task", "cancel", "deliverable", "agents", "runs", "trace",
        "approvals", "approve", "deny", "policy", "persona", "budget", "doctor", "alerts",
    ):  # fmt: skip
        assert f" {name} " in done.out


def test_version_is_the_packages(cli: Cli) -> None:
    from importlib.metadata import version

    assert replace(cli, anew=True)("--version").out.split() == ["interlock", version("interlock")]
    code = "import runpy\nsys.argv[1:] = ['--version']\nrunpy.run_module('interlock', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], env=cli.environment({}), capture_output=True)
    assert done.stdout.decode().split() == ["interlock", version("interlock")]


def test_questions_about_files_load_neither_a_database_nor_what_executes(cli: Cli) -> None:
    (cli.folder / "policy.yaml").write_text("version: 1\nrules:\n  - {id: a, tools: [file_read], risk: RED}\n")
    asked = [
        ["policy", "check"],
        ["policy", "test"],
        ["policy", "explain", '{"tool": "file_read"}'],
        ["persona", "list"],
    ]
    others = [["--version"], ["--help"], ["policy", "--nope"], ["nothing"]]
    code = f"from interlock.cli.main import run\nassert [run(each) for each in {asked + others!r}] == [0] * 6 + [2] * 2"
    framework = {"alembic", "anthropic", "langgraph", "mcp", "openai", "psycopg", "sqlalchemy", "sqlmodel"}
    assert loaded_by(cli, code) & framework == set()
