"""Reading files that people name: never more bytes than wanted, and only regular files; their content is not judged."""

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """The first `most` + 1 bytes of a file, so that one that is longer can be told.

    Raises OSError; also for a pipe or a device, which might never end.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a file")
        return opened.read(most + 1)


def listed(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The entries of a folder with one of these suffixes, in order; without those of hidden names that are no files.

    INVARIANT: what should be a file and is none, such as a link that leads nowhere, is in it, so that it is refused:
    passed over, it would bring back what it replaces. Editors leave such links under hidden names.

    Raises OSError.
    """
    found = (path for path in folder.iterdir() if path.suffix in suffixes)
    return sorted(path for path in found if not path.name.startswith(".") or path.is_file())
