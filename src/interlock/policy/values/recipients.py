"""Judges the recipients of a call: whether all of them are inside the organisation.

Nobody is inside unless the policy says so; deliverability is not checked here.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from interlock.policy.definitions.tool_definitions import words
from interlock.policy.rules import Organisation
from interlock.policy.values.folding import fold

MOST_TEXT = 20_000
_SURELY = frozenset(
    "recipient recipients cc bcc attendee attendees participant participants invitee invitees guest guests "
    "sharewith sharedwith payee beneficiary receiver receivers replyto forwardto sendto mailto assignees "
    "collaborators collaborator addressee addressees toaddress toaddresses toemail toemails torecipients "
    "recipientemail recipientemails inviteemail inviteemails emailto tonumber tophone followers "
    "subscribers grantee grantees destinationemail toaddrs".split()
)
"""Names of arguments that only hold recipients: anyone in them who is not known to be inside is outside."""
_PERHAPS = frozenset(
    "to email emails mail address addresses user users username contact contacts phone phones number "
    "numbers phonenumber mobile whom who person people member members target targets owner handle channel "
    "destination dest peer callee delegate editors viewers invite share notify forward redirect".split()
)
"""Names of arguments that hold recipients if their values are addresses."""
_BETWEEN = re.compile(r"[\s<>,;()\[\]{}\"'|]+")
_PHONE = re.compile(r"\+?\(?\d[\d\s().-]{6,20}\d")
_DATE = re.compile(r"(?:19|20)\d\d([-/.])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?:$|[T ])")
_IBAN = re.compile(r"[A-Za-z]{2}\d{2}(?:\s?[A-Za-z0-9]){11,30}")
_WALLET = re.compile(
    r"0x[0-9a-fA-F]{40}|(?:bc1|tb1|ltc1)[a-z0-9]{20,80}|[13][1-9A-HJ-NP-Za-km-z]{25,34}|[1-9A-HJ-NP-Za-km-z]{43,44}|4[0-9AB][1-9A-HJ-NP-Za-km-z]{93}"
)
_HANDLE = re.compile(r"@[\w.-]{2,40}")
_ROUTED = re.compile(r"[%!:\\]|^@|\.\.|^\.|\.$")


@lru_cache(maxsize=4096)
def key_weight(key: str) -> int:
    """How surely an argument of that name holds recipients: 2 surely, 1 if its value is an address, 0 not."""
    found = words(fold(key)[:80])
    whole = "".join(found)
    if whole in _SURELY or any(word in _SURELY for word in found):
        return 2
    return 1 if whole in _PERHAPS or (found and (found[-1] in _PERHAPS or found[0] == "to")) else 0


def is_inside(address: str, organisation: Organisation) -> bool:
    """Whether a mail address belongs to the organisation; look-alikes do not."""
    plain = address.strip().rstrip(".").lower()
    local, at, domain = plain.rpartition("@")
    if not at or not local or _ROUTED.search(local) or "@" in local:
        return False
    if not domain.isascii():
        try:
            domain = domain.encode("idna").decode("ascii")
        except (UnicodeError, ValueError):
            return False
        if "xn--" not in domain:
            return False
    if not local.isascii() or not plain.isprintable():
        return False
    return domain in organisation.domains or f"{local}@{domain}" in organisation.addresses


def are_outside(value: Any, key: str, organisation: Organisation, *, surely: bool = True) -> bool:
    """Whether anyone named by an argument is not known to be inside.

    Unless `surely`, names that are no addresses count as inside, such as those of a project's members.
    """
    weight = key_weight(key)
    if weight == 0:
        return False
    for text in _texts(value):
        if not text.strip():
            continue
        if _is_outside(text, organisation, surely=surely and weight == 2):
            return True
    return False


def _is_outside(text: str, organisation: Organisation, *, surely: bool) -> bool:
    """Whether a text names an outside recipient."""
    folded = fold(text[:MOST_TEXT])
    mails = _mails(text[:MOST_TEXT]) or _mails(folded)
    if mails:
        if folded.count("@") > len(mails):
            return True
        return not all(is_inside(mail, organisation) for mail in mails)
    plain = text.strip().lower()
    if plain in organisation.addresses:
        return False
    bare = folded.strip()
    if _DATE.match(bare):
        return False
    if any(shape.fullmatch(bare) for shape in (_PHONE, _IBAN, _WALLET, _HANDLE)):
        return True
    return "@" in folded or (surely and bool(bare))


def _mails(text: str) -> list[str]:
    """The mail addresses in a text."""
    if "@" not in text:
        return []
    return [part.rstrip(".") for part in _BETWEEN.split(text) if "@" in part[1:] and not part.endswith("@")]


def _texts(value: Any) -> Iterator[str]:
    """Every string in a value; of objects with an address, only strings that may be one."""
    rest, seen = [value], 0
    while rest and seen < 2_000:
        item = rest.pop()
        seen += 1
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            inner = list(item.values())
            addressed = [each for each in inner if isinstance(each, str) and "@" in each]
            rest.extend(addressed or inner)
            if addressed:
                rest.extend(each for each in inner if isinstance(each, (dict, list)))
        elif isinstance(item, (list, tuple)):
            rest.extend(item)


def count(value: Any) -> int:
    """The number of recipients in an argument: the items of a list, or the addresses in a text."""
    if isinstance(value, (list, tuple)):
        return len(value)
    if isinstance(value, str):
        return max(1, len(_mails(value[:MOST_TEXT])))
    return 1 if value else 0
