"""Writes files for the person at the terminal; what is in them is up to the commands."""

import os
import secrets
import shutil
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Writes a new file that only its owner can read; if that fails, no file is left.

    Raises UsageError if the file exists or cannot be written.
    """
    from interlock.core.errors import UsageError

    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(opened, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            path.unlink()
            raise
    except FileExistsError as error:
        raise UsageError(f"`{path}` exists already: name another file") from error
    except OSError as error:
        raise UsageError(f"cannot write `{path}`: {(error.strerror or str(error)).lower()}") from error


def write_over(path: Path, content: bytes) -> None:
    """Writes a file, replacing an existing one; if that fails, the existing one is unchanged.

    Raises InterlockError if it cannot be written.
    """
    from interlock.core.errors import InterlockError

    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise InterlockError(f"cannot write `{path}`: {(error.strerror or str(error)).lower()}") from error


def _replace(target: Path, content: bytes) -> None:
    draft = target.with_name(f".{secrets.token_hex(6)}.unfinished")
    try:
        draft.write_bytes(content)
        if target.exists():
            shutil.copymode(target, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
