"""Verifies the audit log's hash chain link by link: continuity, seals, and which activities each link covers.

The activities themselves are compared with it in `verification`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from interlock.oversight.audit_findings import Report, these
from interlock.oversight.heads import Head
from interlock.store.auditing import chain
from interlock.store.auditing.chain import ANEW, BATCH, KINDS, LEAF, PRUNE, REDACT, RESTORE, Keyring, Link

Leaves = Callable[[int], bytes | None]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Consecutive ids of a batch; their leaves begin at index `offset` of link `number`."""

    first: int
    last: int
    number: int
    offset: int


class Links:
    """The chain from its first link to its last."""

    def __init__(self, report: Report, keys: Keyring | None, leaves: Leaves) -> None:
        self.report, self.keys, self.leaves = report, keys, leaves
        self.spans: list[Span] = []
        self.redacted: dict[int, bytes] = {}
        self.pruned: list[tuple[int, int]] = []
        self.known: dict[int, Link] = {}
        self.newest: Link | None = None
        self.floor = 0
        """The id up to which no more activities could be committed when the newest valid link was made."""
        self._doubtful: list[tuple[int, int]] = []
        self._restores: list[tuple[int, int]] = []
        self._retired: set[str] = set()
        self._strange: dict[str, list[int]] = {}

    def add(self, link: Link) -> None:
        """Verifies the next link, and records which activities it covers."""
        is_whole = _is_whole(link)
        if is_whole:
            self._judge_order(link)
            self._judge_seal(link)
            self._apply(link)
            self.floor = max(self.floor, link.floor)
        else:
            text = f"link {link.number} was changed after it was sealed"
            self.report.add("link_changed", text, link=link.number)
            self._judge_number(link)
            self._doubtful += [(each[0], each[1]) for each in link.ranges] if _are_ranges(link.ranges) else []
        self.known[link.number] = link
        self.newest = link
        self.report.links += 1

    def end(self) -> None:
        """Reports what can be judged only once all links have been added."""
        for key, numbers in self._strange.items():
            text = f"{these('link', chain.ranges_of(numbers))} sealed with key `{key}`, which is none of those given"
            self.report.add("unknown_key", text, link=numbers[0])
        self.spans.sort()
        self.pruned = _merged(self.pruned)
        last = 0
        for span in self.spans:
            if span.first <= last:
                self.report.add("link_changed", f"activity {span.first} is in two batches", row=span.first)
            last = max(last, span.last)
        if (newest := self.newest) is not None:
            self.report.head = {
                "number": newest.number, "epoch": newest.epoch, "head": newest.head, "key_id": newest.key_id,
                "sealed_at": newest.created_at,
            }  # fmt: skip

    def is_doubtful(self, ident: int) -> bool:
        """Whether an activity is covered only by a link that was changed."""
        return any(first <= ident <= last for first, last in self._doubtful)

    @property
    def top(self) -> int:
        """The highest activity id that the chain covers."""
        return max((span.last for span in self.spans), default=0)

    def check_published(self, published: Sequence[Head]) -> None:
        """Checks that each published head is in the chain, or was replaced by a restore that is itself sealed."""
        newest = self.newest.number if self.newest is not None else 0
        lost, missing = set(), set()
        for head in published:
            if (found := self.known.get(head.number)) is not None and found.head == head.head:
                continue
            if any(number <= head.number and epoch > head.epoch for number, epoch in self._restores):
                lost.add(head.number)
            elif head.number > newest:
                missing.add(head.number)
            else:
                text = f"link {head.number} is another than the one that was published"
                self.report.add("head_differs", text, link=head.number)
        if missing:
            which = these("published link", chain.ranges_of(sorted(missing)))
            text = f"the log was cut off after link {newest}: {which} not there"
            self.report.add("head_missing", text, link=min(missing))
        if lost:
            which = these("published link", chain.ranges_of(sorted(lost)))
            self.report.remark(f"{which} from before a restore of a backup, which a seal vouches for")

    def _judge_number(self, link: Link) -> bool:
        expected = self.newest.number + 1 if self.newest is not None else 1
        if link.number != expected:
            text = f"{these('link', [[expected, link.number - 1]])} not there any more"
            self.report.add("link_removed", text, link=expected)
        return link.number == expected

    def _judge_order(self, link: Link) -> None:
        before, report = self.newest, self.report
        if self._judge_number(link) and link.previous != (before.head if before is not None else chain.GENESIS):
            text = f"link {link.number} does not follow link {link.number - 1}: one of the two is not the one it was"
            report.add("link_changed", text, link=link.number)
        epoch = before.epoch if before is not None and isinstance(before.epoch, int) else 0
        if link.kind == RESTORE:
            self._restores.append((link.number, link.epoch))
        if link.epoch < epoch or (link.epoch > epoch and link.kind != RESTORE):
            text = f"link {link.number} is of epoch {link.epoch} after {epoch}: no seal vouches for a restore"
            report.add("link_changed", text, link=link.number)

    def _judge_seal(self, link: Link) -> None:
        if self.keys is None:
            return
        if link.key_id not in self.keys.known:
            self._strange.setdefault(link.key_id, []).append(link.number)
        elif not chain.is_sealed(link, self.keys):
            self.report.add("link_forged", f"the seal of link {link.number} is forged", link=link.number)
        before = self.newest
        if before is not None and before.key_id != link.key_id:
            self._retired.add(before.key_id)
            if link.kind == ANEW:
                self.report.remark(f"link {link.number} goes on with key `{link.key_id}`: the one before was lost")
        if link.key_id in self._retired:
            text = f"link {link.number} is sealed with key `{link.key_id}`, which had been replaced before"
            self.report.add("link_forged", text, link=link.number)

    def _apply(self, link: Link) -> None:
        if link.kind == BATCH:
            offset = 0
            for first, last in link.ranges:
                self.spans.append(Span(first, last, link.number, offset))
                offset += last - first + 1
        elif link.kind == PRUNE:
            self.pruned += [(first, last) for first, last in link.ranges]
            self.report.pruned += link.count
        elif link.kind == REDACT and link.count and (whole := self.sealed_leaves(link)) is not None:
            for place, ident in enumerate(chain.ids_of(link.ranges)):
                self.redacted[ident] = whole[place * LEAF : (place + 1) * LEAF]

    def sealed_leaves(self, link: Link) -> bytes | None:
        """The leaves of a link; reports a fault if they are not those that were sealed."""
        whole = self.leaves(link.number)
        if whole is not None and chain.digest_of(whole) == link.digest and len(whole) == link.count * LEAF:
            return whole
        text = f"the digests of link {link.number} were changed, so that its activities cannot be told apart"
        self.report.add("link_changed", text, link=link.number)
        return None


def _is_whole(link: Link) -> bool:
    """Whether a link is well formed and its head is the digest of its contents."""
    ranges = link.ranges
    if not all(type(value) is int for value in (link.number, link.epoch, link.count, link.top, link.floor)):
        return False
    if not _are_ranges(ranges):
        return False
    count = sum(last - first + 1 for first, last in ranges)
    return chain.head_of(link) == link.head and link.kind in KINDS and count == link.count


def _are_ranges(given: Iterable[object]) -> bool:
    return all(isinstance(each, list) and len(each) == 2 and all(type(i) is int for i in each) for each in given)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out
