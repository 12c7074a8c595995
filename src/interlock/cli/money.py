"""Commands about money: limits and what was spent under them, the ledger behind a balance, what models cost."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Json
from interlock.core.text import amount

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext

Account = Annotated[
    str,
    typer.Argument(
        metavar="ACCOUNT",
        help="An account from `interlock budget`; the id of a run, task, mission or agent; or a persona or project.",
    ),
]
Note = Annotated[str | None, typer.Option("--note", metavar="T", help="Why; recorded in the ledger.")]


def _read(work: Callable[["DeskContext"], Awaitable[Any]]) -> tuple[Any, datetime]:
    async def reading(context: "DeskContext", _: object) -> tuple[Any, datetime]:
        return await work(context), context.clock.now()

    return opening.at_desk(reading)


def budget(
    every: Annotated[bool, typer.Option("--all", help="Include accounts of tasks and runs.")] = False,
    as_json: Json = False,
) -> None:
    """Show limits and what has been spent under them."""
    from interlock.cli import screen
    from interlock.desk.budgets import money

    rows, _ = _read(lambda context: money.budget(context, every=every))
    if as_json:
        return screen.listed(rows, money.MOST)
    screen.table(
        ("ACCOUNT", ">LIMIT", ">SPENT", ">SET ASIDE", ">LEFT", "STATE", "~FOR"),
        [
            (
                r["id"], *(screen.dollars(r[k]) for k in ("limit_usd", "settled_usd", "reserved_usd", "left_usd")),
                _state(r), r["whose"] or "",
            )
            for r in rows
        ],
        empty="nothing has been spent yet",
    )  # fmt: skip
    screen.cut(rows, money.MOST)
    if rows:
        screen.note(f"every line behind a balance: `interlock ledger --account {rows[0]['id']}`")
        screen.note("more or less money:           `interlock budget raise ACCOUNT USD`, `interlock budget set …`")
        screen.note("what tasks really cost:       `interlock budget estimates`")
    return None


def _state(row: dict[str, Any]) -> str:
    if row["frozen"]:
        return "frozen"
    return "asks a person" if row["paused"] else ""


def raise_limit(
    account: Account,
    usd: Annotated[float, typer.Argument(metavar="USD", help="The amount to add, in USD.")],
    note: Note = None,
    as_json: Json = False,
) -> None:
    """Raise a limit; work that it stopped continues, and a question about it counts as answered."""
    from interlock.desk.budgets import money

    _changed(opening.at_desk(lambda context, person: money.raise_budget(context, person, account, usd, note)), as_json)


def set_limit(
    account: Account,
    usd: Annotated[float, typer.Argument(metavar="USD", help="The new limit in USD; not below what is already spent.")],
    note: Note = None,
    as_json: Json = False,
) -> None:
    """Set a limit, lower or higher; a frozen account is unfrozen."""
    from interlock.desk.budgets import money

    _changed(opening.at_desk(lambda context, person: money.set_budget(context, person, account, usd, note)), as_json)


def _changed(row: dict[str, Any], as_json: bool) -> None:
    from interlock.cli import screen

    if as_json:
        return screen.data(row)
    limit, left = screen.dollars(row["limit_usd"]), screen.dollars(row["left_usd"])
    screen.line(f"{row['id']} may spend {limit} now, {left} of it is left")
    if row["frozen"]:
        spent = screen.dollars(row["settled_usd"] + row["reserved_usd"])
        screen.note(f"it is still frozen, since {spent} are spent: `interlock budget set {row['id']} USD` with more")
    if row["hindrance"]:
        screen.note(f"nothing continues yet: {row['hindrance']}")
    return None


def estimates(
    project: Annotated[str | None, typer.Option("--project", metavar="P", help="Only this project.")] = None,
    as_json: Json = False,
) -> None:
    """Compare what finished tasks cost with what they were given, by type and model."""
    from interlock.cli import screen
    from interlock.desk.budgets import money

    rows, _ = _read(lambda context: money.actuals(context, project))
    if as_json:
        return screen.data(rows)
    screen.table(
        ("TYPE", "MODEL", ">TASKS", ">MEAN", ">MOST", ">BUDGET", "USED"),
        [
            (
                r["type"], r["model"], r["tasks"], screen.dollars(r["mean_usd"]), screen.dollars(r["most_usd"]),
                screen.dollars(r["budget_usd"]),
                "for estimates" if r["counts"] else "too few tasks yet",
            )
            for r in rows
        ],
        empty="no task has been finished with a real model in the last 90 days",
    )  # fmt: skip
    return None


def ledger(
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Only this run.")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Only this task.")] = None,
    mission: Annotated[str | None, typer.Option("--mission", metavar="ID", help="Only this mission.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="ID", help="Only this agent or persona.")] = None,
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="ACCOUNT", help="Only this account, as `interlock budget` shows it."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="The most entries to show.")
    ] = 200,
    after: Annotated[str | None, typer.Option("--after", metavar="LINE", help="Only entries after this one.")] = None,
    as_json: Json = False,
) -> None:
    """Show every entry behind a balance, oldest first; without an option, the latest entries of all accounts."""
    from interlock.cli import screen
    from interlock.desk.budgets import ledger_views

    found, _ = _read(
        lambda context: ledger_views.explain(
            context, account=account, run=run, task=task, mission=mission, agent=agent, after=after, most=limit
        )
    )
    if as_json:
        return screen.data(found)
    return _show_ledger(found)


def _show_ledger(found: dict[str, Any]) -> None:
    from interlock.cli import screen

    account, has_balance = found["account"], any("settled_usd" in line for line in found["lines"])
    if account is not None:
        screen.line(f"{account['id']}" + (f" ({account['whose']})" if account["whose"] else ""), style="bold")
        screen.line(f"first limit {screen.dollars(account['first_limit_usd'])}", style="dim")
    balance = (">SPENT", ">SET ASIDE") if has_balance else ()
    screen.table(
        ("WHEN", "LINE", "WHAT", ">AMOUNT", *balance, ">STEP", "WHO", "MODEL", "~FOR"),
        [
            (
                f"{r['created_at']:%m-%d %H:%M:%S}", r["id"], _what(r), screen.dollars(abs(r["amount_usd"])),
                *((screen.dollars(r["settled_usd"]), screen.dollars(r["reserved_usd"])) if has_balance else ()),
                "" if r["step_number"] is None else f"{r['step_number']}.{r['attempt']}",
                r["persona"] or r["person"] or "", (r["model"] or "").partition("/")[2] or r["model"] or "",
                r["note"] or (f"{r['run_id']} {r['title'] or ''}" if r["run_id"] else ""),
            )
            for r in found["lines"]
        ],
        empty="nothing has been spent yet",
    )  # fmt: skip
    _show_sums(found)


WHAT = {"reserve": "set aside", "settle": "spent", "raise": "limit raised", "go_on": "may go on"}


def _what(line: dict[str, Any]) -> str:
    if line["kind"] == "raise" and line["amount_usd"] < 0:
        return "limit lowered"
    return WHAT.get(line["kind"], "") + (" (estimated)" if line["estimated"] else "")


def _show_sums(found: dict[str, Any]) -> None:
    from interlock.cli import screen

    sums, account = found["sums"], found["account"]
    if found["next"]:
        screen.note(f"there are more: use `--after {found['next']}`")
    estimated = f", {screen.dollars(sums['estimated_usd'])} of it estimated" if sums["estimated_usd"] else ""
    screen.line(
        f"{amount(sums['lines'], 'line')}: {screen.dollars(sums['settled_usd'])} spent{estimated}, "
        f"{screen.dollars(sums['reserved_usd'])} set aside"
    )
    if account is not None:
        says = f"{screen.dollars(account['settled_usd'])} spent, {screen.dollars(account['reserved_usd'])} set aside"
        word = (
            "and so says the account" if found["agrees"] else f"but the account says {says}: `interlock ledger verify`"
        )
        screen.line(f"{word}, under a limit of {screen.dollars(account['limit_usd'])}")


def verify(as_json: Json = False) -> None:
    """Check every account against its entries; exits with 1 if they differ."""
    from interlock.cli import screen
    from interlock.desk.budgets import ledger_views

    found, _ = _read(ledger_views.verify)
    if as_json:
        screen.data(found)
    else:
        for fault in found["faults"]:
            screen.line(fault)
        if not found["faults"]:
            screen.line(f"{found['accounts']:,} accounts agree with {found['lines']:,} lines")
        else:
            screen.note("keep the database as it is and report this; `interlock pause` stops new calls")
    if found["faults"]:
        raise typer.Exit(1)


def prices(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Only models whose name contains this.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what models cost per million tokens, and what a model without a known price is charged."""
    from interlock.cli import screen
    from interlock.core.clock import SystemClock
    from interlock.desk.budgets import pricing

    rows = pricing.price_views(pricing.table(opening.settings()), SystemClock().now().date(), model)
    if as_json:
        return screen.data(rows)
    screen.table(
        ("MODEL", "PROMPTS", ">IN", ">OUT", ">CACHE READ", ">WRITTEN", "SINCE", "NOW", "~FROM"),
        [
            (
                r["model"], _up_to(band["up_to_prompt_tokens"]), f"${band['input_usd']:g}", f"${band['output_usd']:g}",
                f"${band['input_usd'] * r['cache_read']:g}", f"${band['input_usd'] * r['cache_write_5m']:g}",
                r["effective"] or "", "" if r["holds"] else "no", r["source"],
            )
            for r in rows
            for band in r["bands"]
        ],
        empty="no model has a price",
    )  # fmt: skip
    return None


def _up_to(tokens: int | None) -> str:
    return "any" if tokens is None else f"to {tokens:,}"


BUDGET_VERBS: Mapping[str, Callable[..., None]] = {"raise": raise_limit, "set": set_limit, "estimates": estimates}
LEDGER_VERBS: Mapping[str, Callable[..., None]] = {"verify": verify}
