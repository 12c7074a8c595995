"""send_email by SMTP: a real server, and one that breaks off at any moment."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.upkeep import migrate
from interlock.tools.contract import ToolContext
from interlock.tools.errors import OutcomeUnknown, ToolError
from tests.integration.tools.mailing import called, carried, delivered, letter, put_off, send
from tests.tool_calls import NOW, PROJECT, context

PASSWORD = "s3cret-pass"
LETTER: dict[str, Any] = {
    "to": ["ann@example.com"], "cc": ["bob@example.com"], "subject": "Grüße", "body": "Hi.\n.\nBye.\n"
}  # fmt: skip


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    await migrate.upgrade(sqlite_url)
    async with Store(sqlite_url) as opened:
        await opened.write(squad.ensure_project, PROJECT, "UTC", NOW)
        yield opened


class Mailbox:
    """What the real server took in; `refused` addresses are turned away."""

    def __init__(self, refused: str = "", verdict: str = "250 OK queued as 42") -> None:
        self.letters: list[Envelope] = []
        self.refused, self.verdict = refused, verdict

    async def handle_RCPT(  # noqa: N802 (the server's name for it)
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refused:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.verdict.startswith("2"):
            self.letters.append(envelope)
        return self.verdict


@contextlib.asynccontextmanager
async def mail_server(mailbox: Mailbox, **options: Any) -> AsyncIterator[int]:
    """A real SMTP server on a free port."""
    loop = asyncio.get_running_loop()
    sessions: list[SMTP] = []

    def accept() -> SMTP:
        sessions.append(SMTP(mailbox, hostname="localhost", loop=loop, **options))
        return sessions[-1]

    server = await loop.create_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for each in sessions:
            if isinstance(each.transport, asyncio.Transport):
                each.transport.abort()


def mailing(home: Path, store: Store, port: int, token: str = "t", **smtp: Any) -> ToolContext:
    settings = {"host": "127.0.0.1", "port": port, "starttls": False, "sender": "Ops <ops@example.com>", **smtp}
    return context(home, store=store, settings={"smtp": settings}, idempotency_token=token)


async def test_message_arrives_whole_at_everyone(tmp_path: Path, store: Store) -> None:
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        outcome = await send(mailing(tmp_path, store, port), **LETTER)
    (envelope,) = mailbox.letters
    assert envelope.mail_from == "ops@example.com"
    assert envelope.rcpt_tos == ["ann@example.com", "bob@example.com"]
    assert isinstance(envelope.content, bytes)
    message = message_from_bytes(envelope.content, policy=default)
    assert (message["From"], message["To"], message["Cc"], message["Subject"]) == (
        "Ops <ops@example.com>", "ann@example.com", "bob@example.com", "Grüße",
    )  # fmt: skip
    assert message.get_content().splitlines() == ["Hi.", ".", "Bye."]
    assert message["Message-ID"] in outcome.content
    assert "queued as 42" in outcome.content


async def test_login_is_made_with_the_configured_user(tmp_path: Path, store: Store) -> None:
    seen: list[tuple[bytes, bytes]] = []

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        seen.append((data.login, data.password))
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

    mailbox = Mailbox()
    async with mail_server(mailbox, authenticator=check, auth_require_tls=False) as port:
        await send(mailing(tmp_path, store, port, username="ops", password=PASSWORD), **LETTER)
        assert seen == [(b"ops", PASSWORD.encode())]
        with pytest.raises(ToolError, match=r"refused the login \(535\)") as caught:
            await send(mailing(tmp_path, store, port, username="ops", password="wrong-pass", token="t2"), **LETTER)
    assert "wrong-pass" not in str(caught.value)
    assert len(mailbox.letters) == 1


async def test_one_refused_recipient_stops_the_whole_message(tmp_path: Path, store: Store) -> None:
    mailbox = Mailbox(refused="bob@example.com")
    async with mail_server(mailbox) as port:
        with pytest.raises(ToolError, match=r"refuses `bob@example\.com`: 550 no such user: nobody got the message"):
            await send(mailing(tmp_path, store, port), **LETTER)
    assert mailbox.letters == []


async def test_refused_message_was_not_sent(tmp_path: Path, store: Store) -> None:
    async with mail_server(Mailbox(verdict="554 spam")) as port:
        with pytest.raises(ToolError, match="refused the message: 554 spam: nobody got it"):
            await send(mailing(tmp_path, store, port), **LETTER)


async def test_message_that_the_server_wants_later_is_sent_later(tmp_path: Path, store: Store) -> None:
    mailbox = Mailbox(verdict="451 try later")
    async with mail_server(mailbox) as port:
        ctx = mailing(tmp_path, store, port)
        async with carried(ctx) as desk:
            assert "451 try later: nobody got it" in (await put_off(ctx, **LETTER)).content
            mailbox.verdict = "250 OK queued as 43"
            desk.time.advance(1)
            await delivered(ctx)
        assert "queued as 43" in (await called(ctx, **LETTER)).content
    assert len(mailbox.letters) == 1


async def test_password_is_not_sent_in_clear_over_the_network(tmp_path: Path, store: Store) -> None:
    ctx = mailing(tmp_path, store, 25, host="mail.example.com", username="ops", password=PASSWORD)
    with pytest.raises(ToolError, match="INTERLOCK_SMTP__STARTTLS=true"):
        await send(ctx, **LETTER)


async def test_server_without_tls_gets_nothing_where_tls_is_wanted(tmp_path: Path, store: Store) -> None:
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        with pytest.raises(ToolError, match="STARTTLS"):
            await send(mailing(tmp_path, store, port, starttls=True), **LETTER)
    assert mailbox.letters == []


async def test_unreachable_server_is_tried_again_later(tmp_path: Path, store: Store) -> None:
    async with mail_server(Mailbox()) as port:
        pass
    ctx = mailing(tmp_path, store, port)
    async with carried(ctx):
        told = (await put_off(ctx, **LETTER)).content
    assert re.search(r"the mail server cannot be used: .*: nothing was sent", told)
    assert (await letter(ctx)).status == "pending"


@contextlib.asynccontextmanager
async def breaking_off(at: bytes, last_words: bytes = b"") -> AsyncIterator[int]:
    """A server that agrees to everything and closes when a line begins with `at`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(b"" if at == b"connect" else b"220 hello\r\n")
            in_data = False
            while at != b"connect" and (line := await reader.readline()):
                if line.startswith(at):
                    writer.write(last_words)
                    break
                in_data = (in_data or line == b"DATA\r\n") and line != b".\r\n"
                if line == b"DATA\r\n":
                    writer.write(b"354 go on\r\n")
                elif not in_data:
                    writer.write(b"250 OK\r\n")
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.mark.parametrize("at", [b"connect", b"EHLO", b"MAIL", b"RCPT TO:<ann", b"RCPT TO:<bob"])
async def test_connection_lost_before_the_message_means_that_it_is_tried_again(
    tmp_path: Path, store: Store, at: bytes
) -> None:
    async with breaking_off(at) as port:
        ctx = mailing(tmp_path, store, port)
        async with carried(ctx):
            assert "nothing was sent" in (await put_off(ctx, **LETTER)).content
        assert (await letter(ctx)).status == "pending"


@pytest.mark.parametrize(
    ("at", "last_words"), [(b".\r\n", b""), (b"Subject", b""), (b".\r\n", b"what?\r\n"), (b".\r\n", b"299 maybe\r\n")]
)
async def test_connection_lost_with_the_message_leaves_the_outcome_unknown(
    tmp_path: Path, store: Store, at: bytes, last_words: bytes
) -> None:
    async with breaking_off(at, last_words) as port:
        with pytest.raises(OutcomeUnknown, match=r"2 recipient\(s\) get it is not known, its Message-ID is <"):
            await send(mailing(tmp_path, store, port), **LETTER)


async def test_connection_lost_after_the_receipt_does_not_matter(tmp_path: Path, store: Store) -> None:
    async with breaking_off(b"QUIT") as port:
        outcome = await send(mailing(tmp_path, store, port), **LETTER)
    assert '"sent_to":["ann@example.com","bob@example.com"]' in outcome.content
