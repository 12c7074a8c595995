"""Ledger reconciliation: compares account balances with the sums of the ledger's lines. People correct differences.

The sums are computed in `store.money.balances`.
"""

from datetime import datetime

from interlock.agents.runtime import Runtime
from interlock.core.values import usd
from interlock.store.auditing import audit
from interlock.store.money import balances
from interlock.store.money.balances import Difference
from interlock.store.tx import Tx

KIND = "LEDGER_DIFFERS"


async def sweep(runtime: Runtime) -> str:
    """Raises an alert for each account that differs from its lines in two checks in a row. Source: row I5.

    Checked twice, as spending may go on between the statements of one check at the isolation level used.
    """
    store, now = runtime.store, runtime.clock.now()
    found = await store.read(balances.differences)
    if found:
        again = set(await store.read(balances.differences))
        found = [each for each in found if each in again]
    if found:
        await store.write(_alert, found, now)
    return f"{len(found)} accounts differ from their lines"


def _alert(tx: Tx, found: list[Difference], now: datetime) -> None:
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
