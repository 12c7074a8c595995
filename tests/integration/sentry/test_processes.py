"""Telemetry of the command line: a whole mission with a DSN; without one nothing of Sentry is loaded or sent."""

from dataclasses import replace

from tests import processes
from tests.integration.cli_process import Cli
from tests.integration.sentry.receiver import receiving, values

OFFLINE = ("--model", "rehearsal/offline")
MISSION = """
import asyncio, sys
from pathlib import Path
from interlock import Interlock

opened = []
sys.addaudithook(lambda event, args: opened.append(args[1]) if event == "socket.connect" else None)

async def main():
    async with Interlock.open(cwd=Path.cwd(), model="rehearsal/offline") as box:
        found = await box.run("Compare two vendors and write a memo")
        print(found.status, len(found.approvals) > 0 or found.deliverable is not None)

asyncio.run(main())
print("sentry_sdk" in {name.partition(".")[0] for name in sys.modules}, opened)
"""


def _mission(cli: Cli, **variables: str) -> list[str]:
    code, out, err = processes.run(
        ("-c", MISSION), folder=cli.folder, environment=cli.environment(variables), anew=cli.anew
    )
    assert code == 0, err
    return out.splitlines()


def test_without_a_dsn_nothing_of_sentry_is_loaded_and_nothing_sent(cli: Cli) -> None:
    went, loaded = _mission(replace(cli, anew=True))
    assert went.endswith("True")
    assert loaded == "False []"


def test_mission_is_one_trace_of_nested_spans(cli: Cli) -> None:
    with receiving() as receiver:
        went, loaded = _mission(cli, SENTRY_DSN=receiver.dsn)
    assert went.endswith("True")
    assert loaded.startswith("True")
    spans = receiver.spans
    assert len({span["trace_id"] for span in spans.raw}) == 1
    agents = {values(span).get("gen_ai.agent.name") for span in spans.of("gen_ai.invoke_agent")}
    assert len(agents) > 1
    for op in ("interlock.coordinate", "interlock.resolve", "interlock.prompt", "queue.publish", "queue.receive"):
        assert spans.of(op), op
    assert {tuple(spans.above(span)[:2]) for span in spans.of("gen_ai.execute_tool")} == {
        ("interlock.step", "gen_ai.invoke_agent")
    }
    assert len(receiver.counted("interlock.invocations")) > 1
    assert "Compare" not in receiver.everything


def test_question_and_its_answer_in_another_process_are_told(cli: Cli) -> None:
    with receiving() as receiver:
        waits = cli("run", "Compare A and B and e-mail it to canary@example.com", *OFFLINE, SENTRY_DSN=receiver.dsn)
        assert waits.code == 3
        [card] = cli("approvals", "--json").json()
        assert cli("approve", card["id"], "--note", "canary", SENTRY_DSN=receiver.dsn).code == 0
    told = {body: log for body, log in receiver.logs if log.get("interlock.approval_id") == card["id"]}
    assert set(told) == {"approval asked", "approval answered"}
    assert told["approval answered"]["interlock.verdict"] == "approve"
    assert told["approval asked"]["interlock.mission_id"] == told["approval answered"]["interlock.mission_id"]
    assert "canary" not in receiver.everything


def test_doctor_says_whether_telemetry_is_on(cli: Cli) -> None:
    def found(**variables: str) -> tuple[str, str]:
        done = cli("doctor", "--json", **variables)
        assert "hush-hush" not in done.out
        finding = next(each for each in done.json() if each["check"] == "telemetry")
        return finding["state"], finding["found"]

    assert found() == ("ok", "off, nothing is sent: set SENTRY_DSN to tell Sentry how runs go")
    on = "on, to Sentry at sentry.example.com as production; no words of a run are sent"
    assert found(SENTRY_DSN="https://hush-hush@sentry.example.com/7") == ("ok", on)
    fault = "sentry.dsn is not a DSN: copy it from the project's client keys in Sentry"
    assert found(SENTRY_DSN="https://hush-hush@sentry.example.com") == ("error", fault)


def test_what_is_no_dsn_ends_a_command_in_a_line(cli: Cli) -> None:
    refused = cli("run", "x", *OFFLINE, SENTRY_DSN="http://hush-hush@host")
    assert refused.code == 2
    assert "sentry.dsn" in refused.err
    assert "hush-hush" not in refused.err + refused.out
