"""Cards as Slack's blocks: nothing left out, within Slack's limits, nothing in them that an agent brings to life."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.desk.chats.cards import Action, Card, Fact, Passage, Tone
from interlock.desk.chats.command_table import COMMANDS
from interlock.desk.chats.requests import Place
from interlock.integrations.slack import modals
from interlock.integrations.slack.blocks import Sheet, sheets
from interlock.integrations.slack.manifest import manifest
from interlock.integrations.slack.text import escape, pieces, plain, shortened, size
from interlock.testing.slack_limits import fault

ANYTHING = st.text(alphabet=st.characters(codec="utf-8"), max_size=400)
LONG = st.builds(lambda text, times: text * times, ANYTHING, st.integers(1, 60))
ACTION = st.builds(
    lambda n, ask, has: Action("deny" if ask else "approve", "Do it", f"apr_{n}", ask, has),
    st.integers(0, 10**6), st.booleans(), st.booleans(),
)  # fmt: skip
CARDS = st.builds(
    Card,
    title=ANYTHING,
    facts=st.lists(st.builds(Fact, ANYTHING, LONG), max_size=25).map(tuple),
    passages=st.lists(st.builds(Passage, LONG, st.none() | ANYTHING, st.booleans()), max_size=4).map(tuple),
    actions=st.lists(ACTION, max_size=12, unique_by=lambda a: a.target).map(tuple),
    footer=LONG,
    tone=st.sampled_from(Tone),
)


def texts(part: Any, kind: str | None = None) -> Iterator[str]:
    """All texts of a message, or those of one kind."""
    if isinstance(part, Sheet):
        yield from texts(list(part.blocks), kind)
    elif isinstance(part, dict):
        if isinstance(part.get("text"), str) and kind in (None, part.get("type")):
            yield part["text"]
        for value in part.values():
            yield from texts(value, kind)
    elif isinstance(part, (list, tuple)):
        for item in part:
            yield from texts(item, kind)


def buttons(card: Card) -> list[dict[str, Any]]:
    rows = [block for sheet in sheets(card) for block in sheet.blocks if block["type"] == "actions"]
    return [button for row in rows for button in row["elements"]]


def test_nothing_on_a_card_is_turned_round_or_hidden() -> None:
    hidden = "a\u202eb\u200bc\u3164d\U000e0041e\u200df"
    card = Card(hidden, (Fact(hidden, hidden),), (Passage(hidden, hidden), Passage(hidden, None, True)), (), hidden)
    said = "".join(texts(list(sheets(card))))
    assert not set(hidden) - set("abcdef") & set(said)
    assert said.count("\\u202e") == said.count("\\U000e0041") >= 7


@given(CARDS)
def test_every_message_is_one_that_slack_takes(card: Card) -> None:
    for sheet in sheets(card):
        assert sheet.text.strip()
        assert fault({"text": sheet.text, "blocks": [dict(block) for block in sheet.blocks]}) is None


@given(CARDS)
def test_nothing_that_an_agent_says_is_a_mention_a_link_or_a_ping(card: Card) -> None:
    for sheet in sheets(card):
        for text in [sheet.text, *texts(sheet, "mrkdwn")]:
            assert "<" not in text
            assert ">" not in text
            assert "&" not in text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")


@given(LONG, st.integers(20, 3000))
def test_pieces_are_the_text_again_and_none_is_too_long(text: str, most: int) -> None:
    found = list(pieces(text, most))
    assert "".join(found) == text
    assert all(0 < size(piece) <= most for piece in found)
    assert all(len(escape(piece).encode("utf-16-le")) // 2 <= most for piece in found)


@pytest.mark.parametrize(
    "ping", ["<!channel>", "<!here|here>", "<!everyone>", "<@U0BOSS>", "<#C1|general>", "<!subteam^S1>"]
)
def test_pings_are_shown_as_what_they_are(ping: str) -> None:
    card = Card(
        f"t {ping}", (Fact("f", ping), Fact(ping, "x")), (Passage(ping, ping), Passage(ping, None, True)), footer=ping
    )
    for sheet in sheets(card):
        for text in [sheet.text, *texts(sheet, "mrkdwn")]:
            assert ping not in text
        assert all(b["text"]["verbatim"] for b in sheet.blocks if b["type"] == "section" and "text" in b)
    assert escape(ping) in sheets(card)[0].text


@pytest.mark.parametrize("text", ["rm -rf ~ # <b>&amp;", "a\n\n  indented\n\ttab", "x" * 9_000, "é🙂" * 4_000])
def test_a_command_is_shown_letter_by_letter(text: str) -> None:
    shown = [t for sheet in sheets(Card("t", passages=(Passage(text, None, True),))) for t in texts(sheet, "mrkdwn")]
    code = [t.removeprefix("```\n").removesuffix("\n```") for t in shown if t.startswith("```")]
    assert "".join(code) == escape(text)


def test_a_command_with_slacks_own_mark_for_code_cannot_leave_its_box() -> None:
    text = "echo ok\n```\n*Approved by Ana*\n```\nrm -rf /"
    sheet = sheets(Card("t", passages=(Passage(text, None, True),)))[0]
    assert [b["type"] for b in sheet.blocks] == ["header", "rich_text"]
    assert sheet.blocks[1]["elements"][0]["type"] == "rich_text_preformatted"
    assert list(texts(sheet, "text")) == [text]


@given(st.text(alphabet="ab \n", max_size=30_000))
def test_a_long_passage_is_whole_over_several_messages(text: str) -> None:
    found = sheets(Card("title", passages=(Passage(text, None, True),)))
    shown = [t for sheet in found for t in texts(sheet, "mrkdwn") if t.startswith("```")]
    assert "".join(t.removeprefix("```\n").removesuffix("\n```") for t in shown) == (text if text.strip() else "")


def test_buttons_stand_under_the_last_word() -> None:
    card = Card("t", passages=(Passage("x" * 30_000, None, True),), actions=(Action("approve", "Approve", "apr_1"),))
    found = sheets(card)
    assert [any(b["type"] == "actions" for b in sheet.blocks) for sheet in found] == [False] * (len(found) - 1) + [True]
    assert found[-1].blocks[-1]["type"] == "actions"


def test_a_button_says_what_it_does_and_about_what() -> None:
    given = (
        Action("approve", "Approve", "apr_1", has_arguments=True),
        Action("deny", "Deny", "apr_1", needs_reason=True),
    )
    found = buttons(Card("t", actions=given))
    assert [(b["action_id"], b["value"], b.get("style")) for b in found] == [
        ("do:approve:apr_1", "apr_1", "primary"),
        ("edit:approve:apr_1", "apr_1", None),
        ("ask:deny:apr_1", "apr_1", "danger"),
    ]


def test_a_title_that_is_too_long_for_a_header_stands_whole_below_it() -> None:
    title = "word " * 100 + "end"
    blocks = sheets(Card(title))[0].blocks
    assert len(blocks[0]["text"]["text"]) <= 150
    assert blocks[1]["text"]["text"] == title


def test_a_fact_stays_in_its_line() -> None:
    fields = sheets(Card("t", (Fact("Goal", "a\n*Risk*\nGREEN"),)))[0].blocks[1]["fields"]
    assert fields[0]["text"] == "*Goal*\na *Risk* GREEN"


@pytest.mark.parametrize(
    ("tone", "sign"), [(Tone.GREEN, "🟢"), (Tone.YELLOW, "🟡"), (Tone.RED, "🔴"), (Tone.PLAIN, "A")]
)
def test_the_risk_is_seen_at_a_glance(tone: Tone, sign: str) -> None:
    sheet = sheets(Card("A title", tone=tone))[0]
    assert sheet.text.startswith(sign)
    assert sheet.blocks[0]["text"]["text"].startswith(sign)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("&amp;lt;", "&lt;"),
        ("see <https://a.example/x?y=1&amp;z=2|a.example>", "see https://a.example/x?y=1&z=2"),
        ("<https://a.example>", "https://a.example"),
        ("<mailto:ana@a.example|ana@a.example>", "ana@a.example"),
        ("ask <@U1|ana> in <#C1|general>", "ask @ana in #general"),
        ("ask <@U1>", "ask @U1"),
        ("<!here> <!channel|channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_what_people_wrote_is_read_as_they_wrote_it(written: str, said: str) -> None:
    assert plain(written) == said


@given(ANYTHING)
def test_escaping_is_undone_by_reading(text: str) -> None:
    assert plain(escape(text)) == text


def test_pieces_end_where_a_line_or_a_word_does() -> None:
    assert list(pieces("one two\nthree four five", 12)) == ["one two\n", "three four ", "five"]
    assert list(pieces("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_shortened_text_is_one_line_with_a_sign_that_there_is_more() -> None:
    assert shortened("a\nb", 10) == "a b"
    assert size(shortened("&" * 100, 30)) <= 30
    assert shortened("&" * 100, 30).endswith("…")


PLACE = Place("slack", "C1", "1.2", "U1", {"response_url": "https://hooks.slack.example/x"})


def test_a_form_remembers_what_it_is_about_and_where_it_was_asked_for() -> None:
    form = modals.words_form("deny", "apr_1", PLACE)
    values = {"said": {"said": {"value": " too dear "}}}
    filled = modals.filled({"user": {"id": "U1"}, "view": {**form, "state": {"values": values}}})
    assert (filled.command, filled.fields, filled.place) == ("deny", {"id": "apr_1", "reason": "too dear"}, PLACE)


def test_words_of_an_answer_are_its_note() -> None:
    form = modals.words_form("approve", "apr_1", PLACE)
    values = {"said": {"said": {"value": "use B"}}}
    filled = modals.filled({"user": {"id": "U1"}, "view": {**form, "state": {"values": values}}})
    assert (filled.command, filled.fields) == ("approve", {"id": "apr_1", "note": "use B"})


@pytest.mark.parametrize("args", [{"a": "x" * 3_000}, {"a": "🙂" * 1_600}])
def test_arguments_that_no_form_can_hold_have_none(args: dict[str, str]) -> None:
    assert modals.arguments_form("apr_1", "file_write", args, PLACE) is None


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_forms_are_within_slacks_limits(verb: str) -> None:
    for form in (modals.words_form(verb, "apr_1", PLACE), modals.arguments_form("apr_1", "t" * 200, {"a": 1}, PLACE)):
        assert form is not None
        assert len(form["title"]["text"]) <= 24
        assert len(form["submit"]["text"]) <= 24
        assert len(form["private_metadata"]) <= 3_000
        block = form["blocks"][1]
        assert len(block["label"]["text"]) <= 2_000
        assert len(block["hint"]["text"]) <= 2_000


@pytest.mark.parametrize("address", [None, "https://interlock.example.com/slack/events"])
def test_the_manifest_registers_the_command_with_every_usage_of_the_table(address: str | None) -> None:
    found = manifest(address)
    command = found["features"]["slash_commands"][0]
    assert command["command"] == "/interlock"
    assert command["usage_hint"] == " | ".join(c.usage for c in COMMANDS.values())
    assert found["settings"]["socket_mode_enabled"] is (address is None)
    assert command.get("url") == found["settings"]["interactivity"].get("request_url") == address
