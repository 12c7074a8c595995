"""Lays out a card for Telegram: one message if it fits, else a header and further messages, buttons last."""

from collections.abc import Iterator
from dataclasses import dataclass

from interlock.core.text import visible
from interlock.desk.chats.cards import Action, Card, Passage, Tone
from interlock.integrations.telegram.text import MOST_UNITS, Mark, Piece, markup, plain, split, unaddressed, units

MOST_DATA_BYTES = 64
"""Of what a button carries. Source: https://core.telegram.org/bots/api#inlinekeyboardbutton."""
APPROVE, ANSWER, DENY = "a", "q", "d"
"""What a button stands for: to approve, to approve with words, to deny, which needs words."""
_SIGNS = {Tone.GREEN: "🟢 ", Tone.YELLOW: "🟡 ", Tone.RED: "🔴 "}
_NUMBERING = 32
"""Units kept free for what tells that a part is one of many."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button's label, and its callback data."""

    label: str
    data: str


@dataclass(frozen=True, slots=True)
class Page:
    """One Telegram message."""

    markup: str
    plain: str
    """The same without marks, should Telegram not take them."""
    buttons: tuple[Button, ...] = ()


def pages(card: Card) -> list[Page]:
    """The card as messages in reading order, complete."""
    buttons, spelled = _buttons(card.actions)
    head, foot = list(_head(card)), list(_foot(card, spelled))
    whole = [*head, *_passages(card.passages), *foot]
    if units(plain(whole)) <= MOST_UNITS and len(split(whole)) == 1:
        return [_page(whole, buttons)]
    room = MOST_UNITS - _NUMBERING
    parts = [*split([*head, *foot], room), *split(list(_passages(card.passages, leading="")), room)]
    last = len(parts)
    numbered = [_numbered(part, number, last) for number, part in enumerate(parts, start=1)]
    return [_page(part, buttons if number == last else ()) for number, part in enumerate(numbered, start=1)]


def shortened(card: Card, most: int) -> list[Page]:
    """At most `most` messages, for an edited card that no longer fits into the existing ones.

    INVARIANT: an incomplete card cannot be approved with a button: it has none, and says how to see the whole.
    """
    found = pages(card)
    if len(found) <= most:
        return found
    kept = found[: most - 1]
    note = "\n⋯ the rest does not fit here: /approvals or /task with its id shows it anew"
    title = list(_title(card))
    return [*kept, _page([*title, Piece(note, Mark.ITALIC)], ())]


def _title(card: Card) -> Iterator[Piece]:
    yield Piece(f"{_SIGNS.get(card.tone, '')}{unaddressed(visible(card.title))}", Mark.BOLD)


def _head(card: Card) -> Iterator[Piece]:
    yield from _title(card)
    for fact in card.facts:
        yield Piece("\n")
        yield Piece(unaddressed(visible(fact.label)), Mark.BOLD)
        yield Piece(f": {unaddressed(visible(fact.value))}")


def _passages(passages: tuple[Passage, ...], leading: str = "\n\n") -> Iterator[Piece]:
    for passage in passages:
        yield Piece(leading)
        leading = "\n\n"
        if passage.heading:
            yield Piece(unaddressed(visible(passage.heading)), Mark.BOLD)
            yield Piece("\n")
        if passage.verbatim:
            yield Piece(visible(passage.text), Mark.BLOCK)
        else:
            yield Piece(unaddressed(visible(passage.text.replace("\r\n", "\n"))))


def _foot(card: Card, spelled: list[str]) -> Iterator[Piece]:
    for line in (*([card.footer] if card.footer else ()), *spelled):
        yield Piece("\n\n")
        yield Piece(visible(line), Mark.ITALIC)


def _buttons(actions: tuple[Action, ...]) -> tuple[tuple[Button, ...], list[str]]:
    """The buttons; actions that are too long for one become commands to type."""
    buttons, spelled = [], []
    for action in actions:
        data = f"{_sign(action)}:{action.target}"
        if len(data.encode()) <= MOST_DATA_BYTES:
            buttons.append(Button(action.label, data))
        else:
            spelled.append(f"{action.label}: /{action.verb} {action.target}{' …' if action.needs_reason else ''}")
    return tuple(buttons), spelled


def _sign(action: Action) -> str:
    if action.verb == "deny":
        return DENY
    return ANSWER if action.needs_reason else APPROVE


def _numbered(part: tuple[Piece, ...], number: int, last: int) -> list[Piece]:
    """A numbered part, so that Telegram's trimming of messages does not affect the text."""
    before = [Piece(f"{number}/{last}", Mark.ITALIC), Piece("\n")] if number > 1 else []
    after = [Piece("\n"), Piece("⋯", Mark.ITALIC)] if number < last else []
    return [*before, *part, *after]


def _page(pieces: list[Piece], buttons: tuple[Button, ...]) -> Page:
    return Page(markup(pieces), plain(pieces), buttons)
