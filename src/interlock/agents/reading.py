"""Reading files that people name: never more bytes than wanted, and only regular files; their content is not judged."""

import errno
import os
import stat
from pathlib import Path


def read_bounded(path: Path, most: int) -> bytes:
    """The first `most` + 1 bytes of a file, so that one that is longer can be told.

    Raises OSError; also for a pipe or a device, which might never end.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is not a file")
        return opened.read(most + 1)
