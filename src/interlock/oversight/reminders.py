"""Reminders of unanswered approvals: one for each period, and none after the answer. Source: row I3.

The outbox delivers them; what happens if nobody answers at all is in `waiting`.
"""

from datetime import datetime, timedelta

from interlock.agents.context import Runtime
from interlock.agents.quoting import one_line
from interlock.store import asked, audit
from interlock.store import reminders as store_reminders
from interlock.store.tx import Tx

WHO = "system:reminders"


async def sweep(runtime: Runtime) -> str | None:
    """Sends a reminder of every question that has waited for a period since it was asked or last reminded of."""
    now, store = runtime.clock.now(), runtime.store
    before = now - timedelta(seconds=runtime.settings.times.approval_reminder_s)
    reminded = 0
    for approval_id in await store.read(store_reminders.due, before):
        reminded += await store.write(remind, approval_id, before, now)
    if await store.read(store_reminders.any_idle):
        await store.write(store_reminders.close, now, WHO)
    return f"reminded of {reminded} approvals" if reminded else None


def remind(tx: Tx, approval_id: str, before: datetime, now: datetime) -> bool:
    """Sends a reminder of one question; False if it was answered in the meantime."""
    row = store_reminders.remind(tx, approval_id, before, now, WHO)
    if row is None:
        return False
    waited_min = (now - row.created_at).total_seconds() / 60
    about = one_line(asked.headline(row))
    audit.alert(
        tx, now, project_id=row.project_id, severity="warning", kind=store_reminders.KIND,
        text=f"approval `{row.id}` has waited {waited_min:.0f} min for an answer ({row.risk}): {about}",
        key=f"reminder:{row.id}:{now.isoformat()}", subject=row.id,
    )  # fmt: skip
    return True
