"""E-mail as a surface of the outbox: hands stored e-mails to the configured mail server.

E-mails are never retried automatically, since mail servers cannot tell afterwards whether one was accepted.
"""

from typing import Any

from interlock.integrations.contract import DeliveryUnknown, Later, Message, Undeliverable
from interlock.settings import Settings
from interlock.store import blobs
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.tools.email_message import Letter
from interlock.tools.errors import NotNow, OutcomeUnknown, ToolError
from interlock.tools.postal import send_by_postal
from interlock.tools.smtp import send_by_smtp


class Mail:
    """Sends e-mails by Postal if that is configured, else by SMTP."""

    surface = "email"
    repeats = False

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store

    @staticmethod
    def is_set_up(settings: Settings) -> bool:
        """Whether a mail server is configured."""
        return settings.postal.base_url is not None or settings.smtp.host is not None

    async def post(self, message: Message) -> str:
        """Submits the e-mail for all its recipients or for none; returns the server's receipt.

        Raises Later, Undeliverable, DeliveryUnknown.
        """
        letter = Letter.from_json(message.payload, await self.store.read(_files, message.payload["attachments"]))
        try:
            if self.settings.postal.base_url is not None:
                return await send_by_postal(self.settings.postal, letter)
            return await send_by_smtp(self.settings.smtp, letter)
        except NotNow as error:
            raise Later(str(error), error.seconds) from error
        except ToolError as error:
            raise Undeliverable(str(error)) from error
        except OutcomeUnknown as error:
            raise DeliveryUnknown(str(error)) from error

    async def edit(self, message: Message) -> None:
        """Does nothing: a sent e-mail cannot be edited."""

    async def find(self, message: Message) -> str | None:
        """None: mail servers cannot be asked."""
        return None

    async def close(self) -> None:
        """Does nothing: no connections are kept."""


def _files(tx: Tx, attached: list[dict[str, Any]]) -> dict[str, bytes]:
    found = {each["blob"]: blobs.get(tx, each["blob"]) for each in attached}
    if missing := [name for name, data in found.items() if data is None]:
        raise Undeliverable(f"the attachment with the digest {missing[0][:12]} is not in the database any more")
    return {name: data for name, data in found.items() if data is not None}
