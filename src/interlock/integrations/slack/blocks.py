"""Renders a card as Slack blocks, in as many messages as necessary.

Source: https://docs.slack.dev/reference/block-kit/blocks for the limits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock.core.text import visible
from interlock.desk.chats.cards import Action, Card, Fact, Passage, Tone
from interlock.integrations.slack.text import escape, pieces, shortened, size

Block = Mapping[str, Any]

MOST_BLOCKS = 50
MOST_TOGETHER = 9_000
"""Characters of one message; Slack refuses somewhere above 11,000, and does not say where."""
MOST_TEXT = 3_000
MOST_HEADER = 150
MOST_FIELD = 2_000
MOST_FIELDS = 10
MOST_LABEL = 75
MOST_NOTICE = 300
MOST_BUTTONS = 25
_FENCE = "```"
_FENCED = MOST_TEXT - 2 * (len(_FENCE) + 1)
_SIGNS = {Tone.GREEN: "🟢 ", Tone.YELLOW: "🟡 ", Tone.RED: "🔴 "}
_STYLES = {"approve": "primary", "deny": "danger"}

DO, ASK, EDIT = "do", "ask", "edit"
"""What a button does: sends its command, asks for words first, asks for other arguments first."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """One message: its blocks, and the notification text."""

    text: str
    blocks: tuple[Block, ...]


def sheets(card: Card) -> tuple[Sheet, ...]:
    """The card's messages, at least one: complete, with the buttons at the end."""
    card = _unmasked(card)
    title = _SIGNS.get(card.tone, "") + (" ".join(card.title.split()) or "–")
    packed = _packed([*_head(title), *_facts(card.facts), *_passages(card.passages), *_foot(card)])
    count = len(packed)
    found = []
    for number, blocks in enumerate(packed, 1):
        more = [] if number == 1 else [_small(f"{escape(shortened(title, MOST_NOTICE))} · {number} of {count}")]
        found.append(Sheet(escape(shortened(title, MOST_NOTICE)), (*more, *blocks)))
    return tuple(found)


def _unmasked(card: Card) -> Card:
    """The card with invisible characters made visible."""
    return replace(
        card,
        title=visible(card.title),
        facts=tuple(Fact(visible(fact.label), visible(fact.value)) for fact in card.facts),
        passages=tuple(
            replace(p, text=visible(p.text), heading=None if p.heading is None else visible(p.heading))
            for p in card.passages
        ),
        footer=visible(card.footer),
    )


def _packed(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks split into messages within Slack's limits."""
    found: list[list[Block]] = [[]]
    room = MOST_TOGETHER
    for block in blocks:
        room -= (weight := _weight(block))
        if found[-1] and (room < 0 or len(found[-1]) >= MOST_BLOCKS - 1):
            found.append([])
            room = MOST_TOGETHER - weight
        found[-1].append(block)
    return found


def _weight(part: object) -> int:
    """The number of characters of all (escaped) texts in a block."""
    if isinstance(part, Mapping):
        return sum(_weight(value) for value in part.values())
    if isinstance(part, (list, tuple)):
        return sum(_weight(value) for value in part)
    return len(part.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(part, str) else 0


def _head(title: str) -> Iterator[Block]:
    yield {"type": "header", "text": _literal(shortened(title, MOST_HEADER))}
    if size(title) > MOST_HEADER:
        yield from (_section(escape(piece)) for piece in pieces(title, MOST_TEXT))


def _facts(facts: Sequence[Fact]) -> Iterator[Block]:
    fields: list[dict[str, Any]] = []
    for fact in facts:
        text = f"*{escape(fact.label)}*\n{escape(' '.join(fact.value.split())) or '–'}"
        if size(fact.label) + size(fact.value) + 8 <= MOST_FIELD:
            fields.append(_marked(text))
            if len(fields) < MOST_FIELDS:
                continue
        if fields:
            yield {"type": "section", "fields": fields}
            fields = []
        if size(fact.label) + size(fact.value) + 8 > MOST_FIELD:
            yield from _passage(Passage(fact.value, fact.label))
    if fields:
        yield {"type": "section", "fields": fields}


def _passages(passages: Sequence[Passage]) -> Iterator[Block]:
    for passage in passages:
        yield from _passage(passage)


def _passage(passage: Passage) -> Iterator[Block]:
    if passage.heading:
        yield _section(f"*{escape(shortened(passage.heading, MOST_HEADER))}*")
    if not passage.text.strip():
        yield _section("–")
    elif not passage.verbatim:
        yield from (_section(escape(piece)) for piece in pieces(passage.text, MOST_TEXT) if piece.strip())
    elif _FENCE in passage.text:
        yield from (_preformatted(piece) for piece in pieces(passage.text, _FENCED))
    else:
        yield from (_section(f"{_FENCE}\n{escape(piece)}\n{_FENCE}") for piece in pieces(passage.text, _FENCED))


def _foot(card: Card) -> Iterator[Block]:
    yield from (_small(escape(piece)) for piece in pieces(card.footer.strip(), MOST_FIELD))
    buttons = [button for action in card.actions for button in _buttons(action)]
    for at in range(0, len(buttons), MOST_BUTTONS):
        yield {"type": "actions", "elements": buttons[at : at + MOST_BUTTONS]}


def _buttons(action: Action) -> Iterator[Block]:
    button = _button(ASK if action.needs_reason else DO, action, action.label)
    yield {**button, "style": _STYLES[action.verb]} if action.verb in _STYLES else button
    if action.has_arguments:
        yield _button(EDIT, action, "Edit…")


def _button(how: str, action: Action, label: str) -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": f"{how}:{action.verb}:{action.target}",
        "text": _literal(shortened(label, MOST_LABEL)),
        "value": action.target,
    }


def _section(text: str) -> Block:
    return {"type": "section", "text": _marked(text)}


def _small(text: str) -> Block:
    return {"type": "context", "elements": [_marked(text)]}


def _preformatted(text: str) -> Block:
    """A preformatted block, for text that contains Slack's code fence."""
    inner = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [inner]}


def _marked(text: str) -> dict[str, Any]:
    """An escaped text object; `verbatim` prevents automatic links and mentions."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _literal(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
