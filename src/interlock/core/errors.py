"""The root of everything Interlock raises, and what the layers share; a layer's own errors live beside their raiser."""


class InterlockError(Exception):
    """A failure with a one-line message that says what to do next.

    Messages are lower case without a full stop, with user input in backticks. `exit_code` is what the
    command line ends with when this error reaches it (1 failed, 2 usage, 3 waits for a person, 4 stopped
    by a budget or a control).
    """

    exit_code = 1


class UsageError(InterlockError):
    """The caller asked for something that cannot be: an empty goal, an unknown option value."""

    exit_code = 2


class ConfigError(InterlockError):
    """One or more faults in files or settings, each as `file:line: problem`."""

    exit_code = 2

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def placed(fault: str) -> dict[str, str | int | None]:
    """A fault split into `file`, `line` and `problem`; `file` and `line` are None if it names none."""
    file, _, rest = fault.partition(":")
    line, _, problem = rest.partition(": ")
    if not line.isdecimal():
        return {"file": None, "line": None, "problem": fault}
    return {"file": file, "line": int(line), "problem": problem}


class NotFound(InterlockError):
    """Nothing has that id or name; one that cannot be an id or a name at all is a UsageError.

    `listing` is the command that lists what there is, where it is not the plural of the kind. `message` replaces the
    usual message.
    """

    def __init__(self, kind: str, ident: str, listing: str | None = None, *, message: str | None = None) -> None:
        self.kind, self.ident = kind, ident
        super().__init__(message or f"no {kind} `{ident}`: `interlock {listing or f'{kind}s'}` lists what there is")


class Conflict(InterlockError):
    """Somebody else was first, or the row is no longer in the state the caller saw."""


class Refused(InterlockError):
    """The actor may not do this."""
