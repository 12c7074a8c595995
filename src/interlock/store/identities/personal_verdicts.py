"""Mentions and words of a person in models' votes, results of checks and waivers: searching and rewriting.

INVARIANT: verdicts, digests and who waived what stay; only words change. Authorisation is up to the desk.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.policy.checks import WAIVER
from interlock.store.identities.personal import ERASED, Known
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.signoff.consulting import VOTES as GIVEN
from interlock.store.signoff.votes import VOTES
from interlock.store.tx import Tx
from interlock.store.work.evidence import RESULTS, TASKS

_v, _cr, _ap, _t = VOTES.c, RESULTS.c, APPROVALS.c, TASKS.c
_PART = b("part", type_=sa.Text())


def _has(text: Any) -> sa.ColumnElement[bool]:
    """Whether a text contains another; not by LIKE, which has special characters."""
    without: sa.ColumnElement[str] = sa.func.replace(text, _PART, "")
    is_in: sa.ColumnElement[bool] = without != text
    return is_in


_WITH = {
    "vote": sa.select(_v.id).where(_has(_v.reason)),
    "check": sa.select(_cr.id).where(_has(_cr.detail)),
    "approval": sa.select(_ap.id).where(sa.or_(_has(sa.cast(_ap.request, sa.Text)), _has(_ap.note))),
    "task": sa.select(_t.id).where(_has(sa.cast(_t.checks, sa.Text))),
}
_ONE = {
    "vote": sa.select(_v.reason).where(_v.id == b("ident")).with_for_update(),
    "check": sa.select(_cr.detail).where(_cr.id == b("ident")).with_for_update(),
    "approval": sa.select(_ap.request, _ap.note).where(_ap.id == b("ident")).with_for_update(),
    "task": sa.select(_t.checks).where(_t.id == b("ident")).with_for_update(),
}
_REWRITE = {
    "vote": sa.update(VOTES).where(_v.id == b("ident")).values(reason=b("what")),
    "check": sa.update(RESULTS).where(_cr.id == b("ident")).values(detail=b("what")),
    "approval": sa.update(APPROVALS)
    .where(_ap.id == b("ident"))
    .values(request=b("what", type_=_ap.request.type), note=b("words")),
    "task": sa.update(TASKS).where(_t.id == b("ident")).values(checks=b("what", type_=_t.checks.type)),
}
_WAIVED = sa.select(_t.id, _t.checks).where(_has(sa.cast(_t.checks, sa.Text))).order_by(_t.id)


def waivers(tx: Tx, known: Known) -> list[dict[str, Any]]:
    """The checks that a person has waived, and why."""
    return [
        {"task_id": row.id, "number": number, "kind": check.get("kind"), **check[WAIVER]}
        for row in tx.rows(_WAIVED, {"part": known.id})
        for number, check in enumerate(row.checks, start=1)
        if check.get(WAIVER, {}).get("by") == known.id
    ]


def mentions(tx: Tx, known: Known) -> list[tuple[str, str]]:
    """Kinds and ids of the rows that mention a person, or contain a waiver of theirs."""
    found: dict[tuple[str, str], None] = {}
    for part in known.spellings:
        for kind, query in _WITH.items():
            found |= {(kind, row.id): None for row in tx.rows(query, {"part": part})}
    found |= {("task", each["task_id"]): None for each in waivers(tx, known)}
    return list(found)


def redact(tx: Tx, known: Known, kind: str, ident: str) -> None:
    """Rewrites one row with the person's pseudonym, without their words."""
    row: Any = tx.one(_ONE[kind], {"ident": ident})
    if row is None:
        return
    clean = _cleaner(known)
    given: dict[str, Any] = {"ident": ident}
    if kind == "approval":
        said = [{**each, "reason": clean(str(each.get("reason", "")))} for each in row.request.get(GIVEN, [])]
        given["what"] = {**row.request, GIVEN: said} if GIVEN in row.request else row.request
        given["words"] = None if row.note is None else clean(row.note)
    elif kind == "task":
        given["what"] = [_waiver_cleaned(each, known, clean) for each in row.checks or []]
    else:
        given["what"] = clean(row[0])
    tx.run(_REWRITE[kind], given)


def _waiver_cleaned(check: Mapping[str, Any], known: Known, clean: Callable[[str], str]) -> dict[str, Any]:
    """The check itself is unchanged: only a waiver's words are about people."""
    waived = check.get(WAIVER)
    if not isinstance(waived, Mapping):
        return dict(check)
    note = ERASED if waived.get("by") == known.id else clean(str(waived.get("note", "")))
    return {**check, WAIVER: {**waived, "note": note}}


def _cleaner(known: Known) -> Callable[[str], str]:
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in (known.name, *known.identities) if name)
    pattern = re.compile(names)
    return lambda text: pattern.sub(known.pseudonym, text)
