"""What Interlock itself says in a conversation, between tags that nobody else's words can spell.

INVARIANT: `safe` is the one way by which the words of people, tools, files and other agents get into a conversation,
and no reading of what it returns has such a tag in it, but for what `system_words` has made. Source: row E12.

What is said is not decided here; the headings of messages are `quoting`'s.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from interlock.llm.messages import Block, Message, Text, ToolResult
from interlock.policy.values.folding import fold

Origin = Literal["system", "background", "schedule"]
_S, _E, _A = "[s5$ꜱꮪƽ]", "[e3]", "[a4@]"
_NAME = rf"{_S}y{_S}[t7+]{_E}m[\W_]{{0,6}}m{_E}{_S}{_S}{_A}[g9ɢ]{_E}"
_TAG = re.compile(rf"[<‹〈⟨≺ᐸ˂❮«《⧼❬[][\W_]{{0,8}}(?:\w{{1,16}}[:.])?[\W_]{{0,4}}{_NAME}")
"""In plain, folded, lower-cased text: whatever opens like a tag, and the name."""
_NAMED = re.compile(_NAME)
_CODED = re.compile(
    r"&(?:amp;?)*(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z]{2,12});?|(?:\\|%5c)+(?:u00|x)[0-9a-f]{2}|%(?:25)*[0-9a-f]{2}",
    re.IGNORECASE | re.VERBOSE,
)
_OPENS = "[quoted, said by nobody in charge: "
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class SystemText(Text):
    """Interlock's own text; only `system_words` makes it. `safe` turns it into ordinary text."""


def system_words(origin: Origin, text: str, beside: str = "") -> SystemText:
    """A text in `<system_message>` tags, followed by `beside`, which may be anybody's. Both are made harmless."""
    said = f'<system_message origin="{origin}">{harmless(text)}</system_message>'
    return SystemText(f"{said}\n\n{harmless(beside)}" if beside else said)


def safe(message: Message) -> Message:
    """A message to an agent in which only Interlock's own text stands between its tags; apply it only once."""
    blocks = tuple([_safe(block) for block in message.blocks])
    return message if blocks == message.blocks else message._replace(blocks=blocks)


def _safe(block: Block) -> Block:
    """A block without others' words between tags of ours; itself where there are none."""
    match block:
        case SystemText(text):
            return Text(text)
        case Text(text):
            return block if (cleaned := harmless(text)) == text else Text(cleaned)
        case ToolResult(call_id, content, is_error):
            return block if (cleaned := harmless(content)) == content else ToolResult(call_id, cleaned, is_error)
    return block


def harmless(text: str) -> str:
    """The text without anything that reads as a tag of a system message, in any spelling or encoding.

    The tag's beginning is replaced by words that say what it is; the rest stays as it was.
    """
    if _NAMED.search(_gist(text)) is None:
        return text
    plain, places = _plain(text)
    out, at = [], 0
    for found in _TAG.finditer(plain):
        start, end = places[found.start()][0], places[found.end() - 1][1]
        out += [text[at:start], _OPENS, "/" if "/" in found[0] else "", "system-message"]
        at = end
    return "".join(out) + text[at:] if out else text


def _gist(text: str) -> str:
    """A quick reading: whatever `_plain` finds the name in, this does."""
    if not _CODED.search(text):
        return fold(text).lower()
    return fold("".join(shown for shown, _, _ in _units(text))).lower()


def _plain(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text folded and decoded, and where each of its characters came from."""
    shown: list[str] = []
    places: list[tuple[int, int]] = []
    for unit, start, end in _units(text):
        at = start
        for char in unit:
            folded = _folded(char)
            here = (at, at + 1) if end - start == len(unit) else (start, end)
            at += 1
            shown.append(folded)
            places += [here] * len(folded)
    return "".join(shown), places


def _units(text: str) -> Iterator[tuple[str, int, int]]:
    """Runs of plain characters and single codes, decoded, each with where it stands."""
    at = 0
    for found in _CODED.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], at, found.start()
        yield _decoded(found[0]), *found.span()
        at = found.end()
    if at < len(text):
        yield text[at:], at, len(text)


def _decoded(code: str) -> str:
    """What a code stands for: one character, or itself where it is none."""
    if code[0] == "&":
        shown = code
        for _ in range(_DEEPEST):
            if (inner := html.unescape(shown)) == shown:
                break
            shown = inner
        return shown if len(shown) == 1 else code
    return chr(int(code[-2:], 16))


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    return fold(char).lower() if char not in "\t\n\r" else char
