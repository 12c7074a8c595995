"""No statement looks through a table that only ever grows, but for those that are named here, each with its reason.

So a squad with a year behind it pays for a heartbeat, a sweep, a run, a command or a page what it paid at first.
"""

import contextlib
import importlib
import pkgutil
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from interlock import store as package
from interlock.core.values import OPEN_RUNS
from interlock.desk.reading import listings
from interlock.desk.signoff import signing
from interlock.scheduler.jobs import HOUR_S, standard_jobs
from interlock.store.engine import Store
from interlock.store.mailboxes import leases, queues
from interlock.store.money import ledger_lines
from interlock.store.money.ledger_lines import Which
from interlock.store.upkeep import pruning
from interlock.testing.scripted import ScriptedModel, calls
from interlock.worker.watchkeeping import Watchkeeper, WorkerCallbacks
from tests.contract.runner.stage import WORKER, Stage, staged
from tests.contract.store.plans import SMALL_INDEXES, Noting, plan, statements, walks

RARE = ("epochs", "personal", "personal_echoes", "personal_memories", "personal_notices", "personal_verdicts")
"""Modules for a restore from a backup, and for a person who asks what is kept of them, or to be forgotten: through all
there is.
"""
BEGUN = {
    "approval_queue._ORIGINS", "dispatch._ATTEMPT", "facts._ANSWERS", "facts._CALL_ROWS", "facts._CHANGES",
    "facts._FILE_ROWS", "facts._HANDED_IN", "facts._INCIDENT_ROWS", "facts._OF_RUNS", "facts._OF_TASKS",
    "facts._RUN_ROWS", "facts._SAID", "facts._TAINT", "facts._TASK_ROWS", "ledger._past", "outbox._NEWS",
    "queues._RESULT", "rooms._REPLY_COUNTS", "rooms._SAID", "traces._OPEN_RUNS",
}  # fmt: skip
"""Never asked as they are: what they are asked about is added."""
FIRST_OR_LAST = {"audit._RECENT", "feed._FIRST", "learner_reviews._LATEST", "seals._LAST"}
"""Begin at an end of an index, and stop after so many rows."""
COUNTS = {
    "counts._ALL_TASKS", "counts._MISSIONS", "counts._RUNS", "counts._RUNS_IN[cancelled]", "counts._RUNS_IN[failed]",
}  # fmt: skip
"""How many there are of all, for `interlock status`: by a small index alone, not the rows."""
BESIDE = {
    "balances._ACCOUNTS_N", "balances._LINES_N", "balances._OVER", "balances._UNRESERVED", "facts._OF_PROJECT[answers]",
    "facts._OF_PROJECT[calls]", "facts._OF_PROJECT[incidents]", "facts._OF_THE_KIND", "learner_reviews._NEW_INCIDENTS",
    "learner_reviews._NEW_LESSONS", "learner_reviews._PROJECTS",
}  # fmt: skip
"""Beside the writer: `interlock ledger verify`, and hourly what is new for the Learner in a whole project."""
ON_A_PERSONS_WORD = {
    "agent_mail._LATEST", "blobs._SIZES", "ledger_lines._SUMS", "feed._EMPTY", "mention_notices._LIKE_IT",
    "seals._LIVE", "seals._NO_HORIZON", "sessions._TALKS", "votes._ON_TASK", "withdrawals._UNUSED",
}  # fmt: skip
"""Once for something that a person asks for or names, and for the pruning of activities."""
FEW = {"blobs._MANIFEST", "lessons.FITTING", "lessons._IN_SCOPE"}
"""Lessons and versions of files; those that are of no use any more are forgotten where the settings say so."""
NAMED = BEGUN | FIRST_OR_LAST | COUNTS | BESIDE | ON_A_PERSONS_WORD | FEW
ELSEWHERE = {"claiming._TAKE", "subagents._TURN"}
"""Which PostgreSQL alone understands."""


def all_statements() -> dict[str, sa.Executable]:
    """What the modules of the store hold, by name."""
    found: dict[int, tuple[str, sa.Executable]] = {}
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        short = info.name.rpartition(".")[2]
        if info.ispkg or short in RARE or ".migrations." in info.name:
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            for each, core in statements(value, f"{short}.{name}"):
                found.setdefault(id(core), (each, core))
    return dict(found.values())


async def test_only_what_is_named_looks_through_a_table_that_grows(migrated_sqlite_url: str) -> None:
    made = Store(migrated_sqlite_url).driver.statements
    connection = sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))
    found = {
        name: steps
        for name, core in all_statements().items()
        if name not in ELSEWHERE and (steps := walks(connection, made.of(core).sql))
    }
    connection.close()
    assert {name: steps for name, steps in found.items() if name not in NAMED} == {}
    assert NAMED - found.keys() == set(), "what needs no exception any more"


