"""The Chromium of this machine for tests: visits to a server on it, none of which may show a fault.

Playwright steers it; the tests say with its `Page` and `expect` what a person does and sees.
"""

import contextlib
import itertools
import os
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    WebSocket,
    async_playwright,
    expect,
)
from playwright.async_api import Error as BrowserError

from scripts import system_programs

HOST = "127.0.0.1"
LONGEST_MS = 30_000
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True,
}  # fmt: skip
USUAL: dict[str, Any] = {
    "locale": "en-GB", "timezone_id": "UTC", "reduced_motion": "reduce", "service_workers": "block",
}  # fmt: skip
ARGUMENTS = (
    "--disable-gpu", "--disable-quic", "--disable-sync", "--no-proxy-server",
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOST}",
)  # fmt: skip
"""What Playwright does not say itself; the last keeps every connection on this machine."""
KEPT = ("PATH", "TMPDIR", "LANG")
"""The variables that it is given; of files in the user's home it sees none."""
UNASKED = "/favicon.ico"
"""What the browser looks for by itself and in its own time, where a page names no icon."""


@contextlib.asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    """A running Chromium without windows."""
    program = system_programs.found("chromium")
    assert program, "no Chromium is installed: run `make test`, which sees to it"
    expect.set_options(timeout=LONGEST_MS)
    kept: dict[str, str | float | bool] = {name: os.environ[name] for name in KEPT if name in os.environ}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=program, args=ARGUMENTS, env={**kept, "HOME": folder},
                handle_sigint=False, handle_sigterm=False, handle_sighup=False,
            )  # fmt: skip
            try:
                yield browser
            finally:
                await browser.close()


class Chromium:
    """The browser as one test uses it; its pictures of failures go into a folder."""

    def __init__(self, browser: Browser, pictures: Path) -> None:
        self._browser, self._pictures = browser, pictures
        self._numbers = itertools.count(1)

    @contextlib.asynccontextmanager
    async def visit(
        self, port: int, *, phone: bool = False, scripts: bool = True, expects: Sequence[str] = (), **more: Any
    ) -> AsyncIterator[Page]:
        """An empty page of a browser without cookies, whose paths are those of the server at the port.

        `expects` are patterns of faults that have to show, like `status of 401`; `more` goes to Playwright's
        `new_context`. Raises AssertionError if another fault showed: an error on the console or in a script, a crash,
        a request to another server. What the test raises is given a note with the path of a picture of the page.
        """
        base = f"http://{HOST}:{port}"
        kind = {**USUAL, **(PHONE if phone else DESKTOP), **more}
        async with await self._browser.new_context(base_url=base, java_script_enabled=scripts, **kind) as context:
            context.set_default_timeout(LONGEST_MS)
            faults = Faults(context, base)
            page = await context.new_page()
            try:
                yield page
                await _settle(context)
                faults.check(expects)
            except Exception as error:
                others = [fault for fault in faults.found if fault not in str(error)]
                error.add_note("\n".join([await self._picture(page), *others]))
                raise

    async def _picture(self, page: Page) -> str:
        """Says what the page looks like now."""
        picture = self._pictures / f"{next(self._numbers)}.png"
        try:
            await page.screenshot(path=picture, full_page=True, timeout=LONGEST_MS)
        except BrowserError as error:
            return f"no picture of {page.url} could be taken: {error.message}"
        return f"{page.url} looked like {picture}"


class Faults:
    """What went wrong in the pages of one visit."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self._base = base
        self.found: list[str] = []
        context.on("request", self._asked)
        context.on("console", self._wrote)
        context.on("weberror", self._raised)
        context.on("page", self._watch)

    def check(self, expects: Sequence[str]) -> None:
        """Raises AssertionError if there was a fault that no pattern describes, or none that a pattern describes."""
        unexpected = [fault for fault in self.found if not any(re.search(each, fault) for each in expects)]
        assert not unexpected, "the browser found faults:\n" + "\n".join(unexpected)
        unseen = [each for each in expects if not any(re.search(each, fault) for fault in self.found)]
        assert not unseen, f"the browser found no such fault: {unseen}"

    def _watch(self, page: Page) -> None:
        page.on("websocket", self._opened)
        page.on("crash", lambda crashed: self.found.append(f"crash: {crashed.url}"))

    def _asked(self, request: Request) -> None:
        self._reached(request.url)

    def _opened(self, socket: WebSocket) -> None:
        self._reached(re.sub("^ws", "http", socket.url))

    def _reached(self, url: str) -> None:
        if not url.startswith((f"{self._base}/", "data:", "blob:")):
            self.found.append(f"request to another server: {url}")

    def _wrote(self, message: ConsoleMessage) -> None:
        url = message.location["url"]
        if message.type == "error" and not url.endswith(UNASKED):
            self.found.append(f"console: {message.text} ({url})")

    def _raised(self, error: WebError) -> None:
        self.found.append(f"script: {error.error}")


async def _settle(context: BrowserContext) -> None:
    """Waits for what the pages have already reported: messages of a page come in order."""
    for page in context.pages:
        with contextlib.suppress(BrowserError):
            await page.title()
