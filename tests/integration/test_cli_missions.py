"""Missions from the command line: progress, exit codes, answers from another process, signals."""

import json
import signal

import pytest

from tests.integration.cli_process import Cli, ended, line_with, until

OFFLINE = ("--model", "rehearsal/offline")
GREEN = "Compare A and B"
HELD = "Compare A and B and e-mail the result to board@example.com"


def test_a_mission_without_a_held_call_ends_with_its_deliverable(cli: Cli) -> None:
    done = cli("run", GREEN, *OFFLINE)
    assert done.code == 0
    assert "# Compare A and B" in done.out
    assert "DONE" in done.out
    [mission] = cli("missions", "--json").json()
    assert (mission["status"], mission["tasks_done"]) == ("DONE", mission["tasks_total"])
    handed = cli("deliverable", mission["id"])
    assert handed.out.startswith("# Compare A and B")
    assert cli("deliverable", mission["id"], "-o", "out.md").code == 0
    assert (cli.folder / "out.md").read_text() == handed.out


def test_a_held_call_ends_the_watch_with_3_and_says_how_to_answer(cli: Cli) -> None:
    done = cli("run", HELD, "--approve", "queue", *OFFLINE)
    assert done.code == 3
    [card] = cli("approvals", "--json").json()
    assert (card["tool"], card["risk"], card["status"]) == ("send_email", "RED", "pending")
    assert f"interlock approve {card['id']}" in done.out
    shown = cli("approvals").out
    for words in ("board@example.com", "operations", "RED", HELD):
        assert words in shown


def test_the_operator_at_the_terminal_is_asked_and_answers(cli: Cli) -> None:
    done = cli("run", HELD, "--approve", "ask", *OFFLINE, stdin="e\nnonsense\nwhat\na\na\n")
    assert done.code == 0
    assert "the arguments are not JSON" in done.err
    assert done.out.count("[a]pprove") == 4
    cards = [c for c in cli("approvals", "--all", "--json").json() if c["tool"] == "send_email"]
    assert [c["status"] for c in cards] == ["used"]


def test_who_has_nobody_to_answer_is_not_asked_again(cli: Cli) -> None:
    done = cli("run", HELD, "--approve", "ask", *OFFLINE, stdin="")
    assert (done.code, done.out.count("[a]pprove")) == (3, 1)


def test_a_denied_call_is_told_with_its_reason(cli: Cli) -> None:
    cli("run", HELD, *OFFLINE)
    [card] = cli("approvals", "--json").json()
    denied = cli("deny", card["id"], "--reason", "wrong address")
    assert (denied.code, "no process executes this home, start `interlock up`" in denied.err) == (0, True)
    again = cli("approve", card["id"])
    assert (again.code, "already denied by" in again.err) == (1, True)


def test_an_answer_from_one_process_wakes_the_mission_in_another(cli: Cli) -> None:
    with cli.running("up", INTERLOCK_MODEL="rehearsal/offline") as up:
        line_with(up, "executing")
        second = cli("up")
        assert (second.code, "another process executes" in second.err) == (1, True)
        mission = cli("run", HELD, "--no-wait", "--json", *OFFLINE).json()["mission_id"]
        answered = 0
        while cli("missions", "--json").json()[0]["status"] != "DONE":
            for card in cli("approvals", "--json").json():
                assert cli("approve", card["id"]).code == 0
                answered += 1
        assert answered == 2
        assert cli("run", GREEN, *OFFLINE).code == 0
        code, took_s = ended(up, signal.SIGTERM)
    assert code == 0
    assert took_s < 30
    assert cli("task", mission, "--json").json()["status"] == "DONE"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_watch_ends_cleanly_and_the_mission_goes_on_at_the_next_start(cli: Cli, how: signal.Signals) -> None:
    with cli.running("run", HELD, "--approve", "ask", *OFFLINE) as run:
        line_with(run, "To sign off")
        code, took_s = ended(run, how)
    assert code == 4
    assert took_s < 30
    [card] = cli("approvals", "--json").json()
    assert cli("approve", card["id"]).code == 0
    with cli.running("up", INTERLOCK_MODEL="rehearsal/offline") as up:
        line_with(up, "executing")
        until(lambda: cli("approvals", "--json").json())
        assert ended(up, signal.SIGINT)[0] == 0


