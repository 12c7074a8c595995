"""Resolves ids, or unique parts of ids, that a person gives."""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence

from interlock.core.errors import NotFound, UsageError
from interlock.core.text import visible
from interlock.store import lookup
from interlock.store.tx import Tx

SHORTEST = 4
"""The minimum length of a part of an id."""
NEAR = 200


class Unknown(NotFound):
    """No row has that id; suggests similar ones."""

    def __init__(self, kind: str, ident: str, near: Sequence[str], listing: str) -> None:
        meant = f", did you mean `{near[0]}`" if near else ""
        super().__init__(kind, ident, message=f"no {kind} `{ident}`{meant}: `interlock {listing}` lists what there is")


class NoPersona(NotFound):
    """No persona has that name; suggests the nearest, and lists what there is."""

    def __init__(self, given: str, known: Iterable[str]) -> None:
        names, shown = list(known), visible(given, one_line=True)
        near = difflib.get_close_matches(as_id(given), names, n=1)
        meant = f", did you mean `{near[0]}`" if near else ""
        super().__init__("persona", given, message=f"no persona `{shown}`{meant}: there are {', '.join(names)}")


def find(tx: Tx, kind: str, given: str) -> str:
    """The id of the row of `kind` that `given` identifies: an id, or a unique prefix or suffix of one.

    Raises Unknown, and UsageError if it is ambiguous.
    """
    return find_any(tx, (kind,), given)[1]


def find_untold(tx: Tx, kind: str, given: str) -> str:
    """As `find`, for those who may know of one project only: the error names no ids that might be of another.

    Raises Unknown.
    """
    try:
        return find(tx, kind, given)
    except (Unknown, UsageError):
        raise Unknown(kind, given.strip(), (), _listing(kind)) from None


def as_id(given: str) -> str:
    """Normalises typed or pasted text to the form of ids and agents' names.

    Full-width letters, capitals, surrounding blanks and invisible characters come from keyboards, chats and documents.
    """
    plain = unicodedata.normalize("NFKC", given)
    return "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc")).strip().lower()


def one_of(kind: str, given: str, ids: Sequence[str]) -> str:
    """As `find`, among given ids: those that the person may know of.

    Raises Unknown, and UsageError if it is ambiguous.
    """
    wanted = as_id(given)
    if wanted in ids:
        return wanted
    fits = sorted(each for each in ids if each.startswith(wanted) or each.endswith(wanted))
    if len(wanted) < SHORTEST or not fits:
        near = difflib.get_close_matches(wanted, ids, n=1, cutoff=0.7)
        raise Unknown(kind, given.strip(), near, _listing(kind))
    return _only(given, fits)


def find_any(tx: Tx, kinds: Sequence[str], given: str) -> tuple[str, str]:
    """As `find`, among several kinds; returns the kind and the id.

    Raises Unknown, and UsageError if it is ambiguous.
    """
    wanted = as_id(given)
    for kind in kinds:
        if lookup.exists(tx, kind, wanted):
            return kind, wanted
    long_enough = kinds if len(wanted) >= SHORTEST else ()
    fits = [(kind, ident) for kind in long_enough for ident in lookup.alike(tx, kind, wanted, 4)]
    ids = sorted({ident for _, ident in fits})
    if ids and _only(given, ids):
        return fits[0]
    raise Unknown(" or ".join(kinds), given.strip(), _near(tx, kinds, wanted), _listing(kinds[0]))


def _only(given: str, ids: Sequence[str]) -> str:
    if len(ids) > 1:
        shown = ", ".join(f"`{ident}`" for ident in ids[:3])
        more = " and others" if len(ids) > 3 else ""
        raise UsageError(f"`{given.strip()}` could be any of {shown}{more}: give more of it")
    return ids[0]


def _near(tx: Tx, kinds: Sequence[str], wanted: str) -> list[str]:
    known = [ident for kind in kinds for ident in lookup.greatest(tx, kind, NEAR)]
    return difflib.get_close_matches(wanted, known, n=1, cutoff=0.7)


def _listing(kind: str) -> str:
    named = {
        "deliverable": "missions", "account": "budget", "memory": "memory search", "block": "memory search",
        "token": "token list",
    }  # fmt: skip
    return named.get(kind, f"{kind}s")


def one_of_states(given: str | None, states: tuple[str, ...]) -> str | None:
    """Parses the name of a state; None if none was given.

    Raises UsageError.
    """
    if given is None:
        return None
    for state in states:
        if state.lower() == given.strip().lower().replace("-", "_"):
            return str(state)
    raise UsageError(f"`{given}` is not a state: use one of {', '.join(str(s) for s in states)}")
