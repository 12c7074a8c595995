"""Explains errors of the operating system in one line: unreadable files, a full disk, a closed output.

Errors of Interlock itself have messages of their own.
"""

import errno
import io
import os
import sys
from collections.abc import Mapping

_ADVICE: Mapping[int, str] = {
    errno.EACCES: "see who may read and write it",
    errno.EPERM: "see who may read and write it",
    errno.EROFS: "choose another place",
    errno.ENOSPC: "free some",
    errno.EDQUOT: "free some",
    errno.EMFILE: "raise `ulimit -n`",
    errno.ENFILE: "end some programs",
}


def explanation(error: OSError) -> str | None:
    """What failed and what to do about it; None if it may be a fault of Interlock."""
    if isinstance(error, FileNotFoundError) and error.filename is None and _is_nowhere():
        return "the folder that this was started in is gone: change to one that exists"
    advice = _ADVICE.get(error.errno or 0)
    if advice is None:
        return None
    what = f"use `{error.filename}`" if error.filename else "write"
    return f"cannot {what}: {os.strerror(error.errno or 0).lower()}: {advice}"


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def let_go_of_output() -> None:
    """Redirects stdout to nowhere if it cannot be flushed, so that the end of the process does not fail."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def with_outputs() -> None:
    """Opens missing standard outputs to nowhere.

    INVARIANT: no file that is opened later gets the descriptor of an output: what is printed would be written to it.
    """
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(spare, True)
    os.close(spare)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115 (as long as the process)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115


def with_every_character() -> None:
    """Prints characters that the output's encoding lacks as escapes, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower().replace("-", "") != "utf8":
        sys.stdout.reconfigure(errors="backslashreplace")
