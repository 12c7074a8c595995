"""The emergency controls at the command line in a home where nothing was ever done."""

from tests.integration.cli_process import Cli


def test_an_agent_can_be_set_apart_before_it_ever_worked(cli: Cli) -> None:
    cli("people", "list")
    done = cli("quarantine", "research", "--json").json()
    assert (done["agent"], done["state"], done["changed"], done["tasks"]) == ("research", "QUARANTINED", True, [])
    assert cli("quarantine", "research").out.startswith("research was quarantined already\n")
    assert cli("release", "research").out == "research works again\n"


def test_a_stop_stands_in_later_commands_until_somebody_resumes(cli: Cli) -> None:
    cli("people", "list")
    assert cli("stop", "--reason", "fire drill", "--json").json()["mode"] == "stopped"
    waiting = cli("run", "Write a haiku", "--model", "rehearsal/offline", "--approve", "queue")
    assert waiting.code == 4
    assert "fire drill" in waiting.out + waiting.err
    assert "fire drill" in cli("run", "Write a haiku", "--model", "rehearsal/offline", "--no-wait").err
    assert "fire drill" in cli("missions").err
    assert cli("resume", "--json").json() | {"runs": []} == {
        "mode": "running", "before": "stopped", "changed": True, "runs": [],
    }  # fmt: skip
    again = cli("resume")
    assert again.out == "the squad works already\n"
    assert "no process executes this home, start `interlock up`" in again.err


def test_a_squad_can_be_stopped_whatever_is_wrong_with_its_settings(cli: Cli) -> None:
    cli("people", "list")
    (cli.folder / "interlock.yaml").write_text("concurency: 4\npersonas: nowhere\n", encoding="utf-8")
    assert cli("missions").code == 2
    stopped = cli("stop", "--reason", "look out")
    assert (stopped.code, stopped.out.splitlines()[0]) == (0, "the squad is stopped")
    assert "interlock.yaml:1: unknown setting `concurency`" in stopped.err
    assert cli("quarantine", "research").code == 0
    assert cli("resume").code == 2


def test_no_other_squad_is_stopped_where_the_place_is_not_certain(cli: Cli) -> None:
    cli("people", "list")
    (cli.folder / "interlock.yaml").write_text(
        "database_url: sqlite:///elsewhere.db\nconcurrency: [4\n", encoding="utf-8"
    )
    refused = cli("stop")
    assert (refused.code, refused.out) == (2, "")
    assert "interlock.yaml:" in refused.err
