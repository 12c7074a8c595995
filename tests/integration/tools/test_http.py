"""Time limits of an exchange with an outside service."""

import pytest

from interlock.tools.http import NoAnswer, exchange
from tests.integration.tools.http_stub import serving


async def test_service_that_never_answers_is_given_up() -> None:
    async with serving(lambda _: None) as stub:
        with pytest.raises(NoAnswer, match=r"the service did not answer within 0\.1 s"):
            await exchange("the service", "GET", stub.url, headers={}, timeout_s=0.1, most_bytes=10)


async def test_service_that_drips_is_given_up() -> None:
    endless = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nx"
    async with serving(lambda _: endless) as stub:
        with pytest.raises(NoAnswer):
            await exchange("the service", "GET", stub.url, headers={}, timeout_s=5, most_bytes=1_000_000)