def test_killed_at_any_moment_nothing_is_lost(cli: Cli) -> None:
    with cli.running("run", GREEN, *OFFLINE) as run:
        line_with(run, "IN_PROGRESS")
        run.kill()
    with cli.running("up", INTERLOCK_MODEL="rehearsal/offline") as up:
        until(lambda: cli("missions", "--json").json()[0]["status"] == "DONE")
        ended(up, signal.SIGTERM)
    tasks = cli("tasks", "--json").json()
    assert len({task["key"] for task in tasks}) == len(tasks)


def test_a_canceled_mission_is_stopped(cli: Cli) -> None:
    mission = cli("run", HELD, "--json", *OFFLINE)
    assert mission.code == 3
    ident = mission.json()["mission_id"]
    assert "canceled" in cli("cancel", ident).out
    assert "was canceled already" in cli("cancel", ident).out
    assert cli("missions", "--json").json()[0]["status"] == "CANCELED"


def test_every_listing_speaks_json(cli: Cli) -> None:
    cli("run", HELD, *OFFLINE)
    for listing in ("missions", "tasks", "agents", "runs", "approvals", "alerts", "budget", "doctor"):
        assert isinstance(cli(listing, "--json").json(), list), listing
    run = next(r for r in cli("runs", "--json").json() if r["kind"] == "task")
    trace = cli("trace", run["id"], "--json").json()
    assert trace["steps"]
    assert trace["tool_calls"]
    assert "TOOL" in cli("trace", run["id"]).out
    assert cli("persona", "list", "--json").json()[0]["name"] == "coder"


def test_a_raised_budget_shows(cli: Cli) -> None:
    mission = cli("run", GREEN, "--no-wait", "--json", "--budget", "2", *OFFLINE).json()["mission_id"]
    assert cli("budget", "raise", f"mission:{mission}", "1.5").code == 0
    limits = {a["id"]: a["limit_usd"] for a in cli("budget", "--json").json()}
    assert limits[f"mission:{mission}"] == 3.5


def test_policy_explain_answers_one_line_for_each_call(cli: Cli) -> None:
    calls = [{"tool": "file_read", "args": {"path": "a"}}, {"tool": "send_email", "args": {"to": ["a@b.c"]}}]
    done = cli("policy", "explain", "--stdin", stdin="\n".join(json.dumps(call) for call in calls) + "\noops\n")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [(a.get("risk"), a.get("effect")) for a in answers] == [("GREEN", "allow"), ("RED", "hold"), (None, None)]
    assert (done.code, "line 3 is not JSON" in done.err) == (2, True)
    assert set(answers[0]) == {"risk", "effect", "rules", "reasons"}


def test_up_tells_what_a_person_should_know(cli: Cli) -> None:
    dead = {
        "ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "INTERLOCK_RETRY__MAX_ATTEMPTS": "1", "INTERLOCK_MODEL": "anthropic/claude-sonnet-5-5",
    }  # fmt: skip
    assert cli("run", "Compare A and B", "--no-wait", **dead).code == 0
    with cli.running("up", **dead) as up:
        assert "nothing is lost" in line_with(up, "warning: anthropic")
        assert ended(up, signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("taken", ["interlock.db", "interlock.db-wal"])
def test_up_ends_in_a_line_where_its_database_or_the_log_of_it_is_taken_away(cli: Cli, taken: str) -> None:
    with cli.running("up", INTERLOCK_MODEL="rehearsal/offline") as up:
        line_with(up, "executing")
        (cli.folder / ".interlock" / taken).unlink()
        assert up.wait(60) == 1
        assert up.stderr is not None
        [line] = up.stderr.read().splitlines()
        assert "was deleted or replaced while it was in use: start again" in line


def test_a_project_that_begins_with_a_command_is_told_and_what_it_may_be_a_slip_for(
    cli: Cli, database_url: str
) -> None:
    here = {"INTERLOCK_DATABASE_URL": database_url, "INTERLOCK_MODEL": "rehearsal/offline"}
    assert cli("run", GREEN, "--no-wait", **here).code == 0
    first = cli("run", GREEN, "--no-wait", "--project", "shop", **here)
    again = cli("run", GREEN, "--no-wait", "--project", "shop", **here)
    slip = cli("chat", "research", "hello", "--project", "shpo", "--json", **here)
    told = "project `{}` is new, with 50.00 USD a day of its own"
    assert (first.code, told.format("shop") in first.err) == (0, True)
    assert (again.code, "is new" in again.err) == (0, False)
    assert (slip.code, slip.json()["stop_reason"]) == (0, "end_turn")
    assert f"{told.format('shpo')}; did you mean `shop`?" in slip.err
