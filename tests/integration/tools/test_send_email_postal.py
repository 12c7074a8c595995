"""send_email by a local server that speaks Postal's API."""

import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.controls import Mode
from interlock.store.upkeep import migrate
from interlock.tools.contract import ToolContext
from interlock.tools.errors import OutcomeUnknown, PersonMustSay, ToolError
from interlock.tools.workspace import Workspaces
from tests.integration.tools.http_stub import response, serving
from tests.integration.tools.mailing import called, carried, delivered, letter, put_off, send
from tests.tool_calls import BOX, NOW, PROJECT, context

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
        outcome = await send(ctx, **LETTER, cc=["bob@example.com"], attachments=["out/a.csv"])
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


async def test_call_that_is_made_again_sends_nothing_more_and_says_the_same(tmp_path: Path, store: Store) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        outcomes = [await send(mailing(tmp_path, postal.url, store=store), **LETTER) for _ in range(2)]
        assert outcomes[0].content == outcomes[1].content
        assert len(postal.requests) == 1


async def test_every_call_has_marks_of_its_own(tmp_path: Path, store: Store) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        for token in ("t1", "t2"):
            await send(mailing(tmp_path, postal.url, store=store, idempotency_token=token), **LETTER)
    first, other = (request.json["headers"] for request in postal.requests)
    assert first["Message-ID"] != other["Message-ID"]
    assert first["X-Interlock-Idempotency"] != other["X-Interlock-Idempotency"]


async def test_server_that_takes_no_more_now_gets_the_letter_when_it_said(tmp_path: Path, store: Store) -> None:
    answers = [response(429, {}, retry_after="3"), response(200, SENT)]
    async with serving(lambda _: answers.pop(0)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store)
        async with carried(ctx) as desk:
            outcome = await put_off(ctx, **LETTER)
            assert "do not send it once more" in outcome.content
            assert "try again in 3 s" in outcome.content
            assert (await letter(ctx)).due_at == NOW + timedelta(seconds=3)
            desk.time.advance(3)
            await delivered(ctx)
        marks = [request.json["headers"] for request in postal.requests]
        assert "m-1@postal" in (await called(ctx, **LETTER)).content
    assert marks[0] == marks[1]


async def test_letter_waits_while_the_squad_is_stopped(tmp_path: Path, store: Store) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store)
        await store.write(controls.set_mode, Mode.STOPPED, "ann", None, NOW)
        async with carried(ctx):
            assert "queued_for" in (await called(ctx, wait_s=0, **LETTER)).content
            assert postal.requests == []
            await store.write(controls.set_mode, Mode.RUNNING, "ann", None, NOW)
            await delivered(ctx)
    assert len(postal.requests) == 1


async def test_letter_of_unknown_fate_goes_once_more_on_a_persons_word_and_only_once(
    tmp_path: Path, store: Store
) -> None:
    answers = [b"", b"", response(200, SENT)]
    async with serving(lambda _: answers.pop(0)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store)
        for approval in (None, None, "apr_1", "apr_1"):
            with pytest.raises(PersonMustSay, match="may or may not have arrived"):
                await send(ctx._replace(repeated_by=approval), **LETTER)
        assert len(postal.requests) == 2
        assert "m-1@postal" in (await send(ctx._replace(repeated_by="apr_2"), **LETTER)).content
        assert "m-1@postal" in (await send(ctx._replace(repeated_by="apr_3"), **LETTER)).content
    assert len(postal.requests) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (response(200, {"status": "parameter-error", "data": {"message": "no such\n domain"}}), "no such domain"),
        (response(200, {"status": "error", "data": {"code": "UnauthenticatedFromAddress"}}), "Unauthenticated"),
        (response(200, {"status": "error"}), "no reason given"),
        (response(401, {}), "POSTAL_API_KEY"),
        (response(404, ""), "status 404"),
    ],
)
async def test_refusal_means_that_nothing_was_sent(tmp_path: Path, store: Store, answer: bytes, message: str) -> None:
    async with serving(lambda _: answer) as postal:
        with pytest.raises(ToolError, match=message) as caught:
            await send(mailing(tmp_path, postal.url, store=store), **LETTER)
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
async def test_without_a_clear_answer_the_outcome_is_unknown(tmp_path: Path, store: Store, answer: bytes) -> None:
    async with serving(lambda _: answer) as postal:
        with pytest.raises(OutcomeUnknown, match=r"is not known, its Message-ID is <") as caught:
            await send(mailing(tmp_path, postal.url, store=store), **LETTER)
    assert not isinstance(caught.value, ToolError)
    assert len(postal.requests) == 1


async def test_unreachable_server_is_tried_again_later(tmp_path: Path, store: Store) -> None:
    async with serving(lambda _: b"") as gone:
        url = gone.url
    ctx = mailing(tmp_path, url, store=store)
    async with carried(ctx):
        assert "cannot be reached" in (await put_off(ctx, **LETTER)).content
    assert ((await letter(ctx)).status, (await letter(ctx)).attempts) == ("pending", 1)


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
    tmp_path: Path, store: Store, changes: dict[str, Any], message: str
) -> None:
    async with serving(lambda _: response(200, SENT)) as postal:
        with pytest.raises(ToolError, match=message):
            await send(mailing(tmp_path, postal.url, store=store), **{**LETTER, **changes})
    assert postal.requests == []


async def test_missing_file_and_too_large_files_are_refused(tmp_path: Path, store: Store) -> None:
    workspace = Workspaces(tmp_path, store).of(PROJECT, "run_1")
    await workspace.write("half", b"x" * (6 * 1024 * 1024))
    await workspace.write("other", b"x" * (6 * 1024 * 1024))
    async with serving(lambda _: response(200, SENT)) as postal:
        ctx = mailing(tmp_path, postal.url, store=store, workspace=workspace)
        with pytest.raises(ToolError, match="there is no file `none`"):
            await send(ctx, **LETTER, attachments=["none"])
        with pytest.raises(ToolError, match="larger than"):
            await send(ctx, **LETTER, attachments=["half", "other"])
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
async def test_what_is_not_set_up_is_named(
    tmp_path: Path, store: Store, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        await send(context(tmp_path, store=store, settings=settings), **LETTER)


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
