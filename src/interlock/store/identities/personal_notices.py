"""Mentions and words of a person in alerts, incidents and lines of the ledger: searching and rewriting.

INVARIANT: events and amounts stay; only words change. Authorisation is up to the desk.
"""

import json
import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.auditing.audit import ACTIVITIES, ALERTS
from interlock.store.identities.personal import ERASED, TASKS, TRANSITIONS, Known
from interlock.store.knowledge.incidents import INCIDENTS
from interlock.store.messages import feed
from interlock.store.money.ledger import LEDGER
from interlock.store.signoff.grants import GRANTS
from interlock.store.squad import MEMBERS
from interlock.store.tx import Tx

_al, _in, _m, _t, _tr = ALERTS.c, INCIDENTS.c, MEMBERS.c, TASKS.c, TRANSITIONS.c
_a, _g, _l = ACTIVITIES.c, GRANTS.c, LEDGER.c
_PART, _WHO = b("part", type_=sa.Text()), b("who", type_=sa.String())
_APART = _m.state != sa.text("'ACTIVE'")
_TEXTS: dict[str, tuple[Any, Any, Any]] = {
    "alert": (ALERTS, _al.text, sa.true()),
    "incident": (INCIDENTS, _in.text, sa.true()),
    "member": (MEMBERS, _m.state_reason, _APART),
    "task": (TASKS, _t.block_reason, sa.true()),
    "move": (TRANSITIONS, _tr.reason, sa.true()),
}
"""By kind: the table, its text column, and the condition for rows to search."""
_WITH = {
    kind: sa.select(kept.c.id).where(sa.func.replace(text, _PART, "") != text, where)
    for kind, (kept, text, where) in _TEXTS.items()
}
_ONE = {
    kind: sa.select(text.label("text")).where(kept.c.id == b("ident"), where).with_for_update()
    for kind, (kept, text, where) in _TEXTS.items()
}
_REWRITE = {
    kind: sa.update(kept).where(kept.c.id == b("ident")).values({text.name: b("what")})
    for kind, (kept, text, _) in _TEXTS.items()
}
_REASONS = sa.select(_a.data).where(
    _a.actor_id == _WHO, _a.action.in_(("CONTROL_CHANGED", "AGENT_QUARANTINED", "AGENT_RELEASED"))
)
_MONEY = (
    sa.update(LEDGER)
    .where(_l.kind.in_(("raise", "go_on")), sa.func.replace(_l.note, b("start", type_=sa.Text()), "") != _l.note)
    .values(note=b("left"))
)
_GRANTED = sa.update(GRANTS).where(_g.given_by == _WHO, _g.reason != "").values(reason=ERASED)


def erase_notes(tx: Tx, known: Known) -> None:
    """Replaces their reasons for changed limits and grants, and deletes the feed events of their controls."""
    tx.run(_MONEY, {"start": f"{known.id} ", "left": f"{known.id} {ERASED}"})
    tx.run(_GRANTED, {"who": known.id})
    for reason in _reasons(tx, known):
        for part in {json.dumps(reason), f'"{reason}"'}:
            feed.forget(tx, part)


def mentions(tx: Tx, known: Known) -> list[tuple[str, str]]:
    """Kinds and ids of the rows that mention a person."""
    return [
        (kind, row.id)
        for kind, query in _WITH.items()
        for part in (known.name, *known.identities)
        for row in tx.rows(query, {"part": part})
    ]


def redact(tx: Tx, known: Known, kind: str, ident: str) -> None:
    """Rewrites one row with the person's pseudonym, without their reasons."""
    row: Any = tx.one(_ONE[kind], {"ident": ident})
    if row is None or row.text is None:
        return
    text = row.text
    for reason in _reasons(tx, known):
        text = re.sub(rf"(?<!\w){re.escape(reason)}(?!\w)", ERASED, text)
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in (known.name, *known.identities) if name)
    rewritten = re.sub(names, known.pseudonym, text)
    if rewritten != row.text and re.search(names, row.text):
        tx.run(_REWRITE[kind], {"ident": ident, "what": rewritten})


def _reasons(tx: Tx, known: Known) -> list[str]:
    """Their reasons for pausing, stopping and quarantining, longest first."""
    said = {str(row.data.get("reason") or "") for row in tx.rows(_REASONS, {"who": known.id})}
    return sorted(said - {"", ERASED}, key=len, reverse=True)
