"""Which lessons are fit for a prompt: no secrets, no case-specific details, no exemptions from rules."""

import re
from collections.abc import Set

from interlock.policy.learning.lesson_rules import UNTRUSTED
from interlock.policy.secrets import first_secret

FEWEST_WORDS = 3
_ROW = re.compile(
    r"\b[a-z]{3}_(?=[0-9a-z]*[0-9])[0-9a-z]{8,}\b"
    r"|\b(?=[0-9a-z]*[a-z])(?=(?:[a-z]*[0-9]){4})[0-9a-z]{16,}\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)
"""Ids of rows and agents, digests, UUIDs."""
_CONTACT = re.compile(
    r"[\w.+-]{0,64}[\w+-]@\w[\w-]{0,62}(?:\.[\w-]{1,63}){0,5}\.[a-z]{2,24}\b|\b[a-z][a-z0-9+.-]{0,20}://[^\s“”\"'`<>]+",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = re.compile(
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?Z?)?\b"
    r"|\b\d{1,2}\.\d{1,2}\.\d{4}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th|\.)? {_MONTH}\b"
)
_ADDRESS = re.compile(
    r"://|\bwww\.|[\w.]@\w|\b[\w-]+\.(?:com|net|org|io|dev|co|ai|app|xyz|ru|cn|info)\b", re.IGNORECASE
)
_FREES = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|bypass|circumvent|disabl|skip)\w*\b.{0,60}?"
    r"\b(?:instruction|polic|approval|interlock|guard|restriction|prompt|sign-?off|safety|rules?\b|review)"
    r"|\b(?:auto-?approv\w*|pre-?approved|already approved|approval is (?:not|never) (?:needed|required|necessary))"
    r"|\b(?:no|without(?: any| an?)?) (?:approval|permission|sign-?off|confirmation|human|asking)\b"
    r"|\bapprove (?:all|every|any|it(?:self)?|your)",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:never|not|don['’]t|cannot|avoid)\b"
    r"(?![^.;:!?,]*\b(?:hesitat|wait|worry|fear|afraid|slow|shy|bother|fail|forget|refus|stop|delay)\w*\b)"
    r"(?![^.;:!?,]*\b(?:and|but|then|so|just|simply|rather|instead)\b)"
    r"[^.;:!?,]*$",
    re.IGNORECASE,
)
"""A word that forbids, in the clause that ends here; `never hesitate to` and its like urge instead."""
_MARKS = re.compile(r"</?[a-z_]+[^>]{0,80}>|```|^\s*#|\bsystem_message\b", re.IGNORECASE)
_ENDED = "(?:successful|completed|accepted|approved|done|delivered|finished)"
_REPORT = re.compile(
    r"^(?:the |this |all )?(?:mission|task|run|work|deliverable|goal|agent|team)s?\b[^.;:]{0,40}?"
    rf"\b(?:succeeded|went well|(?:is|was|were|has been|have been) {_ENDED}|was a success|(?:has|have) completed)\b"
    r"[^.;:]*\.?$",
    re.IGNORECASE,
)


def without_particulars(text: str) -> str:
    """A text without case-specific details, such as ids, addresses and dates."""
    for pattern in (_CONTACT, _DAY, _ROW):
        text = pattern.sub("…", text)
    return text


def unfit(rule: str, labels: Set[str], *, is_scoped: bool) -> str | None:
    """Why a rule is unfit for a prompt; None if it is fit.

    No lesson can exempt an agent from a rule or an approval. With untrusted evidence, it must not contain an address
    and must be limited to one type of work. Source: rows C11, H9.
    """
    if len(rule.split()) < FEWEST_WORDS:
        return "its rule is too short to follow"
    if first_secret(rule) is not None or "[secret:" in rule:
        return "its rule holds what looks like a secret"
    if _ROW.search(rule):
        return "its rule names a row and fits only that case"
    if _CONTACT.search(rule):
        return "its rule names an address and fits only that case"
    if _DAY.search(rule):
        return "its rule names a day and fits only that case"
    if _MARKS.search(rule):
        return "its rule holds marks of a prompt"
    if _REPORT.search(rule):
        return "its rule says what happened and not what to do"
    if any(_FORBIDS.search(rule[: freed.start()]) is None for freed in _FREES.finditer(rule)):
        return "its rule would free agents from a rule or an approval"
    if UNTRUSTED in labels and _ADDRESS.search(rule):
        return "its rule names an address, and strangers' words are in its evidence"
    if UNTRUSTED in labels and not is_scoped:
        return "its rule is for everybody, and strangers' words are in its evidence"
    return None
