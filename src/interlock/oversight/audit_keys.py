"""The keys that seal the audit log: from the settings, from files, or generated in the home.

What is sealed is in `sealing`. INVARIANT: a key is never written to the database, a log or a message.
"""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from interlock.core.errors import InterlockError
from interlock.settings import Settings
from interlock.store.auditing.chain import LEAST_KEY, Key, Keyring

FILE = "audit.key"
"""The key file in the home, used if the settings name no key."""


class AuditKeyError(InterlockError):
    """A required key is missing, unreadable, too short, or readable by others."""


def default_path(settings: Settings) -> Path:
    """The path at which a key is generated if the settings name none."""
    return settings.home / FILE


def keyring(settings: Settings, *, key_file: Path | None = None) -> Keyring:
    """The current key (from `key_file`, else the settings, else the home) and the older ones. Blocking I/O.

    Raises AuditKeyError if a key that is named cannot be loaded.
    """
    old = [read(path) for path in settings.audit.old_key_files]
    given, named = settings.audit.key, key_file or settings.audit.key_file
    if named is not None:
        return Keyring.of(read(named, once=key_file is not None), old)
    if given is not None:
        return Keyring.of(_key(given.get_secret_value().strip().encode(), "INTERLOCK_AUDIT__KEY"), old)
    path = default_path(settings)
    return Keyring.of(read(path) if os.path.lexists(path) else None, old)


def read(path: Path, *, once: bool = False) -> Key:
    """The key in a file, which only its owner may be able to read.

    It is read again at each seal: a pipe, at which that would wait for ever, is refused, unless it is read `once`.

    Raises AuditKeyError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if once else os.O_NONBLOCK))
        with os.fdopen(descriptor, "rb") as file:
            kind = os.fstat(descriptor).st_mode
            mode = stat.S_IMODE(kind) & 0o777
            if not once and not stat.S_ISREG(kind):
                raise OSError(errno.EINVAL, "is not a file")
            secret = file.read(4_096).strip()
    except FileNotFoundError as error:
        raise AuditKeyError(
            f"there is no audit key `{path}`: make one with `openssl rand -hex 32 > {path}` and `chmod 600 {path}`"
        ) from error
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise AuditKeyError(f"the audit key `{path}` cannot be read: {problem}") from error
    if mode & 0o077:
        raise AuditKeyError(f"others can read the audit key `{path}` (mode {mode:o}): run `chmod 600 {path}`")
    return _key(secret, str(path))


def _key(secret: bytes, where: str) -> Key:
    if len(secret) < LEAST_KEY:
        raise AuditKeyError(f"the audit key of `{where}` is too short: it needs {LEAST_KEY} characters at least")
    return Key.of(secret)


def make(path: Path) -> Key:
    """Generates a key in a file of mode 0600, atomically; returns the existing one if another process was faster.

    Raises AuditKeyError if it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(unfinished, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise AuditKeyError(
            f"no audit key can be made at `{path}`: {problem}: set INTERLOCK_AUDIT__KEY or `audit.key_file`"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return read(path)
