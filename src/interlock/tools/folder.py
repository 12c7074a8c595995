"""A directory that no path can escape: every access starts from an open directory descriptor, and follows no link.

INVARIANT: nothing outside the directory is read, written or removed, whatever is placed in it concurrently.
Workspaces and their storage are in `workspace`.
"""

import contextlib
import errno
import itertools
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock.tools.errors import ToolError
from interlock.tools.paths import DEEPEST_PATH, HALF_WRITTEN, parse

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL = (errno.ENOSPC, errno.EDQUOT)
Stamp = tuple[int, int, int]
"""Inode, size in bytes, and modification time in nanoseconds: a different value means that the file was changed."""


class Missing(ToolError):
    """No file of that name."""


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file: its path, size in bytes, and stamp."""

    path: str
    size: int
    stamp: Stamp


class Folder:
    """An open directory; its methods block, and exclude one another. Close it after use.

    Raises ToolError if it cannot be created.
    """

    def __init__(self, root: Path) -> None:
        self._guard = threading.Lock()
        self._fd: int | None = None
        with translated_errors(str(root)):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(root, _DIR)

    def close(self) -> None:
        """Closes the directory; later calls fail."""
        with self._guard:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None

    def read(self, path: str, most: int) -> bytes:
        """The bytes of a regular file.

        Raises Missing, and ToolError for links, directories, devices, and more than `most` bytes.
        """
        names = parse(path)
        with self._guard, translated_errors(path), self._parent(names) as parent:
            return _bytes(parent, names[-1], path, most)

    def write(self, path: str, data: bytes) -> Stamp:
        """Replaces a file atomically; missing parent directories are created.

        Raises ToolError for links and directories, and if there is no space.
        """
        names = parse(path)
        with self._guard, translated_errors(path), self._parent(names, make=True) as parent:
            with contextlib.suppress(FileNotFoundError):
                _refuse_irregular(os.stat(names[-1], dir_fd=parent, follow_symlinks=False), path)
            temporary = HALF_WRITTEN + secrets.token_hex(8)
            try:
                with open(os.open(temporary, _CREATE, 0o600, dir_fd=parent), "wb") as file:
                    file.write(data)
                    file.flush()
                    stamp = _stamp(os.fstat(file.fileno()))
                os.rename(temporary, names[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            return stamp

    def rename(self, path: str, to: str) -> None:
        """Moves a file, replacing the target; missing parent directories are created.

        Raises ToolError.
        """
        names, others = parse(path), parse(to)
        with self._guard, translated_errors(to), self._parent(names) as here, self._parent(others, make=True) as there:
            os.rename(names[-1], others[-1], src_dir_fd=here, dst_dir_fd=there)

    def files(self, most: int) -> list[Found]:
        """Every regular file, sorted by path; links, devices and paths that `parse` rejects are left out.

        Raises ToolError for more than `most`.
        """
        found: list[Found] = []
        with self._guard, translated_errors("the workspace"):
            for base, below, names, fd in os.fwalk(".", dir_fd=self._open_fd(), onerror=_raise, follow_symlinks=False):
                if base.count("/") >= DEEPEST_PATH - 1:
                    below.clear()
                for name in names:
                    path = os.path.normpath(os.path.join(base, name))
                    with contextlib.suppress(FileNotFoundError):
                        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode) and _is_plain(path):
                            found.append(Found(path, status.st_size, _stamp(status)))
                    if len(found) > most:
                        raise ToolError(f"the workspace holds more than {most:,} files: remove some")
        return sorted(found, key=lambda each: each.path)

    def _open_fd(self) -> int:
        if self._fd is None:
            raise ToolError("the workspace is closed: its run has ended")
        return self._fd

    @contextlib.contextmanager
    def _parent(self, names: Sequence[str], *, make: bool = False) -> Iterator[int]:
        fd = os.dup(self._open_fd())
        try:
            for name in names[:-1]:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=fd)
                inner = os.open(name, _DIR, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield fd
        finally:
            os.close(fd)


def _bytes(parent: int, name: str, path: str, most: int) -> bytes:
    _refuse_irregular(os.stat(name, dir_fd=parent, follow_symlinks=False), path)
    with open(os.open(name, _READ, dir_fd=parent), "rb") as file:
        _refuse_irregular(os.fstat(file.fileno()), path)
        data = file.read(most + 1)
    if len(data) > most:
        raise ToolError(f"`{path}` is larger than {most:,} bytes")
    return data


def _refuse_irregular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"`{path}` is a folder: name a file in it")
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(f"`{path}` is a link: links are not followed")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"`{path}` is not a regular file")


def _raise(error: OSError) -> None:
    raise error


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_plain(path: str) -> bool:
    try:
        parse(path)
    except ToolError:
        return False
    return True


@contextlib.contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Translates errors of the operating system within this context into one-line messages.

    Raises Missing, ToolError.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise Missing(f"there is no file `{path}`: file_list shows what there is") from error
    except OSError as error:
        raise ToolError(_line(error, path)) from error


def _line(error: OSError, path: str) -> str:
    if error.errno in _FULL:
        return f"no space left to write `{path}`: the operator must free some, nothing of it was kept"
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return f"`{path}` leads through a link or a file: links are not followed"
    return f"`{path}` cannot be used: {(error.strerror or str(error)).lower()}"


def delete_tree(root: Path) -> None:
    """Removes a directory tree, also read-only parts, without following links; no error if it does not exist.

    Nested directories are moved up and emptied one by one, so that depth exceeds neither path length nor stack.
    """
    if root.is_symlink():
        root.unlink()
        return
    with contextlib.suppress(OSError):
        root.chmod(0o700)
        top = os.open(root, _DIR)
        try:
            _empty(top)
        finally:
            os.close(top)
        root.rmdir()


def _empty(top: int) -> None:
    token, moved = secrets.token_hex(8), itertools.count()
    waiting = _folders(top)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            inner = os.open(name, _DIR, dir_fd=top)
            try:
                for each in _folders(inner):
                    to = f"{HALF_WRITTEN}{token}-{next(moved)}"
                    os.rename(each, to, src_dir_fd=inner, dst_dir_fd=top)
                    waiting.append(to)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)


def _folders(fd: int) -> list[str]:
    """The names of the subdirectories in an open directory, made writable; everything else in it is removed."""
    found = []
    for name in os.listdir(fd):
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                os.chmod(name, 0o700, dir_fd=fd)
                found.append(name)
            else:
                os.unlink(name, dir_fd=fd)
    return found
