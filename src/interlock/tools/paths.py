"""Paths inside a workspace, in the one spelling that policy, approvals and the store use.

Files are accessed in `folder`.
"""

import unicodedata

from interlock.tools.errors import ToolError

LONGEST_NAME = 255
LONGEST_PATH = 1024
DEEPEST_PATH = 32
HALF_WRITTEN = ".interlock-tmp-"
"""The prefix of temporary file names; other files must not have it."""


def parse(path: str) -> tuple[str, ...]:
    """The components of a path.

    Only one spelling of each path is accepted, so that no rule can be bypassed by another: relative, `/` as separator,
    no `.`, `..`, empty or invisible components, composed characters. Lengths are in bytes of UTF-8.

    Raises ToolError for any other.
    """
    shown = "".join(c if c.isprintable() else "\ufffd" for c in path[:200])
    if not path:
        raise ToolError("the path is empty: give one such as `notes/plan.md`")
    if path.startswith(("/", "~/")) or "\\" in path:
        raise ToolError(f"`{shown}` is not inside the workspace: give a path such as `notes/plan.md`, with `/`")
    if not path.isprintable() or unicodedata.normalize("NFC", path) != path:
        raise ToolError(f"`{shown}` holds characters that file names here may not have: use visible, composed ones")
    names = tuple(path.split("/"))
    if ".." in names:
        raise ToolError(f"`{shown}` leads out of the workspace: give a path without `..`")
    if "" in names or "." in names:
        plain = "/".join(name for name in names if name not in ("", "."))
        raise ToolError(f"`{shown}` is not the plain spelling of its path: write `{plain[:200] or 'a name'}`")
    if any(name.startswith(HALF_WRITTEN) for name in names):
        raise ToolError(f"`{shown}` is a name that is kept for files being written: choose another")
    sizes = [len(name.encode()) for name in names]
    if max(sizes) > LONGEST_NAME or sum(sizes) + len(names) - 1 > LONGEST_PATH or len(names) > DEEPEST_PATH:
        raise ToolError(f"`{shown[:60]}…` is too long a path: use at most {LONGEST_NAME} bytes a name")
    return names