async def test_pruning_finds_what_it_deletes_by_its_key_while_others_wait_for_the_writer(
    migrated_sqlite_url: str,
) -> None:
    made = Store(migrated_sqlite_url).driver.statements
    connection = sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))
    kinds = [each for each in vars(pruning).values() if isinstance(each, pruning.Kind)]
    drops = [(kind.what, core) for kind in kinds for core in kind.drop]
    found = {what for what, core in drops if walks(connection, made.of(core).sql)}
    connection.close()
    assert found == {pruning.UNUSED_BLOBS.what}, "of a content every letter is asked whether it still needs it"


async def busy(stage: Stage) -> None:
    """Runs that end, one that waits for a person, and one that waits in its mailbox."""
    await stage.chat()
    await stage.task()
    await stage.work()
    await stage.chat("and another")


async def test_duties_runs_and_listings_look_through_no_table_that_grows(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_sqlite_url) as store:
        noting = store.driver.statements = Noting(store.driver.statements.dialect)
        mail = calls("send_email", "1", to=["a@b.co"], subject="s", body="b")
        stage = await staged(store, tmp_path, ScriptedModel("hello", mail, otherwise="done"))
        now = stage.clock.now()
        await store.write(leases.register, WORKER, "here", 1, "then", now)
        await busy(stage)
        stage.clock.advance(3_600)
        keeper = Watchkeeper(stage.runtime, WORKER, WorkerCallbacks(_never))
        await keeper.look()
        await store.write(leases.retry_now, now)
        for job in standard_jobs(stage.runtime.settings):
            if job.every_s < HOUR_S:
                await job.work(stage.runtime)
        await store.write(leases.take_back, WORKER, now)
        await look(stage)
        connection = sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))
        named = {noting.of(core).sql for name, core in all_statements().items() if name in NAMED}
        found = {
            sql: steps for sql in noting.noted if sql not in named and (steps := walks(connection, sql, newest=True))
        }
        connection.close()
    assert {sql: steps for sql, steps in found.items() if LAST_ACTIVE not in sql} == {}


async def test_ledger_of_a_run_a_task_or_a_mission_is_read_by_its_runs(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_sqlite_url) as store:
        noting = store.driver.statements = Noting(store.driver.statements.dialect)
        for account in ("run:run_1", "task:tsk_1", "mission:mis_1", "learn:mis_1"):
            await store.read(ledger_lines.lines, Which(account_id=account), 9)
            await store.read(ledger_lines.sums, Which(account_id=account))
        await store.read(ledger_lines.lines, Which(agent_id="agt_1"), 9)
    with contextlib.closing(sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))) as connection:
        asked = {sql: plan(connection, sql) for sql in noting.noted}
    for sql, steps in asked.items():
        assert not [step for step in steps if step.startswith("SCAN reserved") or "AUTOMATIC" in step], steps
        if "ledger.agent_id = " not in sql:
            assert not [step for step in steps if step.split()[:2] == ["SCAN", "ledger"]], steps


async def test_runs_that_have_not_ended_are_not_looked_for_among_all_that_have(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_sqlite_url) as store:
        noting = store.driver.statements = Noting(store.driver.statements.dialect)
        stage = await staged(store, tmp_path, ScriptedModel(otherwise="done"))
        for state in OPEN_RUNS:
            await listings.runs(stage.runtime, status=state)
        await store.read(queues.busy, "a member", 9)
    with contextlib.closing(sqlite3.connect(migrated_sqlite_url.removeprefix("sqlite:///"))) as connection:
        found = {sql: plan(connection, sql) for sql in noting.noted if "FROM runs" in sql and "runs.status = '" in sql}
    assert found
    for sql, steps in found.items():
        of_runs = [step for step in steps if " runs " in step]
        assert of_runs, sql
        assert not any("CORRELATED" in step for step in steps), "asked of every agent that there ever was"
        assert all(step.split()[-1] in SMALL_INDEXES or step.split()[4] in SMALL_INDEXES for step in of_runs), of_runs


LAST_ACTIVE = "ORDER BY coalesce((SELECT coalesce(runs.completed_at"
"""Of `interlock agents`: when each was active last is asked of each."""


async def _never() -> str:
    raise AssertionError("a worker that beats is not taken for dead")


async def look(stage: Stage) -> None:
    """Everything that people are shown of all there is."""
    runtime = stage.runtime
    await listings.status(runtime)
    await listings.missions(runtime)
    await listings.hindrance(runtime)
    await listings.agents(runtime)
    await listings.alerts(runtime)
    await listings.alerts(runtime, open_only=False)
    for task_state in (None, "BLOCKED", "DONE"):
        await listings.tasks(runtime, status=task_state)
    for run_state in (None, *listings.RUN_STATES):
        await listings.runs(runtime, status=run_state)
    for question_state in ("pending", "denied", None):
        await signing.approvals(runtime, status=question_state)
