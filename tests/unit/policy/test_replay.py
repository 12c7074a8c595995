"""Other decisions on recorded calls: how they are counted and told."""

from datetime import UTC, datetime

import pytest

from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.as_code.replay import MOST_LISTED, Kind, Recorded, Replay
from interlock.policy.calls import Call, Caller
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy

RULES = policy_from(
    "version: 1\nbase: {easy: GREEN, middling: YELLOW}\nrules: [{id: r, tools: [hard], risk: RED}]\n"
    "deny: [{id: d, tools: [never]}]\n",
    "p.yaml",
)


def recorded(
    tool: str, risk: str, effect: str, trust: Trust = Trust.SPECIALIST, reasons: tuple[str, ...] = ()
) -> Recorded:
    return Recorded(
        id="tcl_1", at=datetime(2026, 1, 1, tzinfo=UTC), run_id="run_1", mission_id=None, call=Call(tool=tool),
        who=Caller(trust=trust), risk=Risk(risk), effect=Effect(effect), reasons=reasons, policy_hash="old",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (recorded("easy", "GREEN", "allow"), None),
        (recorded("easy", "RED", "hold"), Kind.FEWER_QUESTIONS),
        (recorded("easy", "RED", "deny"), Kind.NO_LONGER_DENIED),
        (recorded("easy", "YELLOW", "allow"), Kind.OTHER_RISK),
        (recorded("hard", "YELLOW", "allow"), Kind.NEWLY_HELD),
        (recorded("hard", "RED", "deny"), Kind.NO_LONGER_DENIED),
        (recorded("never", "YELLOW", "allow"), Kind.NEWLY_DENIED),
        (recorded("never", "RED", "hold"), Kind.NEWLY_DENIED),
        (recorded("middling", "YELLOW", "allow", Trust.INTERN), Kind.NEWLY_HELD),
        (recorded("middling", "YELLOW", "allow", Trust.INTERN, ("allowed by grant `grn_1`",)), None),
    ],
)
def test_another_decision_has_a_kind(before: Recorded, kind: Kind | None) -> None:
    done = Replay(RULES)
    done.take(before)
    assert [change.kind for change in done.changes] == ([kind] if kind else [])


def test_the_summary_is_one_line() -> None:
    done = Replay(RULES)
    for _ in range(17):
        done.take(recorded("easy", "YELLOW", "hold", Trust.INTERN))
    for _ in range(2):
        done.take(recorded("hard", "YELLOW", "allow"))
    assert done.summary == "17 fewer questions, 2 newly held, 0 newly denied (of 19 calls)"
    done.take(recorded("easy", "RED", "deny"))
    done.take(recorded("easy", "YELLOW", "allow"))
    assert done.summary.endswith("0 newly denied, 1 no longer denied, 1 of another risk (of 21 calls)")


def test_no_more_changes_are_kept_than_can_be_read() -> None:
    done = Replay(Policy.builtin())
    for _ in range(MOST_LISTED + 5):
        done.take(recorded("send_sms", "YELLOW", "allow"))
    assert (len(done.changes), done.unlisted, done.counts[Kind.NEWLY_HELD]) == (MOST_LISTED, 5, MOST_LISTED + 5)
