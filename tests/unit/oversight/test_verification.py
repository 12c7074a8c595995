"""Whatever one does to a sealed log without its key is found; whatever is done to it with the key is not."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.oversight.audit_findings import these
from interlock.oversight.heads import Head
from interlock.oversight.verification import verify
from interlock.store.auditing import chain
from interlock.store.auditing.chain import BATCH, PRUNE, REDACT, Entry, Key, Keyring, Link

T0 = datetime(2026, 1, 1, tzinfo=UTC)
KEY = Key.of(b"a key that nobody knows")
KEYS = Keyring.of(KEY)


def entry(ident: int, **more: Any) -> Entry:
    values = {
        "id": ident, "project_id": "p", "action": "X", "actor_kind": "system", "actor_id": "s", "mission_id": None,
        "task_id": None, "run_id": None, "subject": None, "data": {"n": ident}, "created_at": T0, **more,
    }  # fmt: skip
    return Entry(**values)


@dataclass
class Log:
    """A log in memory, with all that its keepers do to it."""

    rows: dict[int, Entry] = field(default_factory=dict)
    chained: list[Link] = field(default_factory=list)
    digests: dict[int, bytes] = field(default_factory=dict)

    def put(self, kind: str, ids: list[int], leaves: list[bytes]) -> None:
        last = self.chained[-1] if self.chained else None
        now = T0 + timedelta(minutes=len(self.chained))
        values = chain.link(KEY, last, kind, ids, leaves, now)
        self.chained.append(Link(*(values[name] for name in Link._fields)))
        if values["leaves"]:
            self.digests[values["number"]] = values["leaves"]

    def sealed(self, ids: list[int]) -> None:
        self.rows |= {ident: entry(ident) for ident in ids}
        self.put(BATCH, ids, [chain.leaf(self.rows[ident]) for ident in ids])

    def redacted(self, ids: list[int]) -> None:
        self.rows |= {ident: entry(ident, data={"n": "[erased]"}) for ident in ids}
        self.put(REDACT, ids, [chain.leaf(self.rows[ident]) for ident in ids])

    def pruned(self, ids: list[int]) -> None:
        for ident in ids:
            del self.rows[ident]
        self.put(PRUNE, ids, [])

    def links(self) -> Iterator[Link]:
        yield from self.chained

    def leaves(self, number: int) -> bytes | None:
        return self.digests.get(number)

    def entries(self) -> Iterator[Entry]:
        yield from (self.rows[ident] for ident in sorted(self.rows))

    def faults(self, published: list[Head] | None = None) -> list[tuple[str, int | None, int | None]]:
        return [(each.kind, each.link, each.row) for each in verify(self, KEYS, published or []).faults]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Batches with gaps between their ids, and late ones among them; some rows erased or let go."""
    log, top = Log(), 0
    for _ in range(draw(st.integers(1, 5))):
        gaps = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
        ids = []
        for gap in gaps:
            top += gap
            ids.append(top)
        held = draw(st.booleans()) and len(ids) > 2
        late = ids.pop(1) if held else None
        log.sealed(ids)
        if late is not None:
            log.sealed([late])
    there = sorted(log.rows)
    if some := draw(st.lists(st.sampled_from(there), unique=True, max_size=3)):
        log.redacted(sorted(some))
    if some := draw(st.lists(st.sampled_from(there), unique=True, max_size=len(there) - 1)):
        log.pruned(sorted(some))
    return log


@given(logs())
def test_what_its_keepers_do_is_no_tampering(log: Log) -> None:
    report = verify(log, KEYS)
    assert (report.faults, report.unsealed, report.sealed) == ([], 0, len(log.rows))


@given(logs(), st.data())
def test_every_changed_removed_or_inserted_row_is_named(log: Log, data: st.DataObject) -> None:
    ident = data.draw(st.sampled_from(sorted(log.rows)))
    field_ = data.draw(st.sampled_from(Entry._fields[1:]))
    match data.draw(st.sampled_from(["change", "remove", "insert"])):
        case "change":
            value: Any = T0 + timedelta(microseconds=1) if field_ == "created_at" else {"other": True}
            log.rows[ident] = log.rows[ident]._replace(**{field_: value})
            assert [fault[::2] for fault in log.faults()] == [("row_changed", ident)]
        case "remove":
            del log.rows[ident]
            assert [fault[::2] for fault in log.faults()] == [("row_removed", ident)]
        case _:
            free = [each for each in range(-1, max(log.rows) + 1) if each not in log.rows]
            ident = data.draw(st.sampled_from(free))
            log.rows[ident] = entry(ident)
            assert [fault[::2] for fault in log.faults()] == [("row_inserted", ident)]


@given(logs(), st.data())
@settings(max_examples=200)
def test_every_changed_removed_or_moved_link_is_named(log: Log, data: st.DataObject) -> None:
    published = [Head(log.chained[-1].number, 0, log.chained[-1].head)]
    place = data.draw(st.integers(0, len(log.chained) - 1))
    link, number = log.chained[place], place + 1
    match data.draw(st.sampled_from(["change", "remove", "swap", "forge"])):
        case "change":
            name = data.draw(
                st.sampled_from(["epoch", "kind", "ranges", "count", "top", "floor", "digest", "previous"])
            )
            value: Any = {"ranges": [[1, 10**18]], "kind": "prune" if link.kind != "prune" else "batch"}.get(
                name, 7_777
            )
            log.chained[place] = link._replace(**{name: value})
        case "remove":
            del log.chained[place]
        case "swap" if place:
            other = log.chained[place - 1]
            log.chained[place - 1 : place + 1] = [
                link._replace(number=other.number), other._replace(number=link.number)
            ]  # fmt: skip
        case _:
            thief = Key.of(b"a key that is not the one")
            log.chained[place] = link._replace(seal=chain.seal_of(thief, link.head))
    named = {fault[1] for fault in log.faults(published)}
    assert named & {number, number - 1, number + 1}


def test_many_numbers_are_told_in_few_words() -> None:
    assert these("link", [[4, 4]]) == "link 4 is"
    assert these("activity", [[4, 9]]) == "activities 4 to 9 are"
    assert these("link", [[4, 4], [6, 9], [12, 12]]) == "links 4, 6 to 9 and 12 are"
    assert these("link", [[i, i] for i in range(0, 40, 2)]) == "links 0, 2, 4, 6, 8 and 15 more are"


def hours(links: int) -> Log:
    """A log of three batches, an hour apart, and an activity that came later; so many of its links are left."""
    log = Log()
    for number in range(3):
        log.rows[number + 1] = entry(number + 1, created_at=T0 + timedelta(hours=number))
        log.put(BATCH, [number + 1], [chain.leaf(log.rows[number + 1])])
    log.rows[4] = entry(4, created_at=T0 + timedelta(hours=2, minutes=1))
    del log.chained[links:]
    return log


def test_activities_unsealed_for_hours_are_reported_since_a_truncated_chain_looks_like_that() -> None:
    for links, first in ((2, 3), (1, 2), (0, 1)):
        found = verify(hours(links), KEYS)
        told = [f"activities from {first} (2026-01-01 0{first - 1}:00:00) to 4"] if first < 3 else []
        assert (found.faults, found.unsealed) == ([], 4 - links)
        assert [remark.partition(" (2026-01-01 02:01:00)")[0] for remark in found.remarks] == told


def test_last_minute_is_no_remark() -> None:
    found = verify(hours(3), KEYS)
    assert (found.remarks, found.unsealed, found.unsealed_first) == ([], 1, 4)
