"""What the log says while a home is open: one record a line, whatever is in it."""

import logging

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
