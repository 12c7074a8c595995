"""The background jobs as data: what is done, and how often. When they fire is decided in `runner`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from interlock.agents.runtime import Runtime
from interlock.agents.special import rounds
from interlock.oversight import (
    cleanup,
    consensus,
    expiry,
    learner,
    loops,
    memory_decay,
    overspend,
    reconciliation,
    reminders,
    retention,
    sealing,
)
from interlock.oversight.capacity import Capacity
from interlock.oversight.heartbeat import Heartbeat
from interlock.oversight.sealing import Sealer
from interlock.scheduler.schedules import Schedules
from interlock.settings import Settings
from interlock.store.duties import firings
from interlock.store.messages import feed

_EPOCH = datetime.fromtimestamp(0, UTC)
HOUR_S, DAY_S = 3600.0, 86_400.0
KEPT_FIRINGS = 100
"""How many firings of each job are kept; those of the last hour are kept in any case."""
KEPT_SCHEDULED_S = 90 * DAY_S
"""How long firings of users' schedules are kept."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that the leader does every `every_s` seconds; it must be idempotent, as it may be done twice.

    `work` gets a runtime whose store refuses to write once another process leads; if it returns text, that is
    recorded as the outcome of the firing.
    """

    name: str
    every_s: float
    work: Callable[[Runtime], Awaitable[object]]
    what: str
    """A short description, for listings."""
    on_record: bool = True
    """Whether each firing is recorded; if not, the job records what it does itself."""


def standard_jobs(settings: Settings) -> tuple[Job, ...]:
    """The background jobs of this installation. Source: row I5, numbers, "Time"."""
    times = settings.times
    return (
        Job("heartbeat", min(10.0, times.stuck_s / 6), Heartbeat().sweep, "alerts on silent workers, takes their work"),
        Job("capacity", 15.0, Capacity().sweep, "tells of work that no worker there is can do"),
        Job("schedules", 1.0, Schedules().sweep, "starts what people have scheduled, once each time", on_record=False),
        Job("waits", 5.0, expiry.sweep, "ends waits: expired approvals, long blocks, budget pauses"),
        Job("rooms", 10.0, rounds.sweep, "passes on turns in the workspace chat that stand still", on_record=False),
        Job("consensus", 5.0, consensus.sweep, "ends votes of models that are lost or late"),
        Job("loops", times.loop_sweep_s, loops.sweep, "blocks tasks that go round in circles"),
        Job("estimates", times.loop_sweep_s, overspend.sweep, "alerts on missions far above their estimate"),
        Job("reminders", min(60.0, times.approval_reminder_s), reminders.sweep, "reminds of open approvals"),
        Job("learner", times.learner_s, learn, "has the Learner look at what it has not seen yet"),
        Job(
            "retention",
            DAY_S,
            retain,
            "forgets what is older than the settings say, and lessons that do not prove themselves",
        ),
        Job("memory", DAY_S, fade, "has memories fade that are not used, and puts away what is too faint"),
        Job("reconciliation", DAY_S, reconciliation.sweep, "holds the accounts against the lines of the ledger"),
        Job("seal", sealing.LOOK_S, Sealer().sweep, "seals the audit log in batches", on_record=False),
        Job("prune", HOUR_S, prune, "forgets old firings, and records that nothing needs any more"),
    )


async def learn(runtime: Runtime) -> str:
    """Posts the Learner's runs that are due; they do the rest."""
    found = await learner.sweep(runtime)
    return f"{found.posted} looks posted, {found.judged} tasks judged"


async def retain(runtime: Runtime) -> str:
    """Archives and prunes lessons, and deletes old runs and activities. Source: numbers, "Memory"; row L6."""
    found = await learner.retain(runtime)
    gone = await retention.sweep(runtime)
    counts = [
        *(f"{count} {what}" for what, count in found.items()),
        f"{gone.runs} runs",
        f"{gone.activities} activities",
    ]
    return f"{', '.join(counts)} forgotten, {len(gone.months)} months dropped"


async def fade(runtime: Runtime) -> str:
    """Decays memories by the days they went unused. Source: row H3, numbers, "Memory"."""
    done = await memory_decay.sweep(runtime)
    return f"{done.faded} memories have faded, {done.put_away} were put away"


async def prune(runtime: Runtime) -> str:
    """Deletes operational records (firings, delivered messages, expired keys and the like) past their retention."""
    store, now, forgotten = runtime.store, runtime.clock.now(), 0
    for job in standard_jobs(runtime.settings):
        before = now - timedelta(seconds=max(HOUR_S, KEPT_FIRINGS * job.every_s))
        forgotten += await store.write(firings.prune, job.name, before)
    forgotten += await store.write(firings.prune_schedules, now - timedelta(seconds=KEPT_SCHEDULED_S))
    gone = await retention.prune(runtime)
    while await store.write(feed.prune, now - timedelta(seconds=DAY_S)) == feed.BITE:
        pass
    counts = [f"{forgotten} firings", *(f"{count} {what}" for what, count in gone.items())]
    return f"{', '.join(counts)} forgotten, {await cleanup.tidy(runtime)} leftovers removed"


def slot_at(moment: datetime, every_s: float) -> datetime:
    """The latest multiple of `every_s` at or before `moment`, the slot a job fires for; the same in every process."""
    elapsed = (moment - _EPOCH).total_seconds()
    return _EPOCH + timedelta(seconds=elapsed // every_s * every_s)
