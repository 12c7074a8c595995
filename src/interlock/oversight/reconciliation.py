"""Ledger reconciliation: what the accounts say against what the ledger's lines add up to. People put it right.

How the sums are made is the store's job.
"""

from datetime import datetime

from interlock.agents.context import Runtime
from interlock.core.values import usd
from interlock.store import audit, balances
from interlock.store.balances import Difference
from interlock.store.tx import Tx

KIND = "LEDGER_DIFFERS"


async def sweep(runtime: Runtime) -> str:
    """Raises an alert for each account that differs from its lines, in two looks alike. Source: row I5.

    Two looks, as spending goes on between the statements of one where the database isolates no better.
    """
    store, now = runtime.store, runtime.clock.now()
    found = await store.read(balances.differences)
    if found:
        again = set(await store.read(balances.differences))
        found = [each for each in found if each in again]
    if found:
        await store.write(_tell, found, now)
    return f"{len(found)} accounts differ from their lines"


def _tell(tx: Tx, found: list[Difference], now: datetime) -> None:
    for each in found:
        audit.alert(
            tx, now, project_id=each.project_id, severity="critical", kind=KIND, subject=each.account_id,
            text=(
                f"account `{each.account_id}` says {usd(each.settled_microusd)} spent and "
                f"{usd(each.reserved_microusd)} set aside, its lines {usd(each.lines_settled_microusd)} and "
                f"{usd(each.lines_reserved_microusd)}: keep the database as it is and report it"
            ),
            key=f"ledger:{each.account_id}",
        )  # fmt: skip
