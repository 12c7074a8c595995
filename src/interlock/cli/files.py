"""Files that commands write for the person who typed them; the commands decide what is in them."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Writes a new file that only its owner can read.

    Raises UsageError if the file is there already or cannot be written.
    """
    from interlock.core.errors import UsageError

    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists already: name another file") from error
    except OSError as error:
        raise UsageError(f"cannot write `{path}`: {(error.strerror or str(error)).lower()}") from error
