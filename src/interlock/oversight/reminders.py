"""Reminders of unanswered approvals: one for each period, and none after the answer. Source: row I3.

The outbox delivers them; what happens if nobody answers at all is in `waiting`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from interlock.agents.prompts.quoting import one_line
from interlock.agents.runtime import Runtime
from interlock.store.auditing import audit
from interlock.store.signoff import approval_queue
from interlock.store.signoff import reminders as store_reminders
from interlock.store.tx import Tx

WHO = "system:reminders"
AT_ONCE = 50
"""Questions that are noted in one transaction."""


async def sweep(runtime: Runtime) -> str | None:
    """Sends a reminder of every question that has waited for a period since it was asked or last reminded of.

    Where very many of a project wait, one reminder a period tells of all of them.
    """
    now, store = runtime.clock.now(), runtime.store
    before = now - timedelta(seconds=runtime.settings.times.approval_reminder_s)
    reminded = 0
    for project_id, due in (await store.read(store_reminders.due, before)).items():
        if await store.read(store_reminders.are_many, project_id):
            for at in range(0, len(due), AT_ONCE):
                reminded += await store.write(_note, due[at : at + AT_ONCE], before, now)
            await store.write(_remind_of_all, project_id, before, now)
            continue
        for approval_id in due:
            reminded += await store.write(remind, approval_id, before, now)
    if await store.read(store_reminders.any_idle):
        await store.write(store_reminders.close, now, WHO)
    return f"reminded of {reminded} approvals" if reminded else None


def _note(tx: Tx, approval_ids: Sequence[str], before: datetime, now: datetime) -> int:
    """Records that people are reminded of some questions; what tells them is one reminder of all."""
    return sum(store_reminders.remind(tx, each, before, now, WHO) is not None for each in approval_ids)


def _remind_of_all(tx: Tx, project_id: str, before: datetime, now: datetime) -> None:
    found = store_reminders.replace(tx, project_id, before, now, WHO)
    if found is None:
        return
    count, since = found
    audit.alert(
        tx, now, project_id=project_id, severity="warning", kind=store_reminders.KIND,
        text=f"{count:,} approvals wait for an answer, the oldest for {(now - since).total_seconds() / 60:.0f} min: "
        "`interlock approvals` lists them",
        key=store_reminders.key_of_all(project_id),
    )  # fmt: skip


def remind(tx: Tx, approval_id: str, before: datetime, now: datetime) -> bool:
    """Sends a reminder of one question; False if it was answered in the meantime."""
    row = store_reminders.remind(tx, approval_id, before, now, WHO)
    if row is None:
        return False
    waited_min = (now - row.created_at).total_seconds() / 60
    about = one_line(approval_queue.headline(row))
    audit.alert(
        tx, now, project_id=row.project_id, severity="warning", kind=store_reminders.KIND,
        text=f"approval `{row.id}` has waited {waited_min:.0f} min for an answer ({row.risk}): {about}",
        key=f"reminder:{row.id}:{now.isoformat()}", subject=row.id,
    )  # fmt: skip
    return True
