"""Alerts on the page, and acknowledging them."""

from starlette.responses import RedirectResponse, Response

from interlock.desk.reading import listings
from interlock.desk.work import controls
from interlock.web.dependencies import require_all
from interlock.web.page.visits import Visit, whole

SHOWN = 100
SEE_OTHER = 303


async def listed(visit: Visit) -> Response:
    """The newest alerts: those that nobody has seen, or all."""
    every = visit.request.query_params.get("all") == "1"
    rows = await listings.alerts(visit.runtime, open_only=not every, project=visit.who.project, most=SHOWN + 1)
    may_act = visit.person.is_operator and visit.who.project is None
    return await whole(
        visit, "alerts", alerts=rows[:SHOWN], has_more=len(rows) > SHOWN, every=every, may_act=may_act, shown=SHOWN
    )


async def acknowledged(visit: Visit) -> Response:
    """Marks an alert as seen."""
    require_all(visit.who)
    await controls.acknowledge(visit.runtime, visit.person, str(visit.request.path_params["ident"]))
    return RedirectResponse("/alerts", SEE_OTHER)
