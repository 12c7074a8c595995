"""The policy in force, which can be replaced while the process runs."""

from interlock.policy.rules import Policy


class InForce:
    """Holds the current policy, which is read once for each decision; policies themselves are immutable."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        """INVARIANT: replaced as a whole, in one assignment, so that no decision is made by parts of two."""
