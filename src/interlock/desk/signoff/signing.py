"""The approval queue: showing questions as cards, approving and denying them, singly or in batches.

Whether an answer is valid is decided in `store.signoff.approvals`; the runner and the coordinator act on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from interlock.core.errors import Conflict, InterlockError, UsageError
from interlock.core.values import digest
from interlock.desk.budgets.accounts import open_today
from interlock.desk.context import DeskContext, Person
from interlock.desk.identities import visibility
from interlock.desk.operations import emergency
from interlock.desk.reading.finding import find, find_untold, one_of_states
from interlock.desk.reading.views import View, dollars, view
from interlock.desk.signoff import grants
from interlock.desk.signoff.call_summaries import deed
from interlock.desk.signoff.grants import GrantRequest
from interlock.store.errors import StoreError
from interlock.store.signoff import approval_queue
from interlock.store.signoff import approvals as approval_store
from interlock.store.signoff.approvals import Answer
from interlock.store.signoff.late_answers import AlreadyAnswered
from interlock.store.signoff.late_answers import Changed as Changed
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.desk.signoff.edited_calls import Judge

MOST_WORDS = 4_000
"""The most characters in a note or a reason."""
MOST_ALIKE = 50
"""The most questions that can be answered together."""
_VERDICTS = {"approve": ("approved", "used"), "deny": ("denied",)}
"""The states of a question that was answered with a verb."""
_PRIVATE = ("definition", "votes", "consensus")
"""Parts of a request that are not shown to people."""


async def approvals(
    context: DeskContext,
    *,
    status: str | None = "pending",
    mission: str | None = None,
    project: str | None = None,
    limit: int = 200,
    after: str | None = None,
    reader: Person | None = None,
) -> list[View]:
    """A page of the queue as cards, oldest first; a `status` of None includes answered ones. Source: row C5.

    `after` is the id of the last question on the previous page. If the `reader` is a viewer, the content of private
    questions is left out, and `withheld` is true in their cards. Without a reader, everything is shown.

    Raises Unknown for an unknown mission or question, UsageError for an unknown status.
    """
    state = one_of_states(status, approval_store.STATUSES)
    return await context.store.read(_queue, state, mission, project, limit, after, reader)


async def approval(context: DeskContext, ident: str, *, reader: Person | None = None) -> View:
    """One question as a card, as in `approvals`.

    Raises Unknown.
    """
    return await context.store.read(_one, ident, reader)


async def of_run(context: DeskContext, run_id: str) -> list[str]:
    """The ids of a run's open questions, in order."""
    rows = await context.store.read(approval_store.of_run, run_id)
    return [row.id for row in rows if row.status == "pending"]


async def waiting(context: DeskContext) -> int:
    """How many questions wait for a person."""
    return await context.store.read(approval_queue.waiting)


async def alike(context: DeskContext, ident: str) -> list[View]:
    """The open questions that can be answered together with this one, which comes first; then the others, oldest first.

    Raises Unknown, and AlreadyAnswered if this one is no longer open.
    """
    return await context.store.read(_open_alike, ident)


def _queue(
    tx: Tx,
    status: str | None,
    mission: str | None,
    project: str | None,
    limit: int,
    after: str | None,
    reader: Person | None,
) -> list[View]:
    named = find if project is None else find_untold
    within = named(tx, "mission", mission) if mission else None
    last = named(tx, "approval", after) if after else None
    rows = approval_queue.page(tx, status=status, mission_id=within, project_id=project, after=last, most=limit)
    return redacted_for(tx, reader, [card_of(row) for row in rows])


def _one(tx: Tx, ident: str, reader: Person | None = None) -> View:
    return redacted_for(tx, reader, [card_of(approval_queue.one(tx, find(tx, "approval", ident)))])[0]


def redacted_for(tx: Tx, reader: Person | None, cards: list[View]) -> list[View]:
    """Cards without the content that a reader may not see."""
    if reader is None or visibility.reads_all(reader):
        return cards
    hidden = visibility.hidden_runs(tx, reader, {card["run_id"] for card in cards if card["run_id"] is not None})
    return [visibility.redacted_card(card) if card["run_id"] in hidden else card for card in cards]


def _open_alike(tx: Tx, ident: str) -> list[View]:
    row: Any = approval_store.approval(tx, find(tx, "approval", ident))
    if row.status not in ("pending", approval_store.CONSULTING):
        raise AlreadyAnswered(row, approval_store.name_of(tx, row.decided_by))
    return _alike(tx, row.id)


