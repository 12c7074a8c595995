"""Executing runs, and what became of them after a stop: still running, ended, or with uncertain effects.

Stopping is in `emergency` and `controls`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from interlock.core.values import canonical_json
from interlock.desk.context import DeskContext
from interlock.desk.reading.views import View
from interlock.policy.secrets import scrub
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.store.runs import traces
from interlock.store.tx import Tx

PROOF_S = 3.0
"""How long a stop waits for workers to comply."""
LOOK_S = 0.05
LONGEST_ARGS = 300
UNCERTAIN = ("started", "unknown")
"""States of a call that was started and whose outcome is not recorded."""


def at_work(tx: Tx) -> list[View]:
    """The runs that workers are executing."""
    return run_views(tx, leases.at_work(tx))


def run_views(tx: Tx, runs: Sequence[Any]) -> list[View]:
    """Views of runs from `leases.at_work`: {id, persona, kind, mission_id, task_id, started_at, doing}.

    `doing` names the tools with open calls, or `model` if there are none.
    """
    names = squad.names(tx, [run.agent_id for run in runs])
    return [
        {
            "id": run.id, "persona": names.get(run.agent_id), "kind": run.kind, "mission_id": run.mission_id,
            "task_id": run.task_id, "started_at": run.started_at, "doing": _doing(tx, run.id),
        }
        for run in runs
    ]  # fmt: skip


async def stop_report(context: DeskContext, runs: Sequence[View], wait_s: float) -> View:
    """{still_running, uncertain, children} of runs that were executing, once no worker executes any of them, or after
    `wait_s`; `children` are child processes of their tools that were ended.

    Source: row I8.
    """
    wanted = frozenset(run["id"] for run in runs)
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + wait_s
    while True:
        found = await context.store.read(_fate, wanted)
        if not found["still_running"] or loop.time() >= give_up_at:
            return {**found, "children": await context.store.read(_children, wanted)}
        await asyncio.sleep(LOOK_S)


def _fate(tx: Tx, wanted: frozenset[str]) -> View:
    uncertain = [call for ident in sorted(wanted) for call in traces.calls(tx, ident) if call.status in UNCERTAIN]
    return {
        "still_running": sorted(wanted.intersection(leases.running_runs(tx))),
        "uncertain": [
            {"id": c.id, "run_id": c.run_id, "tool": c.tool, "args": _short(c.args), "risk": c.risk} for c in uncertain
        ],
    }


def _children(tx: Tx, wanted: frozenset[str]) -> list[View]:
    from interlock.tools.contract import CHILD_ENDED

    return [
        {"run_id": row.run_id, "call_id": row.subject, "program": row.data["program"], "pid": row.data["pid"]}
        for row in audit.recent(tx, CHILD_ENDED)
        if row.run_id in wanted
    ]


def _doing(tx: Tx, run_id: str) -> list[str]:
    return [call.tool for call in traces.calls(tx, run_id) if call.status in ("ready", "started")] or ["model"]


def _short(args: Any) -> str:
    text = scrub(canonical_json(args))
    return text if len(text) <= LONGEST_ARGS else f"{text[:LONGEST_ARGS]}…"
