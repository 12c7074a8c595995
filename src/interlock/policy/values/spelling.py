"""Normalises letters for comparison: look-alikes, invisible characters, accents and widths become plain lower case.

The meaning of words is judged elsewhere.
"""

import re
import unicodedata
from functools import lru_cache

_LOOKALIKES = str.maketrans(
    dict(zip("авсԁеһіјӏкмпорԛѕтѵԝхзгьуᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡıαβεηικνορτυχγωϲϳ",
             "abcdehijlkmnopqstvwxzrbyabcdefghijklmnoprstuvwyzagiabenikvoptuxywcj", strict=True))
)  # fmt: skip
_DIGITS = str.maketrans("0134578@$", "oleastbas")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f\u1d00-\u1d7f\u0250-\u02af]")
_RUN = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LEET = re.compile(
    r"[A-Za-z]+[013457@$]+[A-Za-z]+|[@$][A-Za-z]+|[013457]+[A-Za-z]{3,}|[A-Za-z]{2,}[013457@$]+[A-Za-z]*"
)


@lru_cache(maxsize=1024)
def fold(text: str) -> str:
    """The text without accents, width variants and invisible characters; case is kept, to split `camelCase`."""
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    if shown.isascii():
        return shown
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", shown))).replace("ß", "ss")


def hides(name: str) -> bool:
    """Whether a name has invisible characters, or letters of another script that look like Latin ones in one word."""
    if name.isascii():
        return False
    if _INVISIBLE.search(name):
        return True
    shown = unicodedata.normalize("NFKC", name)
    return any(_FOREIGN.search(run) and re.search("[A-Za-z]", run) for run in _RUN.findall(shown))


def parts(text: str) -> tuple[str, ...]:
    """The lower-case words of a name or a sentence; `snake_case`, `kebab-case` and `camelCase` are split."""
    found: list[str] = []
    for run in _RUN.findall(fold(text)):
        if run.isascii():
            found.extend(part.lower() for part in _PARTS.findall(run))
        else:
            found.append(plain(run.lower()))
    return tuple(found)


def words(text: str) -> tuple[str, ...]:
    """The same in compatibility form only, with look-alikes and accents kept."""
    shown = unicodedata.normalize("NFKC", text)
    return tuple(found.group().lower() for found in _WORD.finditer(shown))


def plain(word: str) -> str:
    """A lower-case word in Latin letters if all its letters look like Latin ones; else unchanged."""
    if word.isascii():
        return word
    latin = word.translate(_LOOKALIKES)
    return latin if latin.isascii() else word


def undisguised(name: str) -> str | None:
    """A name with digits replaced by the letters they resemble, `s3nd_ema1l`; None if it has none."""
    if not _LEET.search(name):
        return None
    return _LEET.sub(lambda found: found.group().translate(_DIGITS), name)
