"""The findings of a verification of the audit log; how they are found is in `verification` and `audit_links`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_REPORTED = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A deviation from what was sealed or published."""

    kind: str
    """row_changed, row_removed, row_inserted, link_removed, link_changed, link_forged, unknown_key, head_missing,
    head_differs or export_damaged."""
    text: str
    link: int | None = None
    row: int | None = None
    """The activity's id; the first one, if there are several."""


@dataclass(slots=True)
class Report:
    """What a verification found."""

    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    omitted: int = 0
    """Faults beyond the first thousand."""
    rows: int = 0
    links: int = 0
    sealed: int = 0
    """Activities that match the chain."""
    unsealed: int = 0
    """Activities that are in no batch yet, and so not protected."""
    unsealed_first: int | None = None
    pruned: int = 0
    """Activities that retention has deleted."""
    redacted: int = 0
    """Activities that an erasure has changed."""
    is_signed: bool = True
    """Whether the seals were verified; if not, only the chain was, against published heads."""
    head: Mapping[str, Any] | None = None

    def add(self, kind: str, text: str, *, link: int | None = None, row: int | None = None) -> None:
        """Adds a fault; beyond the limit, only counts it."""
        if len(self.faults) < MAX_REPORTED:
            self.faults.append(Fault(kind, text, link, row))
        else:
            self.omitted += 1

    def remark(self, text: str) -> None:
        """Adds a remark: worth a look, but no proof of tampering."""
        if len(self.remarks) < MAX_REPORTED:
            self.remarks.append(text)


def these(noun: str, ranges: Iterable[Sequence[int]]) -> str:
    """`link 4 is`, `links 4 to 9 are`, `links 4, 6 to 9 and 12 are`; shortened if there are many."""
    given = list(ranges)
    parts = [str(a) if a == b else f"{a} to {b}" for a, b in given]
    shown = parts if len(parts) <= 6 else [*parts[:5], f"{len(parts) - 5} more"]
    many = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
    is_one = len(given) == 1 and given[0][0] == given[0][1]
    return f"{noun} {many} is" if is_one else f"{'activities' if noun == 'activity' else noun + 's'} {many} are"


def when(row: Any) -> str:
    """An activity's time, formatted for people."""
    return f"{row.created_at:%Y-%m-%d %H:%M:%S}" if row.created_at is not None else "no readable time"
