"""A squad with a long history: rows as after that many finished runs, inserted directly into either database.

No run is in progress. Rows are as long as real ones only if a statement's cost depends on it.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

RUNS = 1_000_000
"""About a year of a busy squad."""
_AGENTS_EACH, _MISSION_EACH, _TASK_EACH, _APPROVAL_EACH, _ALERT_EACH = 10, 50, 10, 3, 10
_CALLS = 2
"""Model calls per run, each with two lines in the ledger."""


def fill(url: str, runs: int = RUNS) -> None:
    """Fills a migrated, empty database."""
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.execute("PRAGMA synchronous=OFF")
        for statement in _statements(Past(runs, _sqlite_at, "")):
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SET session_replication_role = replica")
        server.execute("SET synchronous_commit = off")
        for statement in _statements(Past(runs, _postgresql_at, "::json")):
            server.execute(statement.encode())
        server.execute("VACUUM ANALYZE")


def _sqlite_at(seconds: str) -> str:
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '-' || ({seconds}) || ' seconds')"


def _postgresql_at(seconds: str) -> str:
    return f"now() - ({seconds}) * interval '1 second'"


def _rows(table: str, count: int, **columns: str) -> str:
    """A statement that inserts that many rows; `n` is the number of each."""
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s"
        f" WHERE n < {count - 1}) SELECT {', '.join(columns.values())} FROM s"
    )


@dataclass(frozen=True, slots=True)
class Past:
    """SQL fragments for that many runs. Run N ended N * 30 seconds ago: a million of them took a year."""

    runs: int
    at: Callable[[str], str]
    """A moment so many seconds ago."""
    json: str
    """What makes a text JSON."""

    @property
    def missions(self) -> int:
        """The number of missions."""
        return self.runs // _MISSION_EACH

    @property
    def then(self) -> str:
        """The time at which row N was created."""
        return self.at("n * 30 + 86400")


def _statements(past: Past) -> list[str]:
    project = _rows("projects", 1, id="'default'", name="'default'", timezone="'UTC'", created_at=past.then)
    return [project, *_work(past), *_record(past)]


def _work(past: Past) -> list[str]:
    """Agents, missions, tasks and runs."""
    runs, missions, json, at, then = past.runs, past.missions, past.json, past.at, past.then
    agents, tasks, of_missions = runs // _AGENTS_EACH, runs // _TASK_EACH, f"n % {past.missions}"
    return [
        _rows("members", 6, id="'mbr_' || n", project_id="'default'", persona="'persona' || n", trust="'specialist'",
             state="'ACTIVE'", done_count="0", failed_count="0", created_at=then),
        _rows("agents", agents, id="'agt_' || n", member_id="'mbr_' || (n % 6)", project_id="'default'",
             persona="'persona' || (n % 6)", descriptor_key="'task:' || n", descriptor=f"'{{}}'{json}",
             state="'ACTIVE'", persona_json=f"'{{}}'{json}", history_from_seq="0", runtime_status="'idle'",
             created_at=then),
        _rows("lanes", agents, agent_id="'agt_' || n", fence="1", next_seq="11", clock_at=then, paused="false",
             exclusive="true"),
        _rows("tasks", missions, id="'tsk_m' || n", project_id="'default'", mission_id="'tsk_m' || n", key="'root'",
             title="'A mission'", description="''", type="'mission'", priority="'medium'",
             status="CASE WHEN n % 20 = 0 THEN 'CANCELED' ELSE 'DONE' END", estimated_minutes="0",
             capabilities=f"'[]'{json}", deliverable_spec="''", budget_microusd="0", attempt="0", generation="0",
             review_cycles="0", version="3", idempotency_key="'m' || n", created_at=at("n * 1500 + 88000"),
             updated_at=at("n * 1500 + 86400"), ended_at=at("n * 1500 + 86400")),
        _rows("missions", missions, id="'tsk_m' || n", project_id="'default'", goal="'Compare two things'",
             simulated="false", graph_version="1", coordinator_agent_id="'agt_' || n", thinker_agent_id="'agt_' || n",
             requested_by="'prs_1'", estimate_microusd="0", created_at=at("n * 1500 + 88000")),
        _rows("tasks", tasks, id="'tsk_' || n", project_id="'default'", mission_id=f"'tsk_m' || ({of_missions})",
             parent_id=f"'tsk_m' || ({of_missions})", key="'t' || n", title="'A task'", description="''",
             type="'research'", priority="'medium'", status="'DONE'", estimated_minutes="0",
             capabilities=f"'[]'{json}", deliverable_spec="''", budget_microusd="0", attempt="0", generation="0",
             review_cycles="0", version="3", idempotency_key="'t' || n", assignee_agent_id="'agt_' || n",
             created_at=at("n * 300 + 88000"), updated_at=at("n * 300 + 86400"), ended_at=at("n * 300 + 86400")),
        _rows("runs", runs, id="'run_' || n", project_id="'default'", agent_id=f"'agt_' || (n % {agents})",
             kind="'task'", status="CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END",
             stop_reason="'end_turn'", order_at=then, seq=f"n / {agents}", attempt="0", payload=f"'{{}}'{json}",
             idempotency_key="'r' || n", cause_kind="'system'", mission_id=f"'tsk_m' || ({of_missions})",
             task_id=f"'tsk_' || (n % {tasks})", worker_id="'wrk_' || (n / 5000)", fence="1", simulated="false",
             labels=f"'[]'{json}", step_count=str(_CALLS), token_usage=f"'{{}}'{json}", cost_microusd="900",
             created_at=then, started_at=then, completed_at=then),
    ]  # fmt: skip


def _record(past: Past) -> list[str]:
    """Costs, questions, alerts and the audit log."""
    runs, missions, json, at, then = past.runs, past.missions, past.json, past.at, past.then
    agents, tasks, of_missions, of_runs = runs // _AGENTS_EACH, runs // _TASK_EACH, f"n % {missions}", f"n % {runs}"
    approvals, alerts, calls = runs // _APPROVAL_EACH, runs // _ALERT_EACH, _CALLS * runs
    whose = "'[\"run:run_' || (n % {0}) || '\", \"mission:tsk_m' || (n % {1}) || '\", \"project_day:default:1\"]'"
    return [
        _rows("accounts", runs, id="'run:run_' || n", kind="'run'", owner_id="'run_' || n", project_id="'default'",
             limit_microusd="750000", settled_microusd=str(450 * _CALLS), reserved_microusd="0", frozen="false",
             created_at=then),
        _rows("accounts", missions, id="'mission:tsk_m' || n", kind="'mission'", owner_id="'tsk_m' || n",
             project_id="'default'", limit_microusd="20000000", settled_microusd=str(450 * _CALLS * _MISSION_EACH),
             reserved_microusd="0", frozen="false", pause_at_microusd="19000000", created_at=then),
        _rows("accounts", 1, id="'project_day:default:1'", kind="'project_day'", owner_id="'default'",
             project_id="'default'", limit_microusd="90000000000", settled_microusd=str(450 * calls),
             reserved_microusd="0", frozen="false", created_at=then),
        *(
            _rows("ledger", calls, id=f"'{kind}' || n", kind=f"'{kind}'", run_id=f"'run_' || ({of_runs})",
                 reservation_id=f"'run_' || ({of_runs}) || ':' || (n / {runs}) || ':0'", project_id="'default'",
                 step_number=f"n / {runs}", attempt="0", mission_id=f"'tsk_m' || ({of_runs} % {missions})",
                 accounts=f"({whose.format(runs, missions)}){json}", amount_microusd=amount, estimated="false",
                 created_at=at(f"{of_runs} * 30 + 86400"))
            for kind, amount in (("reserve", "9000"), ("settle", "450"))
        ),
        _rows("approvals", approvals, id="'apr_' || n", kind="'TOOL'", project_id="'default'",
             status="CASE n % 3 WHEN 0 THEN 'used' WHEN 1 THEN 'denied' ELSE 'expired' END", subject="'digest'",
             mission_id=f"'tsk_m' || ({of_missions})", task_id=f"'tsk_' || (n % {tasks})",
             run_id=f"'run_' || ({of_runs})", request=f"'{{}}'{json}", risk="'YELLOW'", rules=f"'[]'{json}",
             reasons=f"'[]'{json}", asked_by="'agt_1'", people="1", not_requester="false", edited="false",
             created_at=at("n * 90 + 86400"), expires_at=at("n * 90"), answered_at=at("n * 90 + 86000")),
        _rows("alerts", alerts, id="'alt_' || n", project_id="'default'", severity="'warning'",
             kind="'APPROVAL_EXPIRED'", subject="'apr_' || n", text="'an approval expired'", dedup_key="'k' || n",
             created_at=at("n * 300 + 86400"), acked_at=at("n * 300 + 80000"), acked_by="'prs_1'"),
        _rows("activities", runs, project_id="'default'", action="'RUN_ENDED'", actor_kind="'agent'",
             actor_id=f"'agt_' || (n % {agents})", mission_id=f"'tsk_m' || ({of_missions})",
             run_id="'run_' || n", data=f"'{{}}'{json}", created_at=at(f"({runs} - n) * 30 + 86400")),
        _rows("task_transitions", tasks, id="'trn_' || n", task_id="'tsk_' || n", from_status="'REVIEW'",
             to_status="'DONE'", actor_kind="'system'", actor_id="'system:policy'", reason="''",
             idempotency_key="'x' || n", created_at=at("n * 300 + 86400")),
    ]  # fmt: skip
