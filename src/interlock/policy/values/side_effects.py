"""Judges side effects requested by arguments: a result sent elsewhere, a source deleted after reading."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.definitions.tool_names import ACTS, harmless
from interlock.policy.definitions.vocabulary import CREDENTIAL_PAIRS, CREDENTIALS, GRAVE
from interlock.policy.values import paths
from interlock.policy.values.folding import fold
from interlock.policy.values.spelling import words

_DELIVERS = frozenset(
    "sendto sendcopyto emailto emailresultsto emailreportto mailto forwardto deliverto notifyemail".split()
)
_HOOKS = frozenset("webhook webhookurl callback callbackurl hookurl webhookuri callbackuri postbackurl".split())
_ABOUT_HOOKS = frozenset(("webhook", "webhooks", "hook", "hooks", "callback", "callbacks"))
_LOSES = re.compile(
    r"(?:auto)?(?:delete|remove|erase|purge|wipe|destroy|clear|expunge)"
    r"(?:after\w*|source|sources|original|originals|file|files|all|data|onread|onsuccess|oncomplete)?"
)
_CHANGES = frozenset("update updates patch changes newvalue newvalues".split())
_SHOWS = re.compile(
    r"(?:include|with|show|reveal|return|export|dump|unmask)(?:raw|plain|plaintext|all)?"
    r"(?:passwords?|passwd|secrets?|credentials?|apikeys?|privatekeys?|accesstokens?|decryption|secretvalues?)"
    r"|decrypt|withdecryption|unmasked|revealsecrets?"
)
_FIELDS = frozenset("fields field columns column attributes attribute properties projection select include".split())
_HASHES = frozenset("hash hashes digest salt".split())
_KINDS = frozenset("resource resources resourcetype resourcekind kind apiresource".split())
_SECRETS = frozenset(("secret", "secrets"))
_RANGES = frozenset("cidr cidrs ingress range ranges cidrip cidrblock allowlist whitelist sourceranges iprange".split())
_OPEN = frozenset(("0.0.0.0/0", "::/0"))
_SIDES = frozenset("side orderside tradeside transactiontype ordertype tradetype".split())
_TRADES = frozenset("buy sell short cover".split())
_SUMS = frozenset("qty quantity amount size shares units volume notional contracts".split())
_PLACES = frozenset(
    "destination dest destinationpath destpath destinationfolder savepath saveto saveas output outputpath outputfile "
    "outputdir outputfolder outfile outpath out targetpath downloadpath downloaddir downloadto exportpath exportto "
    "writeto localpath".split()
)
_ELSEWHERE = re.compile(
    r"(?:s3|gs|az|abfss?|wasbs?|s?ftps?|smb|nfs|scp|rsync|dav|webdav)://|\\\\[\w.-]+\\", re.IGNORECASE
)
_PATH = re.compile(r"[/~\\]|[A-Za-z]:[\\/]")
_CONFIRMS = frozenset(
    "otp otpcode onetimepassword onetimecode onetimepasscode onetimepin totp totpcode mfacode mfatoken twofactorcode "
    "twofacode facode smscode verificationcode".split()
)
"""Codes that confirm a login or a payment."""
_KEYS = _CONFIRMS | _DELIVERS | _HOOKS | _CHANGES | _FIELDS | _KINDS | _RANGES | _SIDES | _PLACES
_MAKES = frozenset("insert replace create update write overwrite append modify".split())
_YES = frozenset(("true", "yes", "1", "on"))


@lru_cache(maxsize=4096)
def _plain(key: str) -> str:
    return "".join(words(fold(key)[:80]))


@lru_cache(maxsize=4096)
def concerns(key: str) -> bool:
    """Whether an argument with this name may request a side effect."""
    plain = _plain(key)
    return plain in _KEYS or _LOSES.fullmatch(plain) is not None or _SHOWS.fullmatch(plain) is not None or _orders(key)


@lru_cache(maxsize=4096)
def _orders(key: str) -> bool:
    """Whether an argument's name is an operation, with what it needs as the value: `deleteSheet: {"id": 1}`."""
    verb, *objects = words(fold(key)[:80]) or ("",)
    grave = ACTS.get(verb) in GRAVE
    return (grave or (bool(objects) and verb in _MAKES)) and not harmless(verb, objects)


def judge(tool: str, args: Mapping[str, Any], *, reads: bool) -> Iterator[Raised]:
    """Findings for side effects that the arguments request."""
    for key, value in args.items():
        if not value or not concerns(key):
            continue
        plain = _plain(key)
        if plain in _CONFIRMS:
            yield kinds.ACTS
        if isinstance(value, (dict, list, tuple)) and not reads and _orders(key):
            yield kinds.ACTS
        if isinstance(value, str):
            yield from _of_text(tool, plain, value.strip(), args, reads=reads)
        elif isinstance(value, (list, tuple)):
            yield from _of_many(plain, value, reads=reads)
        elif isinstance(value, dict) and plain in _CHANGES and reads:
            yield kinds.ACTS
        if (value is True or (isinstance(value, str) and value.lower() in _YES)) and (
            found := _of_switch(plain, reads=reads)
        ):
            yield found


def _of_switch(key: str, *, reads: bool) -> Raised | None:
    if _SHOWS.fullmatch(key):
        return kinds.READS_SECRETS
    return kinds.ACTS if reads and _LOSES.fullmatch(key) else None


def _of_text(tool: str, key: str, value: str, args: Mapping[str, Any], *, reads: bool) -> Iterator[Raised]:
    is_callback = key in _HOOKS and "://" in value and _ABOUT_HOOKS.isdisjoint(words(tool))
    if reads and (is_callback or (key in _DELIVERS and "@" in value)):
        yield kinds.RECIPIENT
    elif key in _PLACES and len(value) < paths.LONGEST:
        if _ELSEWHERE.match(value) or ("://" in value[:10] and value.lower().startswith("http") and not reads):
            yield kinds.LEAVES
        elif _PATH.match(value):
            yield from paths.judge(value, writes=True, closed=False)
    elif key in _SIDES and not reads and value.lower() in _TRADES and not _SUMS.isdisjoint(map(_plain, args)):
        yield kinds.PAYS
    elif key in _RANGES and value in _OPEN and not reads:
        yield kinds.ACCESS
    elif (key in _KINDS and not _SECRETS.isdisjoint(re.split(r"[/,.]", value.lower()[:200]))) or (
        key in _FIELDS and _is_secret(value)
    ):
        yield kinds.READS_SECRETS


def _of_many(key: str, value: Sequence[Any], *, reads: bool) -> Iterator[Raised]:
    named = [each.strip() for each in value[:100] if isinstance(each, str)]
    if key in _RANGES and not reads and not _OPEN.isdisjoint(named):
        yield kinds.ACCESS
    elif any((key in _FIELDS and _is_secret(each)) or (key in _KINDS and each.lower() in _SECRETS) for each in named):
        yield kinds.READS_SECRETS
    elif key in _DELIVERS and reads and any("@" in each for each in named):
        yield kinds.RECIPIENT


@lru_cache(maxsize=1024)
def _is_secret(field: str) -> bool:
    """Whether a field's name is that of a credential: `password_hash`, `api_key`."""
    found = words(fold(field)[:80])
    if len(found) > 1 and found[-1] in _HASHES:
        found = found[:-1]
    return bool(found) and len(found) < 5 and (found[-1] in CREDENTIALS or tuple(found[-2:]) in CREDENTIAL_PAIRS)
