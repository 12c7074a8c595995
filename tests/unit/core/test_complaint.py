"""What a loop complains of is said when it begins and when it changes."""

import logging

import pytest

from interlock.core.complaint import Complaint


def test_trouble_is_logged_once_until_it_changes_or_is_over(caplog: pytest.LogCaptureFixture) -> None:
    complaint = Complaint(logging.getLogger("a loop"))
    for trouble in ("refused", "refused", "starting up", "starting up"):
        complaint.say("it waits: %s", trouble)
    complaint.over()
    complaint.say("it waits: %s", "starting up")
    assert caplog.messages == ["it waits: refused", "it waits: starting up", "it waits: starting up"]
