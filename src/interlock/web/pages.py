"""Lists over HTTP: how long one may be, and the header that says whether it was cut; what is in one is not here."""

from typing import Annotated

from fastapi import Query, Response

from interlock.desk.reading.views import View

MOST = 1_000
HEADER = "X-More"
"""`true` where there is more than the list shows, else `false`."""

Most = Annotated[int, Query(ge=1, le=MOST)]


def page(response: Response, rows: list[View], most: int, *, newest_last: bool = False) -> list[View]:
    """The requested rows; one more than those was read, to know whether there are more."""
    response.headers[HEADER] = str(len(rows) > most).lower()
    return rows[-most:] if newest_last else rows[:most]
