"""Finding what a person means by an id or a unique part of one; what is done with it is elsewhere."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from interlock.core.errors import NotFound, UsageError
from interlock.store.schema import Account, Agent, Alert, Approval, Deliverable, Mission, Run, Task, table
from interlock.store.tx import Tx

SHORTEST = 4
"""Characters of an id that must be given at least."""
NEAR = 200
COLUMNS: Mapping[str, sa.Column[Any]] = {
    "mission": table(Mission).c.id,
    "task": table(Task).c.id,
    "run": table(Run).c.id,
    "approval": table(Approval).c.id,
    "agent": table(Agent).c.id,
    "deliverable": table(Deliverable).c.id,
    "alert": table(Alert).c.id,
    "account": table(Account).c.id,
}
"""What can be named by id."""


class Unknown(NotFound):
    """No row with that id, and perhaps what was meant."""

    def __init__(self, kind: str, ident: str, near: Sequence[str], listing: str) -> None:
        super().__init__(kind, ident)
        meant = f", did you mean `{near[0]}`" if near else ""
        self.args = (f"no {kind} `{ident}`{meant}: `interlock {listing}` lists what there is",)


def find(tx: Tx, kind: str, given: str) -> str:
    """The whole id of the one row of `kind` that `given` names: its id, or a unique beginning or end of it.

    Raises Unknown, and UsageError where it fits several.
    """
    return find_any(tx, (kind,), given)[1]


def find_any(tx: Tx, kinds: Sequence[str], given: str) -> tuple[str, str]:
    """The kind and the whole id of the one row, among several kinds, that `given` names.

    Raises Unknown, and UsageError where it fits several.
    """
    wanted = given.strip()
    for kind in kinds:
        if tx.one(sa.select(COLUMNS[kind]).where(COLUMNS[kind] == wanted)) is not None:
            return kind, wanted
    fits = [(kind, ident) for kind in kinds for ident in _alike(tx, COLUMNS[kind], wanted)]
    ids = sorted({ident for _, ident in fits})
    if len(ids) == 1:
        return fits[0]
    if ids:
        shown = ", ".join(f"`{ident}`" for ident in ids[:3])
        raise UsageError(f"`{wanted}` could be any of {shown}{' and others' if len(ids) > 3 else ''}: give more of it")
    raise Unknown(" or ".join(kinds), wanted, _near(tx, kinds, wanted), _listing(kinds[0]))


def _alike(tx: Tx, column: sa.Column[Any], wanted: str) -> list[str]:
    if len(wanted) < SHORTEST:
        return []
    fits = sa.or_(column.startswith(wanted, autoescape=True), column.endswith(wanted, autoescape=True))
    return [str(row[0]) for row in tx.rows(sa.select(column).where(fits).order_by(column).limit(4))]


def _near(tx: Tx, kinds: Sequence[str], wanted: str) -> list[str]:
    known: list[str] = []
    for kind in kinds:
        column = COLUMNS[kind]
        known += [str(row[0]) for row in tx.rows(sa.select(column).order_by(column.desc()).limit(NEAR))]
    return difflib.get_close_matches(wanted, known, n=1, cutoff=0.7)


def _listing(kind: str) -> str:
    return {"deliverable": "missions", "account": "budget"}.get(kind, f"{kind}s")
