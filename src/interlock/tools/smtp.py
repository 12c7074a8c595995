"""Sends a letter by SMTP, distinguishing messages that certainly were not sent from those that may have been."""

import asyncio
import contextlib
import ipaddress
import re
import socket
import ssl

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPResponseException,
    SMTPServerDisconnected,
    SMTPTimeoutError,
)

from interlock.settings import SmtpSettings
from interlock.tools.email_message import Letter
from interlock.tools.errors import NotNow, OutcomeUnknown, ToolError

TIMEOUT_S = 45.0
QUIT_S = 2.0
IMPLICIT_TLS_PORT = 465
_HOST = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")


async def send_by_smtp(settings: SmtpSettings, letter: Letter) -> str:
    """Sends the letter, to all recipients or none; returns the server's receipt.

    Raises ToolError if nothing was sent, NotNow if a later attempt may succeed, OutcomeUnknown if the connection was
    lost during transmission.
    """
    client, message = _client(settings), letter.mime()
    is_handed_over = False
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await client.connect()
            await client.mail(letter.from_address)
            for recipient in letter.recipients:
                await client.rcpt(recipient)
            is_handed_over = True
            receipt = (await client.data(message)).message
    except (SMTPException, OSError, TimeoutError, ValueError) as error:
        raise _failure(error, letter, is_handed_over) from error
    else:
        with contextlib.suppress(SMTPException, OSError, TimeoutError):
            await client.quit(timeout=QUIT_S)
        return _line(receipt)
    finally:
        client.close()


def _client(settings: SmtpSettings) -> SMTP:
    host = settings.host or ""
    at_once = settings.port == IMPLICIT_TLS_PORT
    if settings.username is not None and not (at_once or settings.starttls or _is_local(host)):
        raise ToolError("the password would be sent in clear: the operator must set INTERLOCK_SMTP__STARTTLS=true")
    password = settings.password.get_secret_value() if settings.password is not None else None
    return SMTP(
        hostname=host,
        port=settings.port,
        username=settings.username,
        password=password if settings.username is not None else None,
        use_tls=at_once,
        start_tls=settings.starttls and not at_once,
        local_hostname=_own_name(),
        timeout=TIMEOUT_S,
    )


def _failure(error: Exception, letter: Letter, is_handed_over: bool) -> Exception:
    fault = NotNow if _may_pass(error) else ToolError
    if isinstance(error, SMTPDataError) and 400 <= error.code < 600:
        return fault(f"the mail server refused the message: {_reply(error)}: nobody got it")
    if is_handed_over:
        return OutcomeUnknown(
            f"the mail server did not confirm the message ({_cause(error)}): whether {len(letter.recipients)} "
            f"recipient(s) get it is not known, its Message-ID is {letter.message_id}"
        )
    if isinstance(error, SMTPAuthenticationError):
        return ToolError(
            f"the mail server refused the login ({error.code}): the operator must check INTERLOCK_SMTP__USERNAME and "
            "INTERLOCK_SMTP__PASSWORD, nothing was sent"
        )
    if isinstance(error, SMTPRecipientRefused):
        return fault(f"the mail server refuses `{error.recipient}`: {_reply(error)}: nobody got the message")
    cause = _reply(error) if isinstance(error, SMTPResponseException) else _cause(error)
    return fault(f"the mail server cannot be used: {cause}: nothing was sent")


def _may_pass(error: Exception) -> bool:
    """Whether the same letter may be accepted later: a temporary failure, or no server was reached."""
    if isinstance(error, SMTPResponseException):
        return 400 <= error.code < 500
    if isinstance(error, ssl.SSLError) or isinstance(error.__cause__, ssl.SSLError):
        return False
    return isinstance(error, OSError | TimeoutError | SMTPServerDisconnected | SMTPConnectError | SMTPTimeoutError)


def _reply(error: SMTPResponseException) -> str:
    return f"{error.code} {_line(error.message)}".strip()


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT_S:g} s"
    return _line(str(error)) or type(error).__name__


def _line(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(shown.split())[:200]


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_name() -> str:
    name = socket.gethostname()
    return name if _HOST.fullmatch(name) else "[127.0.0.1]"