def _alike(tx: Tx, ident: str) -> list[View]:
    row: Any = approval_store.approval(tx, find(tx, "approval", ident))
    cards = [card_of(each) for each in approval_queue.some(tx, approval_queue.alike(tx, row, MOST_ALIKE))]
    return sorted(cards, key=lambda card: card["id"] != row.id)


def card_of(row: Any) -> View:
    """The card of a question, made from its full row."""
    request = {name: value for name, value in row.request.items() if name not in _PRIVATE}
    args = row.edited_args if row.edited else request.get("args")
    is_call = row.kind in ("TOOL_CALL", "UNKNOWN_OUTCOME") and "tool" in request
    rehearsed = row.run_simulated if row.run_simulated is not None else row.mission_simulated
    return view(
        row, "id", "kind", "status", "risk", "rules", "reasons", "project_id", "mission_id", "task_id", "run_id",
        "people", "not_requester", "decided_by", "note", "edited", "edited_args", "created_at", "expires_at",
        "answered_at", "alike", "decided_by_name", "goal", "task_title",
        request=request, votes=[] if row.edited else row.request.get("votes", []),
        asked_by=row.asker or row.asked_by.removeprefix("system:"), tool=request.get("tool"), args=request.get("args"),
        summary=request.get("summary"), does=deed(request["tool"], args) if is_call else None,
        on_behalf_of=row.on_behalf_of_name or row.on_behalf_of,
        labels=sorted(row.run_labels or ()),
        run_cost_usd=dollars(row.run_cost or 0),
        mission_cost_usd=dollars(row.mission_cost or 0),
        simulated=bool(rehearsed),
        mark=approval_store.mark_of(row) if row.status == "pending" else None,
        scopes=grants.scopes(row),
        withheld=False,
    )  # fmt: skip


async def approve(
    context: DeskContext,
    person: Person,
    ident: str,
    *,
    note: str | None = None,
    args: Mapping[str, Any] | None = None,
    grant: str | None = None,
    narrow: bool = False,
    mark: str | None = None,
) -> View:
    """Approves a question, with edited arguments if `args` are given; returns its card afterwards.

    `grant` also allows similar calls: for the `hour`, the `task` or the `agent`; `narrow` limits that to the same
    targets. In the card, `still_needed` is how many more people must approve; `asks_anew` means that the edited call is
    riskier and was not approved yet; `grant` is what was granted; `hindrance` says why the run still does not continue.

    A question that was edited is approved with the `mark` of its card, or as `ID:MARK`.

    Raises Unknown, AlreadyAnswered, Changed, Refused, and UsageError for invalid arguments or an impossible grant.
    """
    ident, found = _seen(ident, mark)
    words, wanted = _words(note), None if grant is None else GrantRequest.of(grant, narrow=narrow)
    judge = None if args is None else _judge_of(context)
    reply = _Reply(person, "approve", words, args=args, judge=judge, grant=wanted, mark=found)
    return await context.store.write(_answer, context, ident, reply, context.clock.now())


def _seen(ident: str, mark: str | None) -> tuple[str, str | None]:
    """Splits `ID:MARK` into the id and the mark."""
    whole, _, found = ident.partition(f":{approval_store.EDITED}")
    return whole, mark or (f"{approval_store.EDITED}{found}" if found else None)


def _judge_of(context: DeskContext) -> "Judge":
    """The judge of edited calls; imported lazily, since most callers do not need the policy engine."""
    from interlock.desk.signoff.edited_calls import Judge
    from interlock.tools.secrets import Vault

    return Judge(context.policy, context.settings.approvals.people_for_red, Vault.of(context.settings))


async def deny(context: DeskContext, person: Person, ident: str, *, reason: str) -> View:
    """Denies a question; the agent is told the reason. Returns the card afterwards.

    Raises Unknown, AlreadyAnswered, Refused, and UsageError without a reason.
    """
    reply = _Reply(person, "deny", _reason(reason))
    return await context.store.write(_answer, context, ident, reply, context.clock.now())


def is_repeated(error: InterlockError, person: Person, verb: str) -> bool:
    """Whether an answer failed only because the same person has given it before: a second tap, a page sent again."""
    return isinstance(error, AlreadyAnswered) and error.by == person.id and error.status in _VERDICTS[verb]


async def batch_ids(context: DeskContext, ident: str, mark: str) -> list[str]:
    """The ids of the questions that were shown as the batch with this mark, if all of them are still open.

    Raises Unknown, and Conflict if one of them has been answered since.
    """
    found = [card["id"] for card in await context.store.read(_alike, ident)]
    count = int(mark.partition("-")[0]) if mark.partition("-")[0].isdecimal() else 0
    shown = found[:count]
    if not shown or mark_of(shown) != mark:
        raise Conflict(
            f"what waits alike has changed since this was shown: `interlock approvals {ident}` shows what waits now"
        )
    return shown


