"""`interlock channel`, typed, with the offline model."""

from tests.integration.cli_process import Cli

OFFLINE = {"INTERLOCK_MODEL": "rehearsal/offline"}


def test_channel_is_made_and_spoken_in(cli: Cli) -> None:
    made = cli("channel", "create", "launch", "--member", "coder", "--member", "qa", **OFFLINE)
    assert (made.code, made.out.partition(" (")[0], made.out.partition(": ")[2].split(", ")[1:]) == (
        0, "#launch", ["coder", "qa\n"],
    )  # fmt: skip
    said = cli("channel", "say", "#launch", "When can we ship?", **OFFLINE)
    lines = [line.partition(" (")[0] for line in said.out.splitlines() if not line.startswith(" ")]
    assert (said.code, lines) == (0, ["coder", "qa"])
    assert "You wrote: “When can we ship?”" in said.out
    shown = cli("channel", "show", "launch", "--json").json()
    assert [row["author"] for row in shown][1:] == ["coder", "qa"]
    gone = cli("channel", "show", "other")
    assert (gone.code, gone.err) == (1, "interlock: no channel `other`: `interlock channel list` lists what there is\n")
