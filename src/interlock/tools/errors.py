"""What a tool may raise; what becomes of it is decided by `execute`."""

from interlock.core.errors import InterlockError


class ToolError(InterlockError):
    """A failure that the model is told about, in one line: nothing happened, and it may try something else.

    Source: row G6.
    """


class OutcomeUnknown(InterlockError):
    """The effect may or may not have happened, and only a person can find out.

    Never a ToolError, so that whoever handles failures cannot take it for one. Source: row E9.
    """
