"""Removes from a description what is no part of it: examples of an input or output, and whom its readers may contact.

The remaining text is analysed in `tool_descriptions`.
"""

import re

_OPENS = re.compile(
    r"\b(?:examples?|responses?|returns?|output|format|e\.g\.|looks like|input)\b[^{}\[\]]{0,80}(?P<sign>[{\[])",
    re.IGNORECASE,
)
_MARKED = re.compile(r"<examples?>.{1,4000}?</examples?>", re.DOTALL | re.IGNORECASE)
_HELP = re.compile(
    r"(?<=[.!>:\n])\s{1,9}(?:[^.!?\n]{0,80}\b)?(?:contact|reach out to)\s"
    r"(?:us|(?:our|your|the|\w{1,20})?\s?(?:\w{1,20}\s){0,2}"
    r"(?:support|sales|account (?:manager|team)|representative|administrators?))\b[^.!?\n]{0,120}",
    re.IGNORECASE,
)
"""Whom a reader of the description may ask for help: `Contact your account manager to join.`"""
_KEY = re.compile(r"[{\[,\s]\s*\"[\w .-]{1,60}\"\s*:")
_CLOSES = {"{": "}", "[": "]"}
_FIRST = 20
"""An object at the beginning of a description is not an example."""


def without_examples(text: str) -> str:
    """The text without JSON and marked examples (unterminated ones are kept) and without whom readers may contact."""
    if "<example" in text.lower():
        text = _MARKED.sub(" ", text)
    if "ontact" in text or "each out to" in text:
        text = _HELP.sub(" ", text)
    if '":' not in text:
        return text
    out, at = [], 0
    while (found := _OPENS.search(text, at)) is not None:
        start = found.start("sign")
        end = _end(text, start) if start >= _FIRST else -1
        if end > 0 and _KEY.search(text, start, end):
            out.append(text[at:start])
            out.append(". ")
            at = end
        else:
            out.append(text[at : start + 1])
            at = start + 1
    return "".join((*out, text[at:]))


def _end(text: str, start: int) -> int:
    """The position after the bracket that closes the one at `start`; -1 if there is none."""
    stack: list[str] = []
    quoted = False
    at = start
    while at < len(text):
        sign = text[at]
        if quoted:
            at += sign == "\\"
            quoted = sign != '"'
        elif sign == '"':
            quoted = True
        elif sign in _CLOSES:
            stack.append(_CLOSES[sign])
        elif stack and sign == stack[-1]:
            stack.pop()
            if not stack:
                return at + 1
        at += 1
    return -1
