"""Someone who uses the web page without scripts: opens paths, reads what is there, sends the forms that it has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any

import httpx2

from interlock.desk.identities import tokens
from tests.contract.web.house import House

TEXTS = ("input", "textarea")


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    button: str = ""


class Page(HTMLParser):
    """What a page says, and the forms that it has."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.status, self.url, self.headers, self.source = answer.status_code, answer.url, answer.headers, answer.text
        self.forms: list[Form] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self._within: list[str] = []
        self._name: str | None = None
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "form":
            self.forms.append(Form(str(given["action"])))
        if tag in TEXTS and self.forms and given.get("name"):
            self.forms[-1].fields[str(given["name"])] = given.get("value") or ""
        if tag == "textarea":
            self._name = given.get("name")
        self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            continue
        if tag == "textarea":
            self._name = None

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        if self._name is not None:
            self.forms[-1].fields[self._name] += data.removeprefix("\n")
        if self._within and self._within[-1] == "button" and self.forms:
            self.forms[-1].button = data.strip()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    def form(self, button: str) -> Form:
        (found,) = [each for each in self.forms if each.button == button]
        return found

    def buttons(self) -> list[str]:
        return [each.button for each in self.forms]


class Visitor:
    """One browser with its cookie."""

    def __init__(self, client: httpx2.AsyncClient, token: str) -> None:
        self.client, self.token = client, token

    @classmethod
    async def at(cls, home: House, *, signs_in: bool = True, token: str | None = None, **given: Any) -> "Visitor":
        base = f"http://127.0.0.1:{home.port}"
        given_token = token or str((await home.token_of(**given)) if given else home.token)
        visitor = cls(httpx2.AsyncClient(base_url=base, follow_redirects=True, timeout=60), given_token)
        if signs_in:
            page = await visitor.open("/")
            done = await visitor.send(page.form("Sign in"), token=given_token)
            assert done.status == 200, done.text
        return visitor

    @classmethod
    async def named(cls, home: House, name: str) -> "Visitor":
        """Another person than the one who owns the house."""
        made = await tokens.create(home.box.runtime, home.box.person, f"{name}'s", who=name)
        return await cls.at(home, token=str(made["token"]))

    async def open(self, path: str, **more: Any) -> Page:
        return Page(await self.client.get(path, **more))

    async def send(
        self,
        form: Form,
        *,
        fill: Mapping[str, str] = MappingProxyType({}),
        headers: Mapping[str, str] | None = None,
        **typed: str,
    ) -> Page:
        typed = {**fill, **typed}
        unknown = set(typed) - set(form.fields)
        assert not unknown, f"{form.action} has no fields {unknown}"
        return await self.post(form.action, {**form.fields, **typed}, headers=headers)

    async def post(self, path: str, data: Mapping[str, str], *, headers: Mapping[str, str] | None = None) -> Page:
        own = {"origin": str(self.client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
        return Page(await self.client.post(path, data=dict(data), headers=own if headers is None else dict(headers)))

    async def __aenter__(self) -> "Visitor":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()
