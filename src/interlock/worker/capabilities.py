"""The capabilities of this machine, detected once when a worker starts.

Tools declare which capabilities they need; the claim matches runs to workers.
"""

import shutil

from interlock.store.mailboxes.capabilities import SANDBOX
from interlock.tools.sandboxes.sandbox import Sandbox

BROWSER = "browser"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


async def detected(sandbox: Sandbox) -> frozenset[str]:
    """The capabilities found: `sandbox` (it has been tried out), `browser` (a Chromium is installed)."""
    found = set()
    if await sandbox.problem() is None:
        found.add(SANDBOX)
    if any(shutil.which(name) for name in BROWSERS):
        found.add(BROWSER)
    return frozenset(found)
