"""The dependencies of endpoints: the services of this process, the caller, checks of parameters; no endpoint."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from interlock.core.errors import Refused, UsageError
from interlock.core.text import visible
from interlock.desk.events.answering import Answers
from interlock.desk.events.live import Live
from interlock.desk.identities.gate import Caller, Gate
from interlock.desk.reading.finding import Unknown
from interlock.desk.signoff import signing
from interlock.desk.work import projects

LONGEST_PROJECT = 63
LONGEST_PARAMETER = 80
"""How many characters of an unknown parameter's name an error repeats."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the endpoints work with: live events, replies of runs, authentication."""

    live: Live
    answers: Answers
    gate: Gate

    async def close(self) -> None:
        """Ends the streams and pending requests of clients."""
        await self.live.close()
        await self.answers.close()


def services(request: Request) -> Services:
    """The services of the application that handles a request."""
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


Here = Annotated[Services, Depends(services)]


def token_of(request: Request) -> str | None:
    """The bearer token of a request."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


async def caller(request: Request, here: Here) -> Caller:
    """The authenticated caller of a request.

    Raises NotKnown, TooMany.
    """
    address = request.client.host if request.client is not None else ""
    return await here.gate.caller(token_of(request), address)


Who = Annotated[Caller, Depends(caller)]


async def only_known(request: Request, _: Who) -> None:
    """Refuses unknown query parameters: ignoring a misspelt filter would return more than was asked for.

    Raises UsageError.
    """
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [each.alias for each in route.dependant.query_params]
    for name in request.query_params:
        if name not in known:
            shown = visible(name[:LONGEST_PARAMETER], one_line=True)
            raise UsageError(f"`{shown}` is not a parameter of this path{_hint(name, known)}")


def _hint(name: str, known: Sequence[str]) -> str:
    if not known:
        return ": it has none"
    near = difflib.get_close_matches(name[:LONGEST_PARAMETER].lower(), known, n=1)
    return f": did you mean `{near[0]}`?" if near else f": it has {', '.join(f'`{each}`' for each in known)}"


async def project_of(here: Services, who: Caller, wanted: str | None) -> str | None:
    """The project of a request: the token's if it is restricted to one, else `wanted`; None for the default, or all.

    Raises Refused for another project than the token's, NotFound for an unknown one, UsageError for an invalid name.
    """
    if who.project is not None and wanted not in (None, who.project):
        raise Refused(f"the token is good for the project `{who.project}` only: leave out `project`")
    if wanted is not None and not wanted.strip():
        raise UsageError("`project` is empty: leave it out, or name one")
    if wanted is not None and (len(wanted) > LONGEST_PROJECT or visible(wanted, one_line=True) != wanted):
        raise UsageError(f"`project` has up to {LONGEST_PROJECT} characters, all of them visible")
    if wanted is not None and who.project is None:
        await projects.require(here.live.runtime, wanted)
    return who.project or wanted


def require_within(who: Caller, project: object, kind: str, ident: str) -> None:
    """Hides what belongs to another project than the token's: the error is that of an id that does not exist.

    Raises Unknown.
    """
    if who.project is not None and project != who.project:
        raise Unknown(kind, ident, (), f"{kind}s")


async def require_question(here: Services, who: Caller, ident: str) -> None:
    """As `require_within`, for a question of the approval queue.

    Raises Unknown.
    """
    try:
        found = await signing.approval(here.live.runtime, ident)
    except (Unknown, UsageError):
        require_within(who, None, "approval", ident)  # what it could be, in other projects, it does not say
        raise
    require_within(who, found["project_id"], "approval", ident)


def require_all(who: Caller) -> None:
    """Refuses tokens that are restricted to a project.

    Raises Refused.
    """
    if who.project is not None:
        raise Refused(f"the token is good for the project `{who.project}` only, and this concerns them all")
