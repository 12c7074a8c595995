"""Errors that a tool may raise; `execute` handles them."""

from interlock.core.errors import InterlockError


class ToolError(InterlockError):
    """A failure reported to the model in one line: nothing happened, and it may try something else.

    Source: row G6.
    """


class NotNow(ToolError):
    """Nothing happened, and the same call may succeed later; not before `seconds` from now, if the service said so."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        self.seconds = seconds
        super().__init__(why)


class OutcomeUnknown(InterlockError):
    """The effect may or may not have happened, and only a person can find out.

    Not a ToolError, so that no handler of failures catches it. Source: row E9.
    """


class PersonMustSay(OutcomeUnknown):
    """The same for a call that could be repeated safely, but whose repetition would not reveal the outcome."""
