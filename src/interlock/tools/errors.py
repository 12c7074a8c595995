"""What a tool may raise; what becomes of it is decided by `execute`."""

from interlock.core.errors import InterlockError


class ToolError(InterlockError):
    """A failure that the model is told about, in one line: nothing happened, and it may try something else.

    Source: row G6.
    """


class NotNow(ToolError):
    """Nothing happened, and the same may work later; not before `seconds` from now, where the service said so."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        self.seconds = seconds
        super().__init__(why)


class OutcomeUnknown(InterlockError):
    """The effect may or may not have happened, and only a person can find out.

    Never a ToolError, so that whoever handles failures cannot take it for one. Source: row E9.
    """


class PersonMustSay(OutcomeUnknown):
    """The same of a call that may be made again as such: making it again would not tell."""
