"""Which projects there are: those that the settings name, and those at work already; not what is in them."""

import difflib

from interlock.core.errors import UsageError
from interlock.desk.office import Office
from interlock.store import squad

SHOWN = 10


async def require(office: Office, project: str) -> None:
    """Lets a project pass that there is. Each has the money of a day of its own, so that a slip is no new one.

    Raises UsageError.
    """
    named = {office.settings.project, *office.settings.projects}
    if project in named or await office.store.read(squad.project, project) is not None:
        return
    known = sorted(named.union(await office.store.read(squad.projects)))
    near = difflib.get_close_matches(project, known, n=1, cutoff=0.7)
    if near:
        raise UsageError(f"no project `{project}`: did you mean `{near[0]}`? A new one is named under `projects` first")
    more = " and others" if len(known) > SHOWN else ""
    there = ", ".join(f"`{each}`" for each in known[:SHOWN])
    raise UsageError(f"no project `{project}`: there are {there}{more}; a new one is named under `projects` first")
