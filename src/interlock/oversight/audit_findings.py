"""What a verification of the audit log finds, in words that name rows and links; how it is found is not here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it was sealed or published."""

    kind: str
    """row_changed, row_removed, row_inserted, link_removed, link_changed, link_forged, unknown_key, head_missing,
    head_differs or export_damaged."""
    text: str
    link: int | None = None
    row: int | None = None
    """The first id, where it is about several."""


@dataclass(slots=True)
class Report:
    """What a verification found."""

    faults: list[Fault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    untold: int = 0
    """Faults beyond the first thousand."""
    rows: int = 0
    links: int = 0
    sealed: int = 0
    """Activities that are as the chain says."""
    unsealed: int = 0
    """Activities that are in no batch yet, so that nothing vouches for them."""
    unsealed_first: int | None = None
    pruned: int = 0
    """Activities that retention has let go."""
    redacted: int = 0
    """Activities that are as an erasure has left them."""
    is_signed: bool = True
    """Whether the seals were checked; else only the chain was, against published heads."""
    head: Mapping[str, Any] | None = None

    def add(self, kind: str, text: str, *, link: int | None = None, row: int | None = None) -> None:
        """Tells a fault."""
        if len(self.faults) < MOST_TOLD:
            self.faults.append(Fault(kind, text, link, row))
        else:
            self.untold += 1

    def remark(self, text: str) -> None:
        """Tells what is worth a look and proves nothing."""
        if len(self.remarks) < MOST_TOLD:
            self.remarks.append(text)


def these(noun: str, ranges: Iterable[Sequence[int]]) -> str:
    """`link 4 is`, `links 4 to 9 are`, `links 4, 6 to 9 and 12 are`, shortened where there are many."""
    given = list(ranges)
    parts = [str(a) if a == b else f"{a} to {b}" for a, b in given]
    shown = parts if len(parts) <= 6 else [*parts[:5], f"{len(parts) - 5} more"]
    many = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
    is_one = len(given) == 1 and given[0][0] == given[0][1]
    return f"{noun} {many} is" if is_one else f"{'activities' if noun == 'activity' else noun + 's'} {many} are"


def when(row: Any) -> str:
    """An activity's time, for people."""
    return f"{row.created_at:%Y-%m-%d %H:%M:%S}" if row.created_at is not None else "no readable time"
