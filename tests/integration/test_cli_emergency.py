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
