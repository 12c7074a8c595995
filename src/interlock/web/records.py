"""Money, activities, alerts, lessons and memories over HTTP; read-only.

A token that is restricted to a project reads only what belongs to it.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from interlock.desk.agents import lessons, memories
from interlock.desk.budgets import ledger_views, money
from interlock.desk.operations import audit
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.web.dependencies import Here, Who, project_of, require_all
from interlock.web.pages import Limit, page

LAST_ID = (1 << 63) - 1
"""The greatest id that a row can have."""


def add_to(router: APIRouter) -> None:
    """Adds the paths. Source: interfaces, "HTTP"."""
    for path, endpoint in (
        ("/api/budget", budget), ("/api/ledger", ledger), ("/api/activities", activities), ("/api/alerts", alerts),
        ("/api/lessons", list_lessons), ("/api/memories", list_memories),
    ):  # fmt: skip
        router.add_api_route(path, endpoint, methods=["GET"], status_code=200, response_model=None)


async def ledger(
    here: Here, who: Who, account: str | None = None, run: str | None = None, task: str | None = None,
    mission: str | None = None, agent: str | None = None, after: str | None = None, limit: Limit = 200,
) -> View:  # fmt: skip
    """Lists the ledger's lines of an account, run, task, mission or agent, with the balance after each."""
    require_all(who)
    return await ledger_views.explain(
        here.live.runtime, account=account, run=run, task=task, mission=mission, agent=agent, after=after, most=limit
    )


async def list_memories(
    here: Here, who: Who, response: Response, query: str = "", persona: str | None = None, project: str | None = None,
    limit: Limit = 50,
) -> list[View]:  # fmt: skip
    """Lists memories and memory blocks, those that match `query` first."""
    wanted = await project_of(here, who, project)
    found = await memories.search(
        here.live.runtime, who.person, query, persona=persona, project=wanted, most=limit + 1
    )  # fmt: skip
    return page(response, found, limit)


async def budget(here: Here, who: Who, response: Response, every: bool = False, limit: Limit = 100) -> list[View]:
    """Lists accounts, newest first, with their limits and balances; with `every`, also those of tasks and runs."""
    require_all(who)
    return page(response, await money.budget(here.live.runtime, every=every, most=limit + 1), limit)


async def activities(
    here: Here, who: Who, response: Response, after: Annotated[int | None, Query(ge=0, le=LAST_ID)] = None,
    limit: Limit = 100,
) -> list[View]:  # fmt: skip
    """Lists activities of the audit log, oldest first: those after the id `after`, else the latest.

    Viewers see no details of others' conversations and of closed channels.
    """
    require_all(who)
    found = await audit.activities(here.live.runtime, after=after, most=limit + 1, reader=who.person)
    return page(response, found, limit, newest_last=after is None)


async def alerts(here: Here, who: Who, response: Response, all: bool = False, limit: Limit = 100) -> list[View]:
    """Lists alerts, newest first; with `all`, also those that have been acknowledged."""
    found = await listings.alerts(here.live.runtime, open_only=not all, project=who.project, most=limit + 1)
    return page(response, found, limit)


async def list_lessons(here: Here, who: Who, response: Response, every: bool = False, limit: Limit = 100) -> list[View]:
    """Lists lessons, best first."""
    require_all(who)
    return page(response, await lessons.lessons(here.live.runtime, every=every, most=limit + 1), limit)
