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


def test_members_come_and_go_and_a_channel_is_closed_and_opened_again(cli: Cli) -> None:
    assert cli("people", "add", "ana").code == 0
    made = cli("channel", "create", "launch", "--member", "coder", "--json").json()
    me, ident = made["members"][0]["name"], made["id"]
    for args, who in (
        (("join", "launch", "@qa"), [me, "coder", "qa"]),
        (("join", "launch", "qa"), [me, "coder", "qa"]),
        (("join", "launch", "ana"), [me, "coder", "qa", "ana"]),
        (("leave", "launch", "@qa"), [me, "coder", "ana"]),
        (("leave", "launch"), ["coder", "ana"]),
        (("join", "launch"), ["coder", "ana", me]),
    ):
        done = cli("channel", *args)
        assert (done.code, done.out) == (0, f"#launch ({ident}): {', '.join(who)}\n"), args
    for name in ("qa", "@research", "nobody"):
        gone = cli("channel", "leave", "launch", name)
        absent = f"interlock: `{name}` is not in `launch`: `interlock channel list` shows who is\n"
        assert (gone.code, gone.err) == (1, absent)
    assert cli("channel", "archive", "launch").out == f"#launch ({ident}): archived\n"
    shut = cli("channel", "say", "launch", "x", "--no-wait")
    assert (shut.code, "open it again with `interlock channel archive launch --off`" in shut.err) == (2, True)
    assert [len(cli("channel", "list", *more, "--json").json()) for more in ((), ("--archived",))] == [0, 1]
    assert cli("channel", "archive", "launch", "--off", "--json").json()["archived_at"] is None
    for option in ("--thread", "--before"):
        lost = cli("channel", "show", "launch", option, "chm_none")
        assert (lost.code, "no message `chm_none` in this channel" in lost.err) == (1, True)
