"""Reads files that people name: regular files only, and no more than a number of bytes; content is not checked."""

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """The first `most` + 1 bytes of a file, so that a longer one can be recognised.

    Raises OSError, also for pipes and devices, which might never end.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a file")
        return opened.read(most + 1)


def listed(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The entries of a folder with one of these suffixes, in order; hidden ones only if they are files.

    INVARIANT: an entry that should be a file and is not, such as a dangling link, is included, so that it is refused:
    if it were ignored, what it replaces would apply again. (Editors leave dangling links under hidden names.)

    Raises OSError.
    """
    found = (path for path in folder.iterdir() if path.suffix in suffixes)
    return sorted(path for path in found if not path.name.startswith(".") or path.is_file())
