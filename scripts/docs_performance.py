"""The tables of `docs/performance.md`, from what the benchmarks left in `bench/results`; nothing is measured here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "bench" / "results"
NOT_YET = "Not measured yet: run `python -m bench {name}`, then `python -m scripts.generate_docs`."
RUNS = {
    "langchain_sqlite": "langchain `create_agent`, SQLite checkpointer, sync",
    "langchain_postgresql": "the same, PostgreSQL checkpointer",
    "pydantic_ai_dbos_sqlite": "pydantic-ai on DBOS, SQLite",
    "agno_sqlite": "agno, SQLite",
    "agent_framework": "agent-framework-core, nothing stored",
    "floor_full": "floor: the same rows by hand, SQLite FULL",
    "floor_group": "floor: the same with group commit",
    "interlock_direct_sqlite": "Interlock, SQLite, each task claims for itself, without the worker",
    "interlock_sqlite": "**Interlock, SQLite**",
    "interlock_postgresql": "**Interlock, PostgreSQL**",
}
QUEUES = {
    "procrastinate": "procrastinate, PostgreSQL, a lock for each agent",
    "pgqueuer": "pgqueuer, PostgreSQL, no order",
    "dbos": "dbos queue, SQLite, partitioned by agent",
}

OUR_QUEUES = {
    "sqlite_full_one_process": ("**Interlock, SQLite with synchronous FULL**", 1),
    "postgresql_4_workers": ("**Interlock, PostgreSQL**", 4),
}

DECISIONS = {
    "no_condition": "a call without a condition for its tool",
    "three_conditions": "three CEL conditions evaluated",
    "shell": "a pipe of two shell commands",
    "sql": "a SELECT",
    "sql_joins": "a SELECT with a join and groups",
    "sql_merge": "a MERGE",
}
ENGINES = {"casbin": "casbin, the three conditions", "cedar": "Cedar, the same", "rego": "Rego, the same"}


def figures(name: str) -> dict[str, Any] | None:
    """The record that a benchmark left; None if it was not run."""
    path = RESULTS / f"{name}.json"
    record: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
    return record


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def conditions() -> str:
    """What the runs were measured on and with."""
    record = figures("runs")
    if record is None:
        return NOT_YET.format(name="runs")
    on, found = record["conditions"], record["figures"]
    server = ", ".join(f"{name} {value}" for name, value in found["postgresql"].items())
    rows = [
        ["machine", f"{on['system']}, {on['processors']} processors, load before {found['load_before'][0]:g}"],
        ["Python, SQLite", f"{on['python']}, {on['sqlite']} with synchronous FULL"],
        ["PostgreSQL", server],
        ["rounds", f"{found['rounds']} alternating, {found['seconds_each']:g} s each; median and range"],
        *([peer, ", ".join(pinned)] for peer, pinned in found["peers"].items()),
    ]
    return table(["", ""], rows)


def runs() -> str:
    """Runs a second of every variant, and what is left of one after SIGKILL."""
    record, recovery = figures("runs"), figures("recovery")
    if record is None:
        return NOT_YET.format(name="runs")
    left = recovery["figures"]["left"] if recovery else {}
    rows = []
    for key, label in RUNS.items():
        found = record["figures"]["runs_per_s"].get(key) or {}
        why = record["figures"]["left_out"].get(key)
        cells = [_spread(found.get(width)) for width in ("1", "16", "64")] if found else [f"left out: {why}", "", ""]
        rows.append([label, *cells, _left(key, left.get(key, {}))])
    return table(["runs a second", "one by one", "16 at once", "64 at once", "left after kill -9"], rows)


def _left(key: str, told: Mapping[str, Any]) -> str:
    return str(told.get("left", "all steps" if key.startswith(("floor", "interlock")) else "-"))


def _spread(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    low, high = found["range"]
    return f"{found['median']:,.0f} ({low:,.0f}-{high:,.0f})"


def ratios() -> str:
    """The ratios that were promised, and the others."""
    record = figures("runs")
    if record is None:
        return NOT_YET.format(name="runs")
    rows = [
        [label, f"{found['median']:g}", "-".join(f"{each:g}" for each in found["range"]), f"{found['promised'] or ''}"]
        for label, found in record["figures"]["ratios"].items()
    ]
    return table(["Interlock, as many times as", "median", "range", "at least"], rows)


def history() -> str:
    """What earlier messages cost."""
    record = figures("history")
    if record is None:
        return NOT_YET.format(name="history")
    found, rows = record["figures"], []
    for side, ratio in found["ratios"].items():
        one, many = (found["ms_a_run"][f"{side} {way}"]["median"] for way in ("after_one", "after_many"))
        low, high = ratio["range"]
        rows.append([side, f"{one:g} ms", f"{many:g} ms", f"{ratio['median']:g} ({low:g}-{high:g})"])
    return table(["a run", "after one message", f"after {found['earlier_messages']:,}", "ratio"], rows)


def mailbox() -> str:
    """Jobs that do nothing, through the queues of others."""
    record = figures("mailbox_peers")
    if record is None:
        return NOT_YET.format(name="mailbox_peers")
    rows = []
    for key, label in QUEUES.items():
        found = record["figures"]["queues"][key]
        if "left_out" in found:
            rows.append([label, "", f"left out: {found['left_out']}", "", ""])
        else:
            counts = [f"{found['per_s']:,.0f}", str(found["out_of_order"]), str(found["overlapping"])]
            rows.append([label, str(found["workers"]), *counts])
    ours = record["figures"]["ours"]
    for key, (label, workers) in OUR_QUEUES.items():
        found = ours[key]
        counts = [f"**{found['per_s']:,.0f}**", str(found["out_of_order"]), str(found["overlapping"])]
        rows.append([label, str(workers), *counts])
    shown = table(["", "workers", "jobs a second", "out of order", "overlapping"], rows)
    waits = [
        [f"{place}, {since}", *(f"{took[cut]:g} ms" for cut in ("p50", "p90", "p99"))]
        for place in ("embedded", "postgresql")
        for since, took in ours[f"idle_ms_{place}"].items()
    ]
    return f"{shown}\n\n{table(['until an idle worker begins', 'p50', 'p90', 'p99'], waits)}"


def waiting() -> str:
    """A thousand agents that wait."""
    record = figures("waiting")
    if record is None:
        return NOT_YET.format(name="waiting")
    found = record["figures"]
    engines = [engine for engine in ("sqlite", "postgresql") if engine in found]
    keys = [key for key in found[engines[0]] if key != "ended"]
    rows = [[key.replace("_", " "), *(f"{found[engine][key]:g}" for engine in engines)] for key in keys]
    ends = [", ".join(f"{count} {status}" for status, count in found[engine]["ended"].items()) for engine in engines]
    return table(["", *engines], [["ended", *ends], *rows])


def agents() -> str:
    """What prompts, adapters, caches, memory and streams cost."""
    missing = [name for name in ("prompt", "adapters", "prompt_cache", "memory", "streaming") if figures(name) is None]
    if missing:
        return NOT_YET.format(name=missing[0])
    prompt, adapters, cache, memory, streams = (
        (figures(name) or {})["figures"] for name in ("prompt", "adapters", "prompt_cache", "memory", "streaming")
    )
    rows = [
        ["a prompt of all layers and 20 messages", "2 ms", f"{prompt['median_ms']:g} ms (p99 {prompt['p99_ms']:g})"],
        *(
            [f"a streamed call of 1,000 deltas over the bare SDK of {name}", "+10 %", f"{found['added_percent']:+g} %"]
            for name in ("openai", "anthropic")
            for found in (adapters[name],)
        ),
        ["what a run's second call reads from the prompt cache", "90 %", f"{cache['second call of a run']:.0%}"],
        ["recalling five of 10,000 memories, three words, SQLite", "5 ms",
         f"{memory['sqlite_recall_3_words_ms']['median']:g} ms"],
        ["from the SDK's yield to an SSE client, first delta", "5 ms",
         f"{streams['first_delta_p50_ms']:g} ms (p99 {streams['first_delta_p99_ms']:g})"],
        ["1,000 readers, p50 and p99 of an event, all reading", "",
         f"{streams['1000_readers_all_read_p50_ms']:g} and {streams['1000_readers_all_read_p99_ms']:g} ms"],
        ["the same, one of them stalled", "the same",
         f"{streams['1000_readers_one_stalled_p50_ms']:g} and {streams['1000_readers_one_stalled_p99_ms']:g} ms"],
    ]  # fmt: skip
    return table(["", "promised", "measured"], rows)


def decisions() -> str:
    """What a decision costs here and in other engines, and what money, the queue, a stop and an answer take."""
    missing = [name for name in ("policy_decision", "ledger", "approvals", "stop", "tap") if figures(name) is None]
    if missing:
        return NOT_YET.format(name=missing[0])
    decided, money, queue, stop, tap = (
        (figures(name) or {})["figures"] for name in ("policy_decision", "ledger", "approvals", "stop", "tap")
    )
    rows = []
    for key, label in (DECISIONS | ENGINES).items():
        found = decided["ours"].get(key) or decided["others"][key]
        promised = f"{found['target_us']:g} µs" if "target_us" in found else ""
        if "left_out" in found:
            rows.append([label, "", f"left out: {found['left_out']}", ""])
        else:
            rows.append([label, promised, f"{found['us_median']:g} µs", f"best {found['us_best']:g} µs"])
    pair = money["sqlite"]["pair_in_one_transaction_ms"]
    rows += [
        ["reserving and settling, one transaction, SQLite", f"{money['promised_ms_on_sqlite']:g} ms",
         f"{pair['p50']:g} ms", f"best {pair['best']:g} ms"],
        *(
            [f"a page of {queue['page']} cards of {queue['pending']:,} pending, from the middle, {name}",
             f"{queue['goal_ms']:g} ms", f"{queue[f'{engine}_middle_ms_p50']:g} ms",
             f"most {queue[f'{engine}_middle_ms_max']:g} ms"]
            for engine, name in (("sqlite", "SQLite"), ("postgresql", "PostgreSQL"))
        ),
        *(
            [f"from a stop to the last of {stop['calls_in_flight']} model calls aborted, {name}",
             f"{stop['goal_s']:g} s", f"{stop[engine]['last_aborted_s_median']:g} s",
             f"most {stop[engine]['last_aborted_s_range'][1]:g} s"]
            for engine, name in (("sqlite", "SQLite"), ("postgresql", "four executing boxes on PostgreSQL"))
        ),
        ["from an answer to the parked run going on", f"{tap['goal_s']:g} s",
         f"{tap['goes_on_s_median']:g} s", f"most {tap['goes_on_s_max']:g} s"],
    ]  # fmt: skip
    return table(["", "promised", "median", ""], rows)
