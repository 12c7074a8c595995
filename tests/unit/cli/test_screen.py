"""How things look: times, money, JSON, and text that must not steer a terminal."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.cli import screen

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"), (0.4, "now"), (12, "12 s ago"), (180, "3 min ago"), (7200, "2 h ago"), (5 * 86_400, "5 d ago"),
        (-1800, "in 30 min"), (-86_400, "in 1 d"),
    ],
)  # fmt: skip
def test_times_are_told_from_now(seconds: float, words: str) -> None:
    assert screen.ago(NOW - timedelta(seconds=seconds), NOW) == words


def test_what_never_was_is_a_dash() -> None:
    assert screen.ago(None, NOW) == "–"
    assert screen.dollars(None) == "–"


@pytest.mark.parametrize(
    ("amount", "words"), [(0.0, "$0.00"), (0.0042, "$0.0042"), (1.2, "$1.20"), (1234.5, "$1,234.50")]
)
def test_money_has_as_many_decimals_as_it_deserves(amount: float, words: str) -> None:
    assert screen.dollars(amount) == words


@given(st.text())
def test_no_text_reaches_the_terminal_with_a_control_character_in_it(text: str) -> None:
    shown = screen.plain(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert not any(c in shown for c in "\u202e\u2066\u200f\ufeff")
    assert "\n" not in screen.plain(text, one_line=True)


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert screen.plain("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"


def test_a_table_in_a_pipe_is_whole_whatever_its_width(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    screen.table(("ID", ">N", "~WHAT"), [("a", 1, long), ("bb", 22, "short")], empty="none")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert long in lines[1]
    assert lines[2].startswith("bb")


def test_a_cell_is_one_line_and_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    screen.table(("WHAT",), [("[red]a\nb[/red]",)], empty="none")
    assert capsys.readouterr().out.splitlines()[1].rstrip() == "[red]a b[/red]"


def test_an_empty_listing_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    screen.table(("ID",), [], empty="no missions yet")
    assert capsys.readouterr().out == "no missions yet\n"


def test_json_has_utc_times_and_plain_values(capsys: pytest.CaptureFixture[str]) -> None:
    screen.data({"at": NOW, "path": Path("a/b"), "some": frozenset({"b", "a"}), "content": b"caf\xc3\xa9"})
    assert json.loads(capsys.readouterr().out) == {
        "at": "2026-11-21T12:00:00Z",
        "path": "a/b",
        "some": ["a", "b"],
        "content": "café",
    }


class Terminal(io.StringIO):
    """A terminal that keeps what it is shown."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Terminal]:
    """A terminal of so many columns in place of the standard output."""

    def of(columns: int) -> Terminal:
        found = Terminal()
        for name, value in (("COLUMNS", str(columns)), ("LINES", "24"), ("NO_COLOR", "1"), ("TERM", "dumb")):
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stdout", found)
        return found

    return of


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 200])
def test_no_column_but_the_last_is_ever_cut(terminal: Callable[[int], Terminal], columns: int) -> None:
    shown = terminal(columns)
    row = ("mis_1m8080e4xrpcfxbdnm", "IN_PROGRESS", "system:coordinator", "$1,020.00", "word " * 60)
    screen.table(("ID", "STATE", "WHO", ">COST", "~GOAL"), [row], empty="none")
    assert all(cell in shown.getvalue() for cell in row[:-1])
    assert shown.getvalue().rstrip().endswith("…")


def test_what_may_be_wrapped_is_whole_and_stays_in_its_column(terminal: Callable[[int], Terminal]) -> None:
    shown = terminal(60)
    screen.table(("CHECK", "+FOUND"), [("model", "set this or try that " * 8)], empty="none")
    lines = shown.getvalue().splitlines()[1:]
    assert " ".join(" ".join(lines).split()) == "model " + ("set this or try that " * 8).strip()
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith(" " * 7) for line in lines[1:])


@given(value=st.text(st.sampled_from("ab \n\t\r"), min_size=1), columns=st.sampled_from([40, 80, 120]))
def test_no_value_can_look_like_another_pair(value: str, columns: int) -> None:
    shown = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "dumb")
        patch.setattr("sys.stdout", shown)
        screen.facts([("  body", value), ("id\nrisk", "x")])
    assert [line[:8].strip() for line in shown.getvalue().split("\n") if line[:8].strip()] == ["body", "id risk"]


def test_a_name_cannot_steer_the_terminal_either(capsys: pytest.CaptureFixture[str]) -> None:
    screen.facts([("\x1b[2Jto", "x")])
    assert capsys.readouterr().out == "\\x1b[2Jto  x\n"


def test_facts_leave_out_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    screen.facts([("id", "a"), ("blocked", None), ("cost so far", "$0.00")])
    assert capsys.readouterr().out == "id           a\ncost so far  $0.00\n"


@pytest.mark.parametrize(("count", "said"), [(2, ""), (3, "these are the newest 3: there may be more\n")])
def test_list_that_is_full_says_that_there_may_be_more(
    count: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    screen.cut(range(count), 3)
    assert capsys.readouterr().err == said
