"""What the log says while a home is open: one record a line, whatever is in it."""

import logging
from typing import Any

import pytest

from interlock.app.log_masking import discreet

CALLED = "x\n2026-11-23 interlock: all approved\x1b[2J\u202e"
SHOWN = r"x\n2026-11-23 interlock: all approved\x1b[2J\u202e"


def test_a_record_of_ours_is_one_line_that_steers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with discreet(str):
        logging.getLogger("interlock.worker").warning("a child process was ended: %s", CALLED)
        logging.getLogger("a.host").warning("of my own: %s", "a\nb")
        try:
            raise ValueError(CALLED)
        except ValueError:
            logging.getLogger("interlock.desk").exception("it failed")
    assert caplog.messages == [f"a child process was ended: {SHOWN}", "of my own: a\nb", "it failed"]
    assert "\x1b" not in caplog.text
    assert "\u202e" not in caplog.text


def test_records_are_made_as_before_once_the_home_is_closed() -> None:
    before = logging.getLogRecordFactory()
    with discreet(str):
        assert logging.getLogRecordFactory() is not before
    assert logging.getLogRecordFactory() is before


def test_factory_that_a_host_has_set_meanwhile_stays_and_masks_nothing_afterwards() -> None:
    before = logging.getLogRecordFactory()

    def mask(_: str) -> str:
        return "masked"

    try:
        with discreet(mask):
            ours = logging.getLogRecordFactory()

            def hosts(*args: Any, **kwargs: Any) -> logging.LogRecord:
                return ours(*args, **kwargs)

            logging.setLogRecordFactory(hosts)
            record = hosts("a.host", logging.INFO, "path", 1, "as it is", (), None)
            assert record.getMessage() == "masked"
        assert logging.getLogRecordFactory() is hosts
        assert hosts("a.host", logging.INFO, "path", 1, "as it is", (), None).getMessage() == "as it is"
    finally:
        logging.setLogRecordFactory(before)
