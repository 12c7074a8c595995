"""Plain readings of disguised text: homoglyphs, invisible characters, encodings.

Every function is total and bounded in time.
"""

import base64
import binascii
import html
import itertools
import json
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

DEEPEST = 3
"""The most layers of encoding that are decoded."""
MOST_READINGS = 24
_LONGEST = 100_000
_RUNS = 40
_WORD = re.compile(r"[a-z]{3}")
_FEWEST = 6
"""The fewest numbers that are read as character codes."""

_LOOK_ALIKES = str.maketrans(
    dict(
        zip(
            "ӏӀаеорсухівнкмтѕјһԁԛԝɡıʟɴʀʏᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢαβεηικνορτυχωϲϳ"
            "АВЕКМНОРСТУХІЅЈԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧƖØøłđħŧ՝օսհոցզքɑʋ‐‑‒–—−⁄∕․。．｡…",
            "llaeopcyxibhkmtsjhdqwgilnryacdejkmoptuvwzabenikvoptuxwcj"
            "ABEKMHOPCTYXISJGQWABEZHIKMNOPTYXlOoldht'ouhngqpav------//.....",
            strict=True,
        )
    )
)  # fmt: skip
_ENTITY = re.compile(r"&[#A-Za-z]")
_LONG_RUN = re.compile(r"[A-Za-z0-9+]{14}")
_SINGLES = re.compile(r"[ ._/|-][^\W_][ ._/|-]{1,3}[^\W_](?![^\W_])")
_GAP_SIGNS = (" ", ".", "-", "_", "/", "|")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONFUSED = frozenset("CYRILLIC GREEK ARMENIAN CHEROKEE COPTIC LISU DESERET".split())
_MARKS = frozenset(("Mn", "Me", "Cf", "Cs", "Co", "Cn", "Lm"))
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16,}={0,2}|[A-Za-z0-9+/_-]{6,}={1,2})")
_HEX = re.compile(r"(?<![A-Za-z0-9])(?:0x)?((?:[0-9A-Fa-f]{2}[\s:]?){8,})(?![A-Za-z0-9])")
_LONG_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16,}={0,2}|(?:[A-Za-z0-9+/_-]{4}){1,3}(?:[A-Za-z0-9+/_-]{3}=|[A-Za-z0-9+/_-]{2}==))"
)
"""The same among other words."""
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_COMPRESSED = (b"\x1f\x8b", b"x\x9c", b"x\xda", b"x\x01")
_BASE32 = re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{16,}={0,6}(?![A-Za-z0-9])")
_MAYBE_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6}(?:=|[A-Za-z0-9+/_-]{10})")
_MAYBE_HEX = re.compile(r"[0-9A-Fa-f]{2}[\s:]?[0-9A-Fa-f]{2}[\s:]?[0-9A-Fa-f]{2}[\s:]?[0-9A-Fa-f]{2}")
"""What both of the above contain; faster to search for."""
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-7]{3}))")
_SPACED = re.compile(r"(?<![^\W_])[^\W_](?:[ ._\-|/]{1,3}[^\W_](?![^\W_])){3,40}")
_GAPS = re.compile(r"[ ._\-|/]+")
_TURNED = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Bidirectional control characters, which make text display in an order other than its logical one."""


def fold(text: str) -> str:
    """The text in compatibility form, without invisible characters and accents, with homoglyphs as ASCII letters."""
    if text.isascii():
        return text if text.isprintable() else _CONTROL.sub("", text)
    plain = unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES)
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain)
        plain = plain.translate({ord(c): None for c in set(plain) if unicodedata.category(c) in _MARKS})
        plain = plain.translate(_LOOK_ALIKES)
    return _CONTROL.sub("", plain)


def is_odd(text: str) -> bool:
    """Fast path: False only if the text certainly has no other reading."""
    if not text.isascii():
        return True
    if "%" in text or "\\" in text or (not text.isprintable() and _CONTROL.search(text) is not None):
        return True
    if "=" in text or "&" in text or '"' in text or "[" in text or "{" in text:
        return _has_other_reading(text)
    if len(text) < 7:
        return False
    if len(text) >= 16 and _LONG_RUN.search(text) is not None:
        return True
    return _SINGLES.search(text) is not None and sum(map(text.count, _GAP_SIGNS)) > 2


def _has_other_reading(text: str) -> bool:
    return (
        _opens_as_json(text)
        or ("&" in text and _ENTITY.search(text) is not None)
        or (_MAYBE_BASE64.search(text) is not None and _BASE64.search(text) is not None)
        or (_SINGLES.search(text) is not None and _SPACED.search(text) is not None)
        or (_MAYBE_HEX.search(text) is not None and _HEX.search(text) is not None)
    )


def _opens_as_json(text: str) -> bool:
    return text[:64].lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"')


def readings(text: str) -> Iterator[str]:
    """Other readings of a text, each once: folded, decoded, with separated letters joined; never the text itself."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
    seen, rest, spent = {text}, [(text, 0)], len(text)
    while rest:
        current, depth = rest.pop(0)
        for found in _once(current):
            if found in seen or not found:
                continue
            seen.add(found)
            spent += len(found)
            if spent > 4 * _LONGEST:
                return
            yield found
            if len(seen) > MOST_READINGS:
                return
            if depth < DEEPEST and is_odd(found):
                rest.append((found, depth + 1))


