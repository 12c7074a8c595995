"""Runs of kind `check`: a task's acceptance checks, without a model; results are bound to the deliverable's digest.

How one check is evaluated is in `check_evaluation`; what follows from results is the coordinator's job. Row A20.

INVARIANT: checks run in a copy of the workspace that is thrown away; nothing that a check does to it lasts.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.agents.runtime import Runtime
from interlock.core.errors import InterlockError
from interlock.core.values import SYSTEM, canonical_json, digest
from interlock.oversight.check_evaluation import Subject, judged
from interlock.oversight.check_programs import Programs
from interlock.policy.checks import Check, stored
from interlock.store import blobs
from interlock.store.auditing import audit
from interlock.store.errors import LeaseLost, StoreError
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.tx import Tx
from interlock.store.work import evidence, missions, tasks
from interlock.store.work.evidence import EVIDENCE, Finding
from interlock.tools.errors import ToolError

KIND = evidence.RUN_KIND
_log = logging.getLogger(__name__)


async def handle(runtime: Runtime, claim: Claim, interrupt: Interrupt) -> None:
    """Executes a claimed run of kind `check`, or hands it back if it is interrupted.

    Raises StoreError if the database cannot be used; the run is then unchanged.
    """
    with runtime.telemetry.run(claim.run):
        try:
            if interrupt.reason is not None:
                raise asyncio.CancelledError
            await _worked(runtime, claim)
        except asyncio.CancelledError:
            if interrupt.reason is None:
                raise
            await asyncio.shield(_cut_off(runtime, claim, interrupt.reason))
        except LeaseLost:
            _log.info("run %s was given to another worker", claim.run.id)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 (the run's boundary: row E5)
            if not isinstance(error, InterlockError):
                runtime.telemetry.failed(error)
            why = str(error) if isinstance(error, InterlockError) else f"{type(error).__name__}: {error}"
            with contextlib.suppress(LeaseLost):
                await runtime.store.write(_end, claim, "failed", "error", why, runtime.clock.now())
        finally:
            await runtime.workspaces.dispose(claim.run.project_id, claim.run.id)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The deliverable that a run checks, and the checks."""

    task: Any
    deliverable: Any
    content: bytes
    checks: tuple[Check, ...]


async def _worked(runtime: Runtime, claim: Claim) -> None:
    asked = await runtime.store.read(_asked, claim.run.payload["deliverable"])
    found, seen = [], frozenset[str]()
    if asked is not None:
        subject = await _subject(runtime, claim, asked)
        for place, check in enumerate(asked.checks):
            if check.is_run and not check.waived:
                await runtime.store.write(mailbox.own, claim)
                outcome = await judged(check, subject)
                detail = runtime.vault.scrub(outcome.detail)
                found.append(Finding(position=place, name=check.name, passed=outcome.passed, detail=detail))
        seen = subject.workspace.taken.union(asked.deliverable.labels) if found else seen
    await runtime.store.write(_commit, claim, asked, found, seen, runtime.clock.now())


def _asked(tx: Tx, deliverable_id: str) -> _Asked | None:
    row = tasks.deliverable(tx, deliverable_id)
    task = None if row is None else tasks.task(tx, row.task_id)
    if row is None or task is None:
        return None
    content = _content(tx, row)
    if digest(content) != row.sha256:
        raise ToolError(f"the content of deliverable `{row.id}` is not what its digest says: restore a backup")
    return _Asked(task, row, content, stored(task.checks))


def _content(tx: Tx, row: Any) -> bytes:
    if row.kind == "text":
        return (row.text or "").encode("utf-8", "surrogatepass")
    if row.kind == "data":
        return canonical_json(row.data).encode("utf-8", "surrogatepass")
    data = blobs.get(tx, row.blob) if row.blob else None
    if data is None:
        raise ToolError(f"the content of deliverable `{row.id}` is not in the store any more: restore a backup")
    return data


async def _subject(runtime: Runtime, claim: Claim, asked: _Asked) -> Subject:
    """A copy of the current workspace, in which the delivered file is the version that was handed in."""
    run = claim.run
    workspace = await runtime.workspaces.materialise(run.project_id, run.id)
    if asked.deliverable.path is not None:
        await workspace.write(asked.deliverable.path, asked.content)
    return Subject(
        content=asked.content, path=asked.deliverable.path, workspace=workspace,
        programs=Programs(runtime, run, workspace),
    )  # fmt: skip


def _commit(
    tx: Tx, claim: Claim, asked: _Asked | None, found: list[Finding], seen: frozenset[str], now: datetime
) -> None:  # fmt: skip
    """INVARIANT: results carry the labels of everything the checks read, since agents are shown them."""
    run = claim.run
    evidence.taint(tx, run.id, seen)
    if asked is not None and found:
        deliverable = asked.deliverable
        evidence.record(
            tx, deliverable.task_id, deliverable.id, deliverable.sha256, EVIDENCE, found, now, run_id=run.id
        )  # fmt: skip
        audit.note(
            tx, "CHECKS_RUN", SYSTEM, now, project_id=run.project_id, mission_id=run.mission_id, task_id=run.task_id,
            run_id=run.id, subject=deliverable.id, sha256=deliverable.sha256,
            passed=[each.name for each in found if each.passed],
            failed=[each.name for each in found if not each.passed],
        )  # fmt: skip
    _end(tx, claim, "completed", None, None, now)


def _end(tx: Tx, claim: Claim, status: str, stop_reason: str | None, error: str | None, now: datetime) -> None:
    run, why = claim.run, stop_reason or "end_turn"
    mailbox.finish(tx, claim, status, why, now, result=None, error=error)
    news = {
        "run_id": run.id, "kind": run.kind, "purpose": KIND, "task_id": run.task_id, "status": status,
        "stop_reason": why, "result": None, "error": error,
    }  # fmt: skip
    missions.notify(tx, run.mission_id, "run_ended", news, now)


async def _cut_off(runtime: Runtime, claim: Claim, reason: Interruption) -> None:
    """Hands the run back, to start over; or ends it, if a person cancelled it."""
    with contextlib.suppress(LeaseLost):
        await runtime.store.write(_step_back, claim, runtime.clock.now(), canceled=reason is Interruption.CONTROL)


def _step_back(tx: Tx, claim: Claim, now: datetime, *, canceled: bool) -> None:
    found = mailbox.lock(tx, claim.run.id)
    if found is None or not (canceled or found.control == "cancel"):
        mailbox.requeue(tx, claim, now, due_at=None, error=None, failed=False)
        return
    _end(tx, claim, "cancelled", "cancelled", found.error or "a person cancelled it", now)
