"""Verifies the audit log: each activity against the chain, the chain against its seals and the published heads.

Works on a database or an export; read-only. The chain is verified in `audit_links`, and read by `audit_sources`.
Source: row I4.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol

from interlock.oversight.audit_findings import Report, these, when
from interlock.oversight.audit_links import Links, Span
from interlock.oversight.heads import Head
from interlock.store.auditing import chain
from interlock.store.auditing.chain import LEAF, Entry, Keyring, Link
from interlock.store.auditing.seals import LATE_S

KEPT_LEAVES = 16
_LATE = timedelta(seconds=LATE_S)
_LONG = timedelta(hours=1)
"""Longest expected time between the first and the last unsealed activity: a live process seals each minute."""


class Source(Protocol):
    """A source of the log."""

    def links(self) -> Iterable[Link]:
        """All links in order, unverified."""

    def leaves(self, number: int) -> bytes | None:
        """The leaves of a link."""

    def entries(self) -> Iterable[Entry]:
        """All activities in the order of their ids."""


def verify(source: Source, keys: Keyring | None, published: Sequence[Head] = ()) -> Report:
    """Verifies the log. Without keys, seals are not checked: only the `published` heads authenticate the chain."""
    report = Report(is_signed=keys is not None)
    links = Links(report, keys, source.leaves)
    for link in source.links():
        links.add(link)
    links.end()
    links.check_published(published)
    _Entries(source, links, report).walk()
    return report


class _Entries:
    """Compares the activities with what the chain covers, in one pass over both."""

    def __init__(self, source: Source, links: Links, report: Report) -> None:
        self.source, self.links, self.report = source, links, report
        self._spans = iter(links.spans)
        self._span: Span | None = None
        self._wanted = 0
        self._leaves: OrderedDict[int, bytes | None] = OrderedDict()
        self._pruned_from = [first for first, _ in links.pruned]
        self._extra: list[Entry] = []
        self._last_sealed: Entry | None = None

    def walk(self) -> None:
        """Checks every activity, and every id that should exist."""
        self._next()
        before: Entry | None = None
        for row in self.source.entries():
            self.report.rows += 1
            while self._span is not None and self._span.last < row.id:
                self._missing(self._wanted, self._span.last, self._span.number)
                self._next()
            if self._span is None or row.id < self._span.first:
                self._extra.append(row)
            else:
                self._missing(self._wanted, row.id - 1, self._span.number)
                self._judge(row, self._span)
                self._wanted, self._last_sealed = row.id + 1, row
            self._remark_on_time(row, before)
            before = row
        while self._span is not None:
            self._missing(self._wanted, self._span.last, self._span.number)
            self._next()
        self._judge_extra()

    def _next(self) -> None:
        self._span = next(self._spans, None)
        self._wanted = self._span.first if self._span is not None else 0

    def _judge(self, row: Entry, span: Span) -> None:
        if self._pruned_until(row.id) is not None:
            text = f"activity {row.id} ({row.action}) was let go by retention and is there again"
            self.report.add("row_inserted", text, row=row.id)
            return
        leaf = self.links.redacted.get(row.id)
        if leaf is not None:
            self.report.redacted += 1
        elif (whole := self._leaves_of(span.number)) is not None:
            place = span.offset + row.id - span.first
            leaf = whole[place * LEAF : (place + 1) * LEAF]
        else:
            return
        if chain.leaf(row) == leaf:
            self.report.sealed += 1
        else:
            text = f"activity {row.id} ({row.action}, {when(row)}) was changed after link {span.number} sealed it"
            self.report.add("row_changed", text, row=row.id, link=span.number)

    def _leaves_of(self, number: int) -> bytes | None:
        """The leaves of a batch; the last few are cached."""
        if number not in self._leaves:
            self._leaves[number] = self.links.sealed_leaves(self.links.known[number])
            if len(self._leaves) > KEPT_LEAVES:
                self._leaves.popitem(last=False)
        return self._leaves[number]

    def _pruned_until(self, ident: int) -> int | None:
        """The last id of the range deleted by retention that contains this id."""
        place = bisect_right(self._pruned_from, ident) - 1
        return self.links.pruned[place][1] if place >= 0 and ident <= self.links.pruned[place][1] else None

    def _missing(self, first: int, last: int, number: int) -> None:
        """Reports missing ids, except those that retention deleted."""
        while first <= last:
            if (until := self._pruned_until(first)) is not None:
                first = until + 1
                continue
            place = bisect_right(self._pruned_from, first)
            stop = min(last, self._pruned_from[place] - 1 if place < len(self._pruned_from) else last)
            text = f"{these('activity', [[first, stop]])} gone, which link {number} has sealed"
            self.report.add("row_removed", text, row=first, link=number)
            first = stop + 1

    def _remark_on_time(self, row: Entry, before: Entry | None) -> None:
        if before is None or row.created_at is None or before.created_at is None:
            return
        if row.created_at < before.created_at - _LATE:
            self.report.remark(
                f"activity {row.id} ({row.action}) says {when(row)}, and the one before it {when(before)}: a clock was"
                " set back, or it was put there before it was sealed"
            )

    def _judge_extra(self) -> None:
        """Judges an activity in no batch: not sealed yet, or inserted where nothing could be committed any more."""
        inserted: dict[int, Entry] = {}
        unsealed: list[Entry] = []
        for row in self._extra:
            if self.links.is_doubtful(row.id):
                continue
            if self._is_inserted(row):
                inserted[row.id] = row
                continue
            unsealed.append(row)
        self.report.unsealed = len(unsealed)
        if unsealed:
            self.report.unsealed_first = unsealed[0].id
            self._remark_on_wait(unsealed[0], unsealed[-1])
        for first, last in chain.ranges_of(inserted):
            row = inserted[first]
            which = (
                f"activity {first} ({row.action}, {when(row)}) is"
                if first == last
                else these("activity", [[first, last]])
            )
            self.report.add("row_inserted", f"{which} in no batch: inserted, or its batch is gone", row=first)

    def _remark_on_wait(self, first: Entry, last: Entry) -> None:
        """Remarks on old unsealed activities: the chain may have been truncated, or nobody was there to seal them."""
        if first.created_at is None or last.created_at is None or last.created_at - first.created_at < _LONG:
            return
        self.report.remark(
            f"activities from {first.id} ({when(first)}) to {last.id} ({when(last)}) are in no batch: nothing that"
            " seals was at work meanwhile, or the last links were cut off, which published heads would tell"
        )

    def _is_inserted(self, row: Entry) -> bool:
        newest, last = self.links.newest, self._last_sealed
        if newest is None:
            return False
        if row.created_at is None or row.id <= self.links.floor:
            return True
        is_behind = row.id <= self.links.top
        if is_behind or last is None or last.created_at is None:
            return False
        return row.created_at < last.created_at - _LATE
