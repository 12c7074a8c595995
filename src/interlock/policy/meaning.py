"""What the arguments of a call mean: commands, statements, addresses, recipients, amounts.

What follows for the call is `decide`'s.
"""

from collections.abc import Iterable

from interlock.policy.calls import Call, Raised
from interlock.policy.rules import Policy


def findings(call: Call, policy: Policy) -> Iterable[Raised]:
    """What raises the risk of a call by its meaning."""
    return ()
