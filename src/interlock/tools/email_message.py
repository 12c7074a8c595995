"""An e-mail before it is sent: addresses are validated, and header injection is prevented.

Delivery is in `smtp` and `postal`.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr, parseaddr
from typing import Any

from interlock.core.values import digest
from interlock.tools.errors import ToolError

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_NAMED = re.compile(r"([^<>]*)<([^<>]*)>")
_BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to send along: its name, media type and bytes."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message ready to send. `token` is the same for each attempt to send it, and so is its Message-ID. Row E9."""

    sender: str
    """For the From header, optionally with a name."""
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    body: str
    attachments: tuple[Attachment, ...]
    token: str
    written_at: datetime

    @property
    def from_address(self) -> str:
        """The sender's bare address."""
        return parseaddr(self.sender)[1]

    @property
    def recipients(self) -> tuple[str, ...]:
        """All recipients, each once."""
        return tuple(dict.fromkeys((*self.to, *self.cc)))

    @property
    def message_id(self) -> str:
        """Derived from the token, so that duplicates can be recognised."""
        return f"<{digest(self.token)[:32]}@{self.from_address.partition('@')[2]}>"

    @property
    def headers(self) -> dict[str, str]:
        """Headers that identify this message as the one of this call, for every transport."""
        return {"Message-ID": self.message_id, "X-Interlock-Idempotency": digest(self.token)}

    def to_json(self) -> dict[str, Any]:
        """The letter as stored, with attachments by digest."""
        attached = [{"name": a.name, "media_type": a.media_type, "blob": digest(a.data)} for a in self.attachments]
        return {
            "sender": self.sender, "to": list(self.to), "cc": list(self.cc), "subject": self.subject,
            "body": self.body, "attachments": attached, "token": self.token, "written_at": self.written_at.isoformat(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], blobs: Mapping[str, bytes]) -> "Letter":
        """The letter that `to_json` serialised; `blobs` maps digests to attachments."""
        return cls(
            sender=kept["sender"], to=tuple(kept["to"]), cc=tuple(kept["cc"]), subject=kept["subject"],
            body=kept["body"], token=kept["token"], written_at=datetime.fromisoformat(kept["written_at"]),
            attachments=tuple(Attachment(a["name"], a["media_type"], blobs[a["blob"]]) for a in kept["attachments"]),
        )  # fmt: skip

    def mime(self) -> bytes:
        """The complete message with CRLF line ends."""
        message = EmailMessage(policy=SMTP)
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        if self.cc:
            message["Cc"] = ", ".join(self.cc)
        message["Subject"] = self.subject
        message["Date"] = format_datetime(self.written_at)
        for name, value in self.headers.items():
            message[name] = value
        message.set_content(self.body)
        for each in self.attachments:
            kind, _, subtype = each.media_type.partition("/")
            message.add_attachment(each.data, maintype=kind, subtype=subtype, filename=each.name)
        return message.as_bytes()


def address(text: str) -> str:
    """A bare address such as `ann@example.com`, its domain in ASCII.

    Raises ToolError for anything else: a name beside it, two addresses, a domain without a dot.
    """
    local, at, domain = text.rpartition("@")
    try:
        domain = domain.encode("idna").decode()
    except UnicodeError:
        domain = ""
    labels = domain.split(".")
    valid = at and _LOCAL.fullmatch(local) and len(labels) > 1 and all(map(_LABEL.fullmatch, labels))
    if not valid or len(local) > 64 or len(local) + len(domain) > 253:
        shown = "".join(c if c.isprintable() else "\ufffd" for c in text[:100])
        raise ToolError(f"`{shown}` is not an e-mail address: give it bare, such as `ann@example.com`")
    return f"{local}@{domain}"


def sender(text: str, setting: str) -> str:
    """A configured sender, with or without a name: `Interlock <ops@example.com>`.

    Raises ToolError that names the setting.
    """
    named = _NAMED.fullmatch(text.strip())
    name, found = (named[1].strip(' "'), named[2]) if named else ("", text.strip())
    try:
        return formataddr((one_line(name), address(found)))
    except ToolError as error:
        raise ToolError(f"the sender is not an e-mail address: the operator must check {setting}") from error


def one_line(text: str) -> str:
    """The text, if it has no line breaks or control characters.

    Raises ToolError otherwise, so that no text can add a header.
    """
    if any(unicodedata.category(c) in _BREAKS for c in text):
        raise ToolError("the subject holds a line break or a control character: use one plain line")
    return text
