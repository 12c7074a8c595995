"""Pages of lists over HTTP: their maximum length, and the header that says whether there is more."""

from typing import Annotated

from fastapi import Query, Response

from interlock.desk.reading.views import View

MOST = 1_000
HEADER = "X-More"
"""`true` if there are more rows than the list shows, else `false`."""

Limit = Annotated[int, Query(ge=1, le=MOST)]


def page(response: Response, rows: list[View], most: int, *, newest_last: bool = False) -> list[View]:
    """The rows of a page, with the header set; `rows` has one row more than `most` if there are more."""
    response.headers[HEADER] = str(len(rows) > most).lower()
    return rows[-most:] if newest_last else rows[:most]
