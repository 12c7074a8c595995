"""`interlock schedule`, typed."""

from tests.integration.cli_process import Cli

REPORT = ("schedule", "add", "report", "--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin", "--goal", "Write the report")


def test_schedules_are_added_listed_paused_and_removed(cli: Cli) -> None:
    added = cli(*REPORT, "--budget", "3")
    assert (added.code, "report: 0 9 * * 1-5 (Europe/Berlin), next " in added.out) == (0, True)
    assert cli("schedule", "add", "look", "--every", "90m", "--persona", "operations", "What is open?").code == 0
    listed = cli("schedule", "list")
    assert "every 1 h 30 min" in listed.out
    assert "no process fires schedules now: start `interlock up`" in listed.err
    found = {row["name"]: row for row in cli("schedule", "list", "--json").json()}
    assert (found["report"]["kind"], found["report"]["budget_usd"], found["report"]["last"]) == ("goal", 3.0, None)
    assert [time[10:] in ("T09:00:00+01:00", "T09:00:00+02:00") for time in found["report"]["next_times"]] == [True] * 3
    assert (found["look"]["kind"], found["look"]["persona"]) == ("message", "operations")
    assert cli("schedule", "pause", "report").out == "report: paused\n"
    assert cli("schedule", "remove", "report").out == "report: removed\n"
    gone = cli("schedule", "resume", "lok")
    assert gone.code == 1
    assert "no schedule `lok` in the project `default`, did you mean `look`: `interlock schedule list`" in gone.err


def test_what_cannot_be_is_one_line_and_ends_two(cli: Cli) -> None:
    goal = ("--goal", "Write the report")
    for args, told in (
        (("--cron", "0 0 30 2 *", *goal), "cron `0 0 30 2 *`: it never fires: no month that it names has a day 30"),
        (("--cron", "0 9 * * 8", *goal), "field 5 (day of week): `8` is out of range: 0 to 7, or sun to sat"),
        (("--every", "30s", *goal), "an interval of `30s` is out of range: from 60 s to 366 d"),
        (("--every", "1h", "--tz", "Europe/Berln", *goal), "is not a time zone, did you mean `Europe/Berlin`"),
        (goal, "say when: either `--cron"),
        (("--every", "1h"), "say what: either `--goal"),
    ):
        done = cli("schedule", "add", "it", *args)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert told in done.err
    done = cli("schedule", "add", "it", "--every", "1h", "--persona", "operatons", "Hello")
    assert (done.code, "no persona `operatons`, did you mean `operations`" in done.err) == (1, True)
