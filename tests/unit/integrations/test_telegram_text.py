"""How texts and cards become messages that Telegram takes; not how they are sent."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from interlock.desk.chats.cards import Action, Card, Fact, Passage, Tone
from interlock.integrations.telegram.layout import Page, pages, shortened
from interlock.integrations.telegram.text import (
    MOST_MARKS,
    MOST_UNITS,
    Mark,
    Piece,
    markup,
    plain,
    split,
    typed,
    units,
)
from interlock.testing.telegram_state import seen

FAMILY = "👨‍👩‍👧‍👦"
SIGNS = st.sampled_from(
    ["a", "é", "e\u0301", "🙂", "👍🏽", FAMILY, "🇩🇪", "🇫🇷", " ", "\n", "\n\n", "<", "&", ">", "&amp;", "中"]
)
TEXTS = st.lists(SIGNS, max_size=120).map("".join)
PIECES = st.lists(st.builds(Piece, TEXTS, st.sampled_from(Mark)), max_size=12)
APPROVE = Action("approve", "Approve", "apr_1")
DENY = Action("deny", "Deny", "apr_1", needs_reason=True)


def body(page: Page) -> str:
    """What people see of a page, without what numbers it."""
    return re.sub(r"\A\d+/\d+\n|\n⋯\Z", "", page.plain)


def test_a_long_text_is_counted_in_utf_16_units() -> None:
    assert [units(text) for text in ("abc", "é", "🙂", FAMILY)] == [3, 1, 2, 11]


@given(PIECES, st.integers(20, 60))
def test_parts_lose_nothing_and_fit(pieces: list[Piece], room: int) -> None:
    parts = split(pieces, room)
    assert "".join(plain(part) for part in parts) == plain(pieces)
    assert all(0 < units(plain(part)) <= room for part in parts)


@given(PIECES, st.integers(20, 60))
def test_every_sign_keeps_its_mark(pieces: list[Piece], room: int) -> None:
    def signs(found: list[Piece]) -> list[tuple[str, Mark]]:
        return [(sign, piece.mark) for piece in found for sign in piece.text]

    assert signs([piece for part in split(pieces, room) for piece in part]) == signs(pieces)


@given(
    st.lists(st.sampled_from(["a", "🙂", "👍🏽", FAMILY, "🇩🇪", "e\u0301"]), min_size=1, max_size=80),
    st.integers(16, 40),
)
def test_no_part_begins_within_a_sign_that_people_see_as_one(signs: list[str], room: int) -> None:
    starts, at = set(), 0
    for sign in signs:
        starts.add(at)
        at += len(sign)
    cut = 0
    for part in split([Piece("".join(signs))], room):
        assert cut in starts
        cut += len(plain(part))


@given(PIECES)
def test_markup_is_what_telegram_reads_back(pieces: list[Piece]) -> None:
    text = plain(pieces).strip()
    if text:
        assert seen(markup(pieces), "HTML") == text


def test_parts_end_after_paragraphs_before_they_end_within_lines() -> None:
    text = "first paragraph here\n\nsecond one\nwith a line"
    assert [plain(part) for part in split([Piece(text)], 30)] == ["first paragraph here\n\n", "second one\nwith a line"]


def test_a_message_has_no_more_marks_than_telegram_keeps() -> None:
    parts = split([Piece("x", Mark.BOLD), Piece(" ")] * 250)
    assert [sum(piece.mark is Mark.BOLD for piece in part) for part in parts] == [MOST_MARKS, MOST_MARKS, 70]


def test_a_small_card_is_one_message_with_its_buttons() -> None:
    card = Card(
        "May I push?", (Fact("Risk", "RED"),), (Passage("git push <origin> && x", "Command", verbatim=True),),
        (APPROVE, DENY), "until noon", Tone.RED,
    )  # fmt: skip
    (page,) = pages(card)
    assert page.markup == (
        "<b>🔴 May I push?</b>\n<b>Risk</b>: RED\n\n<b>Command</b>\n<pre>git push &lt;origin&gt; &amp;&amp; x</pre>"
        "\n\n<i>until noon</i>"
    )
    assert [(button.label, button.data) for button in page.buttons] == [("Approve", "a:apr_1"), ("Deny", "d:apr_1")]


@given(
    st.lists(
        st.sampled_from(["  + let it = 'be' 🙂;\n", " context\n", "x" * 700, "\n\n", "<&>"]), min_size=1, max_size=60
    )
)
def test_what_is_approved_is_there_letter_by_letter(lines: list[str]) -> None:
    command = "$ " + "".join(lines) + "end"
    found = pages(Card("Write a file", passages=(Passage(command, verbatim=True),), actions=(APPROVE,)))
    blocks = [re.findall(r"<pre>(.*?)</pre>", page.markup, re.DOTALL) for page in found]
    assert html.unescape("".join(block for page in blocks for block in page)) == command
    assert all(units(seen(page.markup, "HTML")) <= MOST_UNITS for page in found)


def test_a_long_card_has_its_head_first_and_its_buttons_last() -> None:
    found = pages(Card("Title", passages=(Passage("word " * 3000),), actions=(APPROVE,), footer="until noon"))
    assert body(found[0]) == "Title\n\nuntil noon"
    assert [bool(page.buttons) for page in found] == [False] * (len(found) - 1) + [True]
    assert [page.plain.split("\n")[0] for page in found[1:]] == [f"{n}/{len(found)}" for n in range(2, len(found) + 1)]


def test_blanks_at_the_ends_of_a_part_survive_the_trimming_of_telegram() -> None:
    code = "".join(f"{'    ' * (number % 9)}line {number}  \n" for number in range(900)) + "end"
    found = pages(Card("Diff", passages=(Passage(code, verbatim=True),)))
    shown = [seen(page.markup, "HTML") for page in found[1:]]
    assert "".join(re.sub(r"\A\d+/\d+\n|\n⋯\Z", "", text) for text in shown) == code


def test_buttons_that_would_be_too_large_become_commands_to_type() -> None:
    (page,) = pages(Card("Q", actions=(Action("deny", "Deny", "x" * 63, needs_reason=True),)))
    assert page.buttons == ()
    assert f"Deny: /deny {'x' * 63} …" in page.plain


def test_data_of_a_button_counts_in_bytes() -> None:
    (page,) = pages(Card("Q", actions=(Action("approve", "Yes", "é" * 31), Action("approve", "No", "é" * 32))))
    assert [button.label for button in page.buttons] == ["Yes"]


def test_text_of_an_agent_rings_nobody_and_hides_nothing() -> None:
    (page,) = pages(
        Card("T", passages=(Passage("ask @everyone or a@b.example"), Passage("rm \u202etxt\r", verbatim=True)))
    )
    assert "@\u2060everyone or a@b.example" in page.plain
    assert "rm \\u202etxt\\r" in page.plain


def test_text_of_an_agent_offers_no_command_to_tap() -> None:
    lure = "Tap /resume or /STOP@interlock_bot (see a/stop and /stopwatch), ask @boss, or /approve apr_1"
    (page,) = pages(Card(lure, (Fact(lure, lure),), (Passage(lure, lure),)))
    assert re.findall(r"(?<![\w/])/(\w+)", page.plain) == ["stopwatch", "approve"] * 5
    assert re.findall(r"@\w+", page.plain) == ["@interlock_bot"] * 5, "within a word that is none any more"
    assert typed(page.plain).count(lure) == 5


def test_a_question_has_a_button_that_asks_for_words() -> None:
    (page,) = pages(Card("Which one?", actions=(Action("approve", "Answer", "apr_1", needs_reason=True),)))
    assert [(button.label, button.data) for button in page.buttons] == [("Answer", "q:apr_1")]


def test_a_card_that_outgrew_its_messages_loses_its_buttons_and_says_where_the_rest_is() -> None:
    card = Card("Long", passages=(Passage("word " * 3000),), actions=(APPROVE,))
    found = shortened(card, 2)
    assert len(found) == 2
    assert found[-1].buttons == ()
    assert "/approvals" in found[-1].plain


def test_a_card_that_still_fits_is_not_shortened() -> None:
    card = Card("Long", passages=(Passage("word " * 3000),), actions=(APPROVE,))
    assert shortened(card, len(pages(card))) == pages(card)
