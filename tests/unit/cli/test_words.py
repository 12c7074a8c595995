"""What progress says of an activity, which times can be typed, and what a person may type as arguments."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from interlock.cli.running import moment
from interlock.cli.watching import activity_text
from interlock.core.errors import UsageError
from interlock.desk.signoff.typed_arguments import parsed as arguments

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=1)))


def activity(action: str, **data: Any) -> dict[str, Any]:
    return {"action": action, "data": data, "subject": "apr_1", "actor_kind": "system", "actor_id": "system:x"}


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (activity("TASK_TRANSITION", to="DONE", title="Write it", reason="r"), "DONE            Write it"),
        (
            activity("TASK_TRANSITION", to="BLOCKED", title="Write it", reason="no\nluck"),
            "BLOCKED         Write it  (no luck)",
        ),
        (
            activity("APPROVAL_ASKED", risk="RED", tool="send_email", kind="TOOL_CALL"),
            "held            RED send_email waits for a person: interlock approve apr_1",
        ),
        (activity("APPROVAL_ANSWERED", verdict="deny", name="Ada", note="no"), "denied          by Ada: no"),
        (activity("APPROVAL_ANSWERED", verdict="approve"), "approved        by the policy"),
        (activity("COORDINATOR_DECISION", decision="plan", reason="why"), "decided         plan: why"),
        (activity("SOMETHING_ELSE"), None),
    ],
)
def test_an_activity_is_told_in_one_line_or_left_to_the_log(happened: dict[str, Any], words: str | None) -> None:
    assert activity_text(happened) == words


def test_an_activity_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in str(activity_text(activity("TASK_TRANSITION", to="DONE", title="\x1b[2J", reason="")))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("30m", datetime(2026, 11, 21, 11, 30, tzinfo=UTC)),
        ("1.5 h", datetime(2026, 11, 21, 12, 30, tzinfo=UTC)),
        ("2d", datetime(2026, 11, 23, 11, 0, tzinfo=UTC)),
        ("2026-12-24T18:00", datetime(2026, 12, 24, 17, 0, tzinfo=UTC)),
        ("2026-12-24T18:00+00:00", datetime(2026, 12, 24, 18, 0, tzinfo=UTC)),
    ],
)
def test_a_deadline_is_a_span_or_a_time_in_the_local_zone(text: str, when: datetime) -> None:
    assert moment(text, NOW) == when


@pytest.mark.parametrize(
    "text",
    ["", "soon", "30 parsecs", "99999999999999d", "2026-13-01", "0001-01-01", "9999-12-31T23:59-10:00"],
)
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time: write 30m"):
        moment(text, NOW)


@pytest.mark.parametrize("text", ["", "{", "[1]", '"a"', "[" * 100_000])
def test_arguments_are_a_json_object(text: str) -> None:
    with pytest.raises(UsageError, match=r"the arguments (are not|nest too deep)"):
        arguments(text)
