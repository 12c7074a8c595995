"""The ledger for people: the lines behind a balance, and whether accounts match their lines.

Sums are computed in the store; limits are in `money`.
"""

from collections.abc import Mapping
from typing import Any

from interlock.core.errors import NotFound, UsageError
from interlock.desk.budgets.accounts import account_of, agent_of, whose
from interlock.desk.context import DeskContext
from interlock.desk.reading.views import View, dollars, view
from interlock.store import squad
from interlock.store.money import balances, ledger, ledger_lines
from interlock.store.money.ledger_lines import Sums, Which
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import tasks as task_store

MOST_LINES = 10_000


async def explain(
    context: DeskContext,
    *,
    account: str | None = None,
    run: str | None = None,
    task: str | None = None,
    mission: str | None = None,
    agent: str | None = None,
    after: str | None = None,
    most: int = 200,
) -> View:
    """The lines of an account, a run, a task, a mission or an agent with the balance after each, oldest first.

    Without any of them, the latest lines. `sums` are over all lines, not only the page; `agrees` is whether they match
    the account. `next` is the last line of the page if there are more.

    Raises Unknown, NotFound for a line, and UsageError if several are named at once.
    """
    named = {"account": account, "run": run, "task": task, "mission": mission, "agent": agent}
    given = {kind: value for kind, value in named.items() if value is not None}
    if len(given) > 1:
        raise UsageError(f"name one of them: {' or '.join(f'--{kind}' for kind in given)}")
    if not 1 <= most <= MOST_LINES:
        raise UsageError(f"`{most}` lines cannot be shown: give 1 to {MOST_LINES:,}")
    return await context.store.read(_explained, context, given, after, most)


def _explained(tx: Tx, context: DeskContext, given: Mapping[str, str], after: str | None, most: int) -> View:
    which, row = _which(tx, context, given)
    if after is not None and not ledger_lines.exists(tx, after):
        raise NotFound("line", after, message=f"no line `{after}`: give the id of the last line that you saw")
    newest = not given and after is None
    found = ledger_lines.lines(tx, which, most + 1, after, newest=newest)
    more, found = len(found) > most, found[1:] if newest and len(found) > most else found[:most]
    total = ledger_lines.sums(tx, which)
    running = Sums() if after is None or not given else ledger_lines.sums(tx, which, after)
    words, shown = _Words(tx), []
    for line in found:
        running = running.after(line)
        balance = {"settled_usd": dollars(running.settled), "reserved_usd": dollars(running.reserved)}
        shown.append({**words.line(line), **(balance if given else {})})
    return {
        "account": None if row is None else _account(tx, row),
        "lines": shown,
        "next": found[-1].id if more and not newest else None,
        "sums": {
            "lines": total.lines, "settled_usd": dollars(total.settled), "reserved_usd": dollars(total.reserved),
            "raised_usd": dollars(total.raised), "estimated_usd": dollars(total.estimated),
        },
        "agrees": None if row is None else _agrees(row, total),
    }  # fmt: skip


def _which(tx: Tx, context: DeskContext, given: Mapping[str, str]) -> tuple[Which, Any | None]:
    if "agent" in given:
        agent_id, member_id = agent_of(tx, context, given["agent"])
        return Which(agent_id=agent_id, member_id=member_id), None
    if not given:
        return Which(), None
    ((kind, value),) = given.items()
    account_id = account_of(tx, context, value, kinds=None if kind == "account" else (kind,))
    return Which(account_id=account_id), ledger.account(tx, account_id)


def _account(tx: Tx, row: Any) -> View:
    return view(
        row, "id", "kind", "limit_microusd", "settled_microusd", "reserved_microusd", "frozen", whose=whose(tx, row),
        first_limit_usd=dollars(row.limit_microusd - ledger_lines.sums(tx, Which(account_id=row.id)).raised),
    )  # fmt: skip


def _agrees(row: Any, total: Sums) -> bool:
    return (row.settled_microusd, row.reserved_microusd) == (total.settled, total.reserved)


class _Words:
    """Names for the ids in lines, cached."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[tuple[str, str], str | None] = {}

    def line(self, row: Any) -> View:
        """A line with the names of its agent and purpose."""
        who, _, why = (row.note or "").partition(" ")
        return view(
            row, "id", "kind", "created_at", "run_id", "step_number", "attempt", "agent_id", "task_id", "mission_id",
            "project_id", "model", "reservation_id", "accounts", "amount_microusd", "estimated",
            persona=self._name("agent", row.agent_id), title=self._name("task", row.task_id),
            person=self._name("person", who) if row.note else None, note=why or None,
            set_aside_usd=dollars(row.held) if row.kind == "settle" else None,
        )  # fmt: skip

    def _name(self, kind: str, ident: str | None) -> str | None:
        if ident is None:
            return None
        if (kind, ident) not in self._known:
            self._known[kind, ident] = self._found(kind, ident)
        return self._known[kind, ident]

    def _found(self, kind: str, ident: str) -> str | None:
        if kind == "person":
            return approvals.name_of(self._tx, ident)
        if kind == "agent":
            return squad.names(self._tx, [ident]).get(ident)
        task = task_store.task(self._tx, ident)
        return None if task is None else str(task.title)


async def verify(context: DeskContext) -> View:
    """Compares every account with its lines; `faults` are in words.

    Checks twice, as spending may go on between the statements of one check. Source: row D2.
    """
    found = await context.store.read(balances.faults)
    if found:
        again = set(await context.store.read(balances.faults))
        found = [fault for fault in found if fault in again]
    accounts, lines = await context.store.read(balances.size)
    return {"accounts": accounts, "lines": lines, "faults": found}
