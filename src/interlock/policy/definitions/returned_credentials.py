"""Judges whether a tool returns credentials: passwords, keys, tokens, codes.

Whether a tool reads at all is determined in `tool_names` and `tool_descriptions`.
"""

import re
from collections.abc import Sequence

from interlock.policy.definitions import vocabulary as v
from interlock.policy.values.spelling import fold

WHAT = "reveals credentials"
_VALUES = frozenset("value values plaintext content contents".split())
_FORMS = {form: verb for verb in (*v.REVEALS, "return") for form in (verb, f"{verb}s", f"{verb}es")}
_BEFORE = 6
_LONGEST = 400
_ENDS = frozenset(
    "for from in to with by that which whose where when if on at as via using so without is are was were between into "
    "stored per about across".split()
)
_JOINED = frozenset(("and", "or", ",", "&", "/"))
_TOKEN = re.compile(r"[a-z]+(?:['’]s)?|[,&/]")
_SENTENCE = re.compile(r"[.;:\n]")
_ABOUT = re.compile(
    r"\b(?:ids?|uuid|details|metadata|lists?|specific|status|prices?|market|contract|symbol|balances?|supply|holders|"
    r"nfts?|erc\w*|crypto\w*|blockchain|chain|coins?|public|names only|never)\b"
)
"""Words in descriptions of tokens or keys that are no secret: with an id, a coin, a public key."""


def in_name(words: Sequence[str]) -> str | None:
    """The word by which a name says that its tool returns credentials; None if it does not."""
    if len(words) < 2:
        return None
    if words[-1] in v.REVEALS and words[-2] in v.CREDENTIALS:
        return words[-2]
    if v.REVEALS.isdisjoint(words[:-1]):
        return None
    end = len(words) - 1 if words[-1] in _VALUES and words[-2] in v.CREDENTIALS else len(words)
    return _credential(words[:end])


def possible_in_name(words: Sequence[str]) -> str | None:
    """The same for words that may also be something with an id, or a coin: token, SSH key, cookies."""
    if len(words) < 2 or v.REVEALS.isdisjoint(words[:-1]) or words[-2] in v.COINS:
        return None
    return words[-1] if words[-1] in v.MAYBE_CREDENTIALS or tuple(words[-2:]) in v.MAYBE_CREDENTIAL_PAIRS else None


def in_name_without_verb(words: Sequence[str]) -> str | None:
    """The same for a name without a verb, whose tool returns or creates credentials: `api_key`, `db_secret`."""
    return words[-1] if tuple(words[-2:]) in v.MAYBE_CREDENTIAL_PAIRS else _credential(words)


def is_about_identified_things(description: str) -> bool:
    """Whether a description is about something with an id, a price or a public key rather than a credential."""
    return _ABOUT.search(fold(description[:_LONGEST]).lower()) is not None


def in_description(description: str) -> str | None:
    """The same in the first sentence of a description: `returns the value of a secret`."""
    sentence = _SENTENCE.split(fold(description[:_LONGEST]).lower(), maxsplit=1)[0]
    tokens = _TOKEN.findall(sentence)
    lead = next((at for at, token in enumerate(tokens[:_BEFORE]) if token in _FORMS), None)
    if lead is None:
        return None
    rest = tokens[lead + 1 :]
    end = next((at for at, token in enumerate(rest) if token in _ENDS), len(rest))
    part: list[str] = []
    for token in (*rest[:end], ","):
        if token == "of" and part and part[-1] in _VALUES:
            part = []
        elif token in _JOINED or token == "of":
            if found := _credential(part):
                return found
            if token == "of":
                return None
            part = []
        else:
            part.append(token)
    return None


def _credential(words: Sequence[str]) -> str | None:
    if not words:
        return None
    return words[-1] if words[-1] in v.CREDENTIALS or tuple(words[-2:]) in v.CREDENTIAL_PAIRS else None
