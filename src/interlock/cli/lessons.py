"""`lessons` and `learn`: showing, approving and restoring lessons; each is one operation of the desk."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from interlock.cli import opening
from interlock.cli.options import Ident, Json
from interlock.cli.versions import bring_back
from interlock.core.text import amount

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person

EveryOne = Annotated[bool, typer.Option("--all", help="Include merged, archived and pruned ones.")]


def listed(every: EveryOne = False, as_json: Json = False) -> None:
    """List what was learned from earlier work, best first."""
    from interlock.cli import screen
    from interlock.desk.agents import lessons as desk

    rows = opening.at_desk(lambda context, _: desk.lessons(context, every=every))
    if as_json:
        return screen.listed(rows, desk.MOST, "best")
    screen.table(
        ("ID", "STANDING", ">CONFIDENCE", ">USED", ">HELPED", ">HURT", "FOR", "KIND", "+RULE"),
        [
            (
                r["id"], _standing(r), f"{r['confidence']:.2f}", r["applied_count"], r["helped_count"],
                r["hurt_count"], _for(r), r["kind"], r["rule"],
            )
            for r in rows
        ],
        empty="no lessons yet: the Learner writes them when tasks have ended",
    )  # fmt: skip
    screen.cut(rows, desk.MOST, "best")
    if waiting := [r["id"] for r in rows if r["waits_for_person"]]:
        screen.note(f"the evidence includes untrusted content: read it, then `interlock lessons approve {waiting[0]}`")
    return None


def show(ident: Ident, as_json: Json = False) -> None:
    """Show one lesson: its evidence, its versions, and the outcomes of its uses."""
    from interlock.cli import screen
    from interlock.desk.agents import lessons as desk

    async def reading(context: "DeskContext", _: "Person") -> tuple[dict[str, Any], datetime]:
        return await desk.lesson(context, ident), context.clock.now()

    found, now = opening.at_desk(reading)
    if as_json:
        return screen.data(found)
    screen.line(found["rule"], style="bold")
    screen.facts(
        [
            ("id", found["id"]),
            ("standing", _standing(found)),
            ("for", _for(found)),
            ("kind", found["kind"]),
            ("confidence", f"{found['confidence']:.2f}"),
            ("uses", f"{found['applied_count']}, {found['helped_count']} helped, {found['hurt_count']} hurt"),
            ("evidence", ", ".join(found["evidence"])),
            ("labels", ", ".join(found["labels"]) or None),
            ("contradicts", ", ".join(found["contradicts"] or []) or None),
        ]
    )
    screen.heading("Versions")
    rows = [
        (v["version"], screen.ago(v["created_at"], now), v["author"], v["content"]["status"],
         f"{v['content']['confidence']:.2f}", v["reason"], v["content"]["rule"])
        for v in found["versions"]
    ]  # fmt: skip
    screen.table((">VERSION", "WRITTEN", "BY", "STANDING", ">CONFIDENCE", "WHY", "+RULE"), rows, empty="none")
    if found["uses"]:
        screen.heading("Uses")
        uses = [(u["run_id"], u["task_id"] or "–", screen.ago(u["shown_at"], now), u["outcome"] or "open")
                for u in found["uses"]]  # fmt: skip
        screen.table(("RUN", "TASK", "SHOWN", "OUTCOME"), uses, empty="")
    return None


def approve(ident: Ident, as_json: Json = False) -> None:
    """Vouch for a lesson whose evidence includes untrusted content, so that it may become a rule."""
    from interlock.cli import screen
    from interlock.desk.agents import lessons as desk

    found = opening.at_desk(lambda context, person: desk.approve(context, person, ident))
    if as_json:
        return screen.data(found)
    word = "approved" if found["changed"] else "needs nobody's word"
    return screen.line(f"{found['id']} {word}: {found['rule']}")


def restore(
    ident: Ident,
    version: Annotated[
        int, typer.Argument(metavar="VERSION", help="The number of the version, from `interlock lessons show`.")
    ],
    as_json: Json = False,
) -> None:
    """Make an earlier version of a lesson the current one."""
    from interlock.desk.agents import lessons as desk

    bring_back(desk.restore, ident, version, as_json=as_json)


def learn(as_json: Json = False) -> None:
    """Have the Learner review now what has ended since it last did."""
    from interlock.cli import screen
    from interlock.desk.agents import lessons as desk

    found = opening.at_desk(desk.learn)
    if as_json:
        return screen.data(found)
    posted = found["posted"]
    if not posted:
        return screen.line("nothing new to learn from", style="dim")
    each = "it" if posted == 1 else "them"
    return screen.line(f"{amount(posted, 'look', 'looks')} back posted; `interlock up` executes {each}")


def _standing(lesson: dict[str, Any]) -> str:
    return f"{lesson['status']}, waits for you" if lesson["waits_for_person"] else str(lesson["status"])


def _for(lesson: dict[str, Any]) -> str:
    return " ".join(part for part in (lesson["persona"], lesson["task_type"]) if part) or "all"


VERBS: Mapping[str, Callable[..., Any]] = {"list": listed, "show": show, "approve": approve, "restore": restore}
"""What can be done under `lessons`."""
