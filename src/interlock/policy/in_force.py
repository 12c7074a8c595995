"""The policy that decisions are made by from now on; who changes it, and why, is not known here."""

from interlock.policy.rules import Policy


class InForce:
    """Holds one policy at a time. Whoever decides reads it once for each decision; policies themselves never change."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        """INVARIANT: replaced as a whole, in one assignment, so that no decision is made by parts of two."""
