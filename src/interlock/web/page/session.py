"""Who uses the page: signing in with an API token, which a cookie keeps, and refusing what other sites send.

Tokens are authenticated by the gate at every request, so that a revoked one ends its session.
"""

import re
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from interlock.core.errors import Refused, UsageError
from interlock.desk.identities.gate import Caller, NotKnown
from interlock.web.dependencies import Services
from interlock.web.http import MOST_BYTES, body_of

SECURE_COOKIE: Final = "__Host-interlock"
"""The name over https: browsers take it from no sub-domain and over no plain connection."""
COOKIE: Final = "interlock"
"""The name without https. The port follows, since a browser does not keep apart what servers on one machine set."""
_PORT = re.compile(r":([0-9]{1,5})$")
LASTS_S = 12 * 3600
"""How long a browser keeps a session."""
MOST_FIELDS = 20
MOST_BYTES_OF_STRANGERS = 16 << 10
"""The maximum size of the form to sign in, the only one that is read from somebody who has not."""


class SignedOut(NotKnown):
    """No session, or one whose token is no longer valid."""


def token_of(request: Request) -> str:
    """The token of a request's session; empty if there is none."""
    return request.cookies.get(SECURE_COOKIE) or request.cookies.get(_name(request), "")


def _name(request: Request) -> str:
    port = _PORT.search(request.headers.get("host", ""))
    return f"{COOKIE}-{port[1]}" if port else COOKIE


async def caller(request: Request, here: Services) -> Caller:
    """The authenticated caller of a request.

    Raises SignedOut, TooMany.
    """
    token = token_of(request)
    if not token:
        raise SignedOut("sign in to see this")
    return await identified(request, here, token)


async def identified(request: Request, here: Services, token: str) -> Caller:
    """The caller that a token authenticates.

    Raises SignedOut, TooMany.
    """
    try:
        return await here.gate.caller(token, request.client.host if request.client is not None else "")
    except NotKnown as error:
        raise SignedOut(str(error)) from error


def begin(request: Request, response: Response, token: str) -> None:
    """Keeps a token in the browser, where no script can read it."""
    is_secure = request.headers.get("origin", "").startswith("https:")
    name = SECURE_COOKIE if is_secure else _name(request)
    response.set_cookie(name, token, max_age=LASTS_S, path="/", secure=is_secure, httponly=True, samesite="lax")


def end(request: Request, response: Response) -> None:
    """Has the browser forget the token."""
    for name in (SECURE_COOKIE, _name(request)):
        is_secure = name == SECURE_COOKIE
        if name in request.cookies:
            response.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")


def require_own(request: Request) -> None:
    """Refuses a form that another site sends in a signed-in person's name.

    Raises Refused.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_own = site == "same-origin" if site is not None else origin is not None
    if is_own and origin is not None:
        is_own = origin in [f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https")]
    if not is_own:
        raise Refused("this form did not come from this page, and nothing was done: open the page, and send it there")


async def form(request: Request, *, most_bytes: int = MOST_BYTES) -> dict[str, str]:
    """The fields of a submitted form.

    Raises BadBody, UsageError.
    """
    body = await body_of(request, most_bytes=most_bytes)
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise UsageError("the form cannot be read: open the page anew, and send it there") from error
    found = {name: value.replace("\r\n", "\n") for name, value in fields}
    if len(found) < len(fields):
        raise UsageError("the form has a field twice: open the page anew, and send it there")
    return found


def within(path: str) -> str:
    """Where to go after signing in: a path of this page, else its beginning."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else "/"
