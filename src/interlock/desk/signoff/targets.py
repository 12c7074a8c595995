"""What a button of a card answers: a question, and how: `ID`, `ID:SCOPE` of a grant, `ID:MARK` of an edited call or of
a batch.
"""

from dataclasses import dataclass

from interlock.desk.signoff import grants
from interlock.store.signoff.approvals import EDITED


@dataclass(frozen=True, slots=True)
class Target:
    """A question, with at most one of the three others."""

    ident: str
    grant: str | None = None
    """The scope of a grant that is given with the approval."""
    mark: str | None = None
    """The mark of the edited call that was shown."""
    batch: str | None = None
    """The mark of the questions that were shown together; `signing.batch_ids` has them."""

    @classmethod
    def of(cls, text: str) -> "Target":
        """The target that a button's text means."""
        ident, _, what = text.partition(":")
        if not what:
            return cls(ident)
        if what.startswith(EDITED):
            return cls(ident, mark=what)
        return cls(ident, grant=what) if what in grants.SCOPES else cls(ident, batch=what)
