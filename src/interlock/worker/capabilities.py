"""The capabilities of this machine, detected once when a worker starts.

Tools declare which capabilities they need; the claim matches runs to workers.
"""

import asyncio
import contextlib
import ctypes
import os
import shutil
import sys
from functools import cache

SANDBOX, BROWSER = "sandbox", "browser"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_CREATE_RULESET_VERSION = 1
TRY_S = 5.0


async def detected() -> frozenset[str]:
    """The capabilities found: `sandbox` (bubblewrap or Landlock works), `browser` (a Chromium is installed)."""
    found = set()
    if await _bubblewrap_works() or _has_landlock():
        found.add(SANDBOX)
    if any(shutil.which(name) for name in BROWSERS):
        found.add(BROWSER)
    return frozenset(found)


async def _bubblewrap_works() -> bool:
    program = shutil.which("bwrap")
    if program is None:
        return False
    nothing = asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            program, "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true",
            stdin=nothing, stdout=nothing, stderr=nothing,
        )  # fmt: skip
    except OSError:
        return False
    try:
        return await asyncio.wait_for(child.wait(), TRY_S) == 0
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        return False


@cache
def _has_landlock() -> bool:
    """Whether the kernel supports Landlock: it reports an ABI version, or -1 if Landlock is missing or disabled."""
    if sys.platform != "linux" or not hasattr(os, "uname"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version: int = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    return version >= 1