def decoded(text: str) -> Iterator[str]:
    """The texts encoded in a text as base64, base32, hex, escapes or percent signs, each once, nested ones too."""
    seen, rest, spent = {text}, [(text[:_LONGEST], 0)], 0
    while rest:
        current, depth = rest.pop(0)
        for found in _layer(current):
            if found in seen or not found.strip():
                continue
            seen.add(found)
            spent += len(found)
            if spent > 2 * _LONGEST or len(seen) > MOST_READINGS:
                return
            yield found
            if depth < DEEPEST:
                rest.append((found, depth + 1))


def in_numbers(values: Sequence[Any]) -> str | None:
    """The text that a list of character codes spells, such as `[114, 109]`; None if it spells none."""
    if not _FEWEST <= len(values) <= _LONGEST or type(values[0]) is not int or type(values[-1]) is not int:
        return None
    if any(type(value) is not int or not (32 <= value < 127 or value in (9, 10, 13)) for value in values):
        return None
    spelled = bytes(values).decode("ascii")
    return spelled if " " in spelled and _WORD.search(spelled) is not None else None


def _layer(text: str) -> Iterator[str]:
    """The texts in one layer of encoding: runs of an alphabet, or a text that is mostly escapes."""
    if "\n" in text and (lines := _BASE64.fullmatch("".join(text.split()))) is not None:
        yield from (found for found in (_from_base64(lines.group()),) if found is not None)
    if text.count("&#") * 7 > len(text):
        yield html.unescape(text)
    if _MAYBE_BASE64.search(text) is not None:
        shape = _BASE64 if _BASE64.fullmatch(text.strip()) else _LONG_BASE64
        yield from _runs(shape, text, lambda match: _from_base64(match.group()))
        yield from _runs(_BASE32, text, lambda match: _from_base32(match.group()))
    if _MAYBE_HEX.search(text) is not None:
        yield from _runs(_HEX, text, _from_hex)
    if text.count("\\") * 7 > len(text):
        yield _ESCAPE.sub(_escaped, text)
    if len(_PERCENT.findall(text)) * 7 > len(text):
        yield unquote(text, errors="replace")


def _runs(shape: re.Pattern[str], text: str, read: Callable[[re.Match[str]], str | None]) -> Iterator[str]:
    for match in itertools.islice(shape.finditer(text), _RUNS):
        if (found := read(match)) is not None:
            yield found


def looks_latin(word: str) -> bool:
    """Whether a word only looks Latin: look-alikes from another script, or a mixture of scripts."""
    if word.isascii():
        return False
    scripts = {unicodedata.name(c, "?").split(" ", 1)[0] for c in word if c.isalpha()}
    if not scripts & _CONFUSED:
        return False
    return "LATIN" in scripts or word.translate(_LOOK_ALIKES).isascii()


def nested(text: str) -> Any:
    """The JSON object or list in a text; None if there is none."""
    if len(text) <= _LONGEST and _opens_as_json(text):
        try:
            value = json.loads(text.strip("\ufeff \t\r\n"), parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, (dict, list)):
            return value
        if isinstance(value, str) and value != text:
            return [value]
    return None


def _once(text: str) -> Iterator[str]:
    yield fold(text)
    if "%" in text:
        yield unquote(text, errors="replace")
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(_escaped, text)
    yield from _runs(_BASE64, text, lambda match: _from_base64(match.group()))
    yield from _runs(_HEX, text, _from_hex)
    if _SPACED.search(text):
        yield _SPACED.sub(lambda match: _GAPS.sub("", match.group()), text)


def _escaped(match: re.Match[str]) -> str:
    code = int(match[1] or match[2] or match[3] or "0", 16) if match[4] is None else int(match[4], 8)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _from_base64(text: str) -> str | None:
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    if len(bare) % 4 == 1 or bare.islower() or bare.isdigit():
        return None
    try:
        return _printable(_unpacked(base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)))
    except (binascii.Error, ValueError, zlib.error):
        return None


def _unpacked(data: bytes) -> bytes:
    """The bytes, decompressed, or converted from UTF-16."""
    if data[:2] in _COMPRESSED:
        return zlib.decompressobj(47).decompress(data, _LONGEST)
    if len(data) % 2 == 0 and data[1:2] == b"\x00" and not any(data[1::2]):
        return data[::2]
    return data


def _from_base32(text: str) -> str | None:
    try:
        return _printable(base64.b32decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_hex(match: re.Match[str]) -> str | None:
    return _printable(bytes.fromhex(re.sub(r"[\s:]", "", match[1])))


def _printable(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) >= 3 and all(c.isprintable() or c in "\n\t\r" for c in text) else None


def is_turned(text: str) -> bool:
    """Whether a text has bidirectional control characters, which change the order in which it is displayed."""
    return not text.isascii() and _TURNED.search(text) is not None
