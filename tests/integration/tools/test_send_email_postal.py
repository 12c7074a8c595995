"""send_email by a local server that speaks Postal's API."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interlock.store import migrate, squad
from interlock.store.engine import Store
from interlock.tools.contract import ToolContext
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.workspace import Workspaces
from tests.integration.tools.http_stub import response, serving
from tests.tool_calls import BOX, NOW, PROJECT, call, context

KEY = "postal-key-77"
SENT = {"status": "success", "data": {"message_id": "m-1@postal", "messages": {"ann@example.com": {"id": 1}}}}
LETTER: dict[str, Any] = {"to": ["ann@example.com"], "subject": "Hello", "body": "Hi."}


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    await migrate.upgrade(sqlite_url)
    async with Store(sqlite_url) as opened:
        await opened.write(squad.ensure_project, PROJECT, "UTC", NOW)
        yield opened


def mailing(home: Path, url: str, **changes: Any) -> ToolContext:
    postal = {"base_url": url, "api_key": KEY, "sender": "Ops <ops@example.com>"}
    return context(home, settings={"postal": postal}, **changes)


async def test_message_reaches_the_server_whole(tmp_path: Path, store: Store) -> None:
    workspace = Workspaces(tmp_path, store).of(PROJECT, "run_1")
    await workspace.write("out/a.csv", b"a,b\n")
    async with serving(lambda _: response(200, SENT)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store, workspace=workspace)
        outcome = await call("send_email", ctx, **LETTER, cc=["bob@example.com"], attachments=["out/a.csv"])
    (request,) = postal.requests
    assert (request.method, request.target) == ("POST", "/api/v1/send/message")
    assert request.headers["x-server-api-key"] == KEY
    sent = request.json
    assert sent.pop("attachments") == [
        {"name": "a.csv", "content_type": "text/csv", "data": base64.b64encode(b"a,b\n").decode()}
    ]
    headers = sent.pop("headers")
    assert headers["Message-ID"] in outcome.content
    assert len(headers["X-Interlock-Idempotency"]) == 64
    assert sent == {
        "to": ["ann@example.com"], "cc": ["bob@example.com"], "from": "Ops <ops@example.com>", "subject": "Hello",
        "plain_body": "Hi.",
    }  # fmt: skip
    assert "m-1@postal" in outcome.content


async def test_every_try_of_a_call_carries_the_same_marks(tmp_path: Path) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        for token in ("t1", "t1", "t2"):
            await call("send_email", mailing(tmp_path, postal.url, idempotency_token=token), **LETTER)
    first, again, other = (request.json["headers"] for request in postal.requests)
    assert first == again
    assert first["Message-ID"] != other["Message-ID"]
    assert first["X-Interlock-Idempotency"] != other["X-Interlock-Idempotency"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (response(200, {"status": "parameter-error", "data": {"message": "no such\n domain"}}), "no such domain"),
        (response(200, {"status": "error", "data": {"code": "UnauthenticatedFromAddress"}}), "Unauthenticated"),
        (response(200, {"status": "error"}), "no reason given"),
        (response(401, {}), "POSTAL_API_KEY"),
        (response(429, {}, retry_after="3"), "in 3 s"),
        (response(404, ""), "status 404"),
    ],
)
async def test_refusal_means_that_nothing_was_sent(tmp_path: Path, answer: bytes, message: str) -> None:
    async with serving(lambda _: answer) as postal:
        with pytest.raises(ToolError, match=message) as caught:
            await call("send_email", mailing(tmp_path, postal.url), **LETTER)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        response(502, "<html>", kind="text/html"),
        response(200, "<html>", kind="text/html"),
        response(200, {"status": "queued"}),
    ],
)
async def test_without_a_clear_answer_the_outcome_is_unknown(tmp_path: Path, answer: bytes) -> None:
    async with serving(lambda _: answer) as postal:
        with pytest.raises(OutcomeUnknown, match=r"is not known, its Message-ID is <") as caught:
            await call("send_email", mailing(tmp_path, postal.url), **LETTER)
    assert not isinstance(caught.value, ToolError)
    assert len(postal.requests) == 1


async def test_unreachable_server_means_that_nothing_was_sent(tmp_path: Path) -> None:
    async with serving(lambda _: b"") as gone:
        url = gone.url
    with pytest.raises(ToolError, match="cannot be reached"):
        await call("send_email", mailing(tmp_path, url), **LETTER)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"to": ["ann@example.com\r\nBcc: x@example.com"]}, "is not an e-mail address"),
        ({"cc": ["Bob <bob@example.com>"]}, "is not an e-mail address"),
        ({"subject": "Hi\r\nBcc: x@example.com"}, "line break"),
        ({"attachments": ["../../etc/passwd"]}, "leads out"),
    ],
)
async def test_what_cannot_be_sent_is_refused_before_anything_is(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        with pytest.raises(ToolError, match=message):
            await call("send_email", mailing(tmp_path, postal.url), **{**LETTER, **changes})
    assert postal.requests == []


async def test_missing_file_and_too_large_files_are_refused(tmp_path: Path, store: Store) -> None:
    workspace = Workspaces(tmp_path, store).of(PROJECT, "run_1")
    await workspace.write("half", b"x" * (6 * 1024 * 1024))
    await workspace.write("other", b"x" * (6 * 1024 * 1024))
    async with serving(lambda _: response(200, SENT)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store, workspace=workspace)
        with pytest.raises(ToolError, match="there is no file `none`"):
            await call("send_email", ctx, **LETTER, attachments=["none"])
        with pytest.raises(ToolError, match="larger than"):
            await call("send_email", ctx, **LETTER, attachments=["half", "other"])
    assert postal.requests == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "INTERLOCK_SMTP__HOST or INTERLOCK_POSTAL__BASE_URL"),
        ({"postal": {"base_url": "http://127.0.0.1:1", "sender": "a@example.com"}}, "must set POSTAL_API_KEY"),
        ({"postal": {"base_url": "http://127.0.0.1:1", "api_key": "k"}}, "INTERLOCK_POSTAL__SENDER"),
        ({"smtp": {"host": "127.0.0.1"}}, "INTERLOCK_SMTP__SENDER"),
        ({"smtp": {"host": "127.0.0.1", "sender": "nobody"}}, "must check INTERLOCK_SMTP__SENDER"),
    ],
)
async def test_what_is_not_set_up_is_named(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        await call("send_email", context(tmp_path, settings=settings), **LETTER)


def test_approval_binds_to_the_attached_files() -> None:
    tool = BOX.get("send_email")
    assert tool is not None
    assert tool.reads is not None
    assert tool.reads({**LETTER, "attachments": ["a", "b", "a"]}) == ("a", "b")
    assert tool.reads(LETTER) == ()


def test_rehearsal_shows_the_message_that_was_not_sent() -> None:
    tool = BOX.get("send_email")
    assert tool is not None
    assert tool.simulate is not None
    told = tool.simulate({**LETTER, "cc": ["bob@example.com"], "attachments": ["a.csv"]})
    assert told == (
        "no e-mail was sent. To: ann@example.com, bob@example.com. Subject: Hello. 3 characters, attached: a.csv"
    )
