"""Which projects there are: those that the settings name, and those at work already; not what is in them."""

import difflib

from interlock.core.errors import NotFound
from interlock.desk.context import DeskContext
from interlock.store import squad

SHOWN = 10


async def require(context: DeskContext, project: str) -> None:
    """Lets a project pass that there is. Each has the money of a day of its own, so that a slip is no new one.

    Raises NotFound.
    """
    known = await _others(context, project)
    if known is None:
        return
    if near := _near(project, known):
        message = f"no project `{project}`: did you mean `{near}`? A new one is named under `projects` first"
        raise NotFound("project", project, message=message)
    more = " and others" if len(known) > SHOWN else ""
    there = ", ".join(f"`{each}`" for each in known[:SHOWN])
    message = f"no project `{project}`: there are {there}{more}; a new one is named under `projects` first"
    raise NotFound("project", project, message=message)


async def newness(context: DeskContext, project: str) -> str | None:
    """What there is to say of a project that begins with what it is named for; None of one that there is."""
    known = await _others(context, project)
    if known is None:
        return None
    near = _near(project, known)
    meant = f"; did you mean `{near}`?" if near else ""
    return f"project `{project}` is new, with {context.settings.day_usd(project):,.2f} USD a day of its own{meant}"


async def _others(context: DeskContext, project: str) -> list[str] | None:
    """The projects that there are, if this is none of them."""
    named = {context.settings.project, *context.settings.projects}
    if project in named or await context.store.read(squad.project, project) is not None:
        return None
    return sorted(named.union(await context.store.read(squad.projects)))


def _near(project: str, known: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(project, known, n=1, cutoff=0.7)), None)