def mark_of(shown: Sequence[str]) -> str:
    """Identifies a batch: how many questions it has, and a digest of their ids."""
    return f"{len(shown)}-{digest(sorted(shown))[:10]}"


async def approve_alike(
    context: DeskContext, person: Person, shown: Sequence[str], *, note: str | None = None
) -> list[View]:  # fmt: skip
    """Approves exactly the questions whose ids were `shown`, each by itself; returns the cards afterwards.

    The card of a question that can no longer be answered has `failed`, which says why.

    Raises Unknown, and UsageError if they are not alike.
    """
    return await _answer_all(context, shown, _Reply(person, "approve", _words(note)))


async def deny_alike(context: DeskContext, person: Person, shown: Sequence[str], *, reason: str) -> list[View]:
    """Denies exactly the questions whose ids were `shown`, each by itself; returns cards as `approve_alike` does.

    Raises Unknown, and UsageError without a reason, or if they are not alike.
    """
    return await _answer_all(context, shown, _Reply(person, "deny", _reason(reason)))


async def answer_batch(
    context: DeskContext, person: Person, verb: str, ident: str, mark: str, words: str | None
) -> list[View]:  # fmt: skip
    """Approves or denies (`verb`) the questions that were shown as the batch with this mark; as `approve_alike`.

    Raises what `batch_ids` and `deny_alike` do.
    """
    shown = await batch_ids(context, ident, mark)
    if verb == "deny":
        return await deny_alike(context, person, shown, reason=words or "")
    return await approve_alike(context, person, shown, note=words)


async def _answer_all(context: DeskContext, shown: Sequence[str], reply: "_Reply") -> list[View]:
    cards = []
    await context.store.read(_check_alike, shown)
    for ident in shown:
        try:
            cards.append(await context.store.write(_answer, context, ident, reply, context.clock.now()))
        except StoreError:
            raise
        except InterlockError as error:
            card = await context.store.read(_one, ident)
            cards.append({**card, "still_needed": 0, "failed": str(error)})
    return cards


def _check_alike(tx: Tx, shown: Sequence[str]) -> None:
    rows: list[Any] = [approval_store.approval(tx, find(tx, "approval", ident)) for ident in shown]
    if len({(row.alike, row.project_id) for row in rows}) > 1 or any(row.alike is None for row in rows):
        raise UsageError("these questions are not alike: answer them one by one")


def _reason(text: str) -> str:
    words = _words(text)
    if words is None:
        raise UsageError("a denial needs a reason that the agent can act on: give one with `--reason`")
    return words


def _words(text: str | None) -> str | None:
    words = (text or "").strip()
    if len(words) > MOST_WORDS:
        raise UsageError(f"the note has {len(words):,} characters: {MOST_WORDS:,} are the most")
    return words or None


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a person answers, for one question or several alike."""

    person: Person
    verdict: str
    note: str | None
    args: Mapping[str, Any] | None = None
    judge: "Judge | None" = None
    """Decides the call with edited `args`."""
    grant: GrantRequest | None = None
    mark: str | None = None


def _answer(tx: Tx, context: DeskContext, ident: str, reply: _Reply, now: datetime) -> View:
    approval_id = find(tx, "approval", ident)
    row: Any = approval_store.approval(tx, approval_id)
    person, judge, args = reply.person, reply.judge, reply.args
    is_open = row.status in ("pending", approval_store.CONSULTING)  # the models may have voted by the time it is locked
    given = Answer(
        approval_id=approval_id,
        person_id=person.id,
        name=person.name,
        role=person.role,
        surface=person.surface,
        verdict=reply.verdict,
        note=reply.note,
        edit=judge.edit(tx, row, args) if judge is not None and args is not None and is_open else None,
        mark=reply.mark,
    )
    if reply.grant is not None and is_open:
        grants.check(row, reply.grant, given.edit)
    if row.kind == "BUDGET" and is_open:
        open_today(tx, context, row.project_id, now)
    answered = approval_store.answer(tx, given, now)
    granted = None
    if reply.grant is not None and not answered.asks_anew:
        granted = grants.give(tx, person, answered.approval, reply.grant, now)
    card = card_of(approval_queue.one(tx, approval_id))
    return {
        **card, "still_needed": answered.still_needed, "asks_anew": answered.asks_anew, "grant": granted,
        "hindrance": emergency.hindrance(tx),
    }  # fmt: skip
