"""A visit shows what the server has, and no fault of a page goes unnoticed."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from interlock.web.http import listen, serving
from tests.chromium import Chromium
from tests.contract.web.house import house

WELL = """\
<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<title>Well</title><p>None</p><script>document.querySelector("p").textContent = navigator.maxTouchPoints</script></html>
"""
ILL = """\
<!doctype html><html lang="en"><title>Ill</title>
<img src="http://elsewhere.test/dot.png" alt="">
<img src="http://192.0.2.1/dot.png" alt="">
<p style="color: red">The policy forbids this style.</p>
<script>
new WebSocket("ws://127.0.0.1:1/feed");
console.error("broken words");
Promise.reject(new Error("broken promise"));
setTimeout(() => { document.title = "Ready"; undefined_function() });
</script></html>
"""


@asynccontextmanager
async def pages(**content: str) -> AsyncIterator[int]:
    """A server of these pages, which forbid styles; the port."""

    async def page(request: Request) -> Response:
        name = request.path_params["name"]
        response = HTMLResponse(content.get(name, "missing"), 200 if name in content else 404)
        response.headers["Content-Security-Policy"] = "style-src 'none'"
        response.set_cookie("seen", name)
        return response

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    async with serving(Starlette(routes=[Route("/{name}", page)]), listening):
        yield port


async def test_home_is_reached_with_a_browser(tmp_path: Path, database_url: str, chromium: Chromium) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home, chromium.visit(home.port) as page:
        await page.goto("/healthz")
        await expect(page.locator("body")).to_contain_text('{"status":"ok"}')
        await page.goto("/openapi.json")
        assert json.loads(await page.locator("pre").inner_text())["info"]["title"] == "Interlock"


async def failure(chromium: Chromium, content: str, *, title: str, words: str | None = None, **more: Any) -> str:
    """What is said of a failed visit to a page; `words` are of the test itself."""
    async with pages(page=content) as port:
        try:
            async with chromium.visit(port, **more) as page:
                await page.goto("/page")
                await expect(page).to_have_title(title)
                assert words is None, words
        except AssertionError as error:
            return "\n".join([str(error), *error.__notes__])
    raise AssertionError("the visit did not fail")


async def test_every_fault_of_a_page_fails_the_test(browser: Browser, tmp_path: Path) -> None:
    told = await failure(Chromium(browser, tmp_path), ILL, title="Ready")
    for fault in (
        "request to another server: http://elsewhere.test/dot.png", "request to another server: http://192.0.2.1/dot.png",
        "request to another server: http://127.0.0.1:1/feed", "console: broken words", "broken promise",
        "undefined_function is not defined", "violates the following Content Security Policy directive",
    ):  # fmt: skip
        assert fault in told


async def test_failure_of_a_test_leaves_a_picture(browser: Browser, tmp_path: Path) -> None:
    told = await failure(Chromium(browser, tmp_path), WELL, title="Well", words="as the test says")
    assert "as the test says" in told
    (picture,) = map(Path, re.findall(r" looked like (\S+\.png)", told))
    assert picture.read_bytes().startswith(b"\x89PNG")


async def test_expected_fault_has_to_show(browser: Browser, tmp_path: Path) -> None:
    chromium = Chromium(browser, tmp_path)
    async with pages() as port, chromium.visit(port, expects=["status of 404"]) as page:
        await page.goto("/none")
    told = await failure(chromium, WELL, title="Well", expects=["status of 404"])
    assert "no such fault: ['status of 404']" in told


async def test_phone_is_narrow_and_touched(chromium: Chromium) -> None:
    async with pages(well=WELL) as port, chromium.visit(port, phone=True) as page:
        await page.goto("/well")
        assert await page.evaluate("innerWidth") == 390
        await expect(page.locator("p")).not_to_have_text("0")


async def test_browser_without_scripts_runs_none(chromium: Chromium) -> None:
    async with pages(well=WELL) as port, chromium.visit(port, scripts=False) as page:
        await page.goto("/well")
        await expect(page.locator("p")).to_have_text("None")


async def test_visits_share_no_cookies(chromium: Chromium) -> None:
    async with pages(well=WELL) as port, chromium.visit(port) as one, chromium.visit(port) as other:
        await one.goto("/well")
        assert await one.context.cookies() != []
        assert await other.context.cookies() == []
