"""Renders templates to HTML, and the headers that every response of the page has.

INVARIANT: texts are escaped, and characters that turn or hide text are spelled out; no script and no style stands in a
page, so that nothing an agent writes can become one.
"""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from interlock.core.text import visible
from interlock.desk.chats.cards import Passage
from interlock.desk.chats.wording import dollars, moment

SECURE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}  # fmt: skip
STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
"""The files that pages load, and their types."""


def told(text: str) -> Markup:
    """A text in which what stands between backticks is shown as code."""
    whole = visible(text)
    parts = whole.split("`")
    if len(parts) % 2 == 0:
        return escape(whole)
    shown = (Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts))
    return Markup("").join(shown)


def verbatim(passage: Passage) -> Markup:
    """A verbatim text; if it is a diff, its added and removed lines are marked as such."""
    text = visible(passage.text)
    if not passage.is_diff:
        return Markup("\n{}").format(text)
    kinds = {"+": "added", "-": "removed"}
    lines = [(kinds.get(line[:1], "same"), line) for line in text.split("\n")]
    return Markup("").join(Markup('<span class="{}">{}\n</span>').format(*each) for each in lines)


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value


_ENVIRONMENT = Environment(
    loader=PackageLoader("interlock.web.page"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True, finalize=_shown,
)  # fmt: skip
_ENVIRONMENT.filters.update(told=told, verbatim=verbatim, moment=moment, dollars=dollars)


def html(template: str, status: int = 200, **values: Any) -> Response:
    """A page from a template in `templates`."""
    return HTMLResponse(_ENVIRONMENT.get_template(f"{template}.html").render(**values), status)


def static(name: str) -> Response:
    """A file of `static`; 404 if there is no such file."""
    if name not in STATIC:
        return Response("there is no such file", 404, media_type="text/plain")
    content = (files("interlock.web.page") / "static" / name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"cache-control": "no-cache"})
