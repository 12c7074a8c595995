"""The files that `init` writes; their text is data beside this module."""

import os
from importlib.resources import files
from pathlib import Path

from interlock.core.errors import InterlockError

INSTRUCTIONS = ("AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "MEMORY.md", "HEARTBEAT.md")
"""Source: row F2. There is no BOOTSTRAP.md: it would only be read while none of these is there."""
NAMES = ("interlock.yaml", "policy.yaml", *INSTRUCTIONS)
IGNORED = ".interlock/\n"


def write_starter(folder: Path) -> list[tuple[Path, bool]]:
    """Writes the files that do not exist; returns each path, and whether it was written.

    Raises InterlockError if the folder cannot be written to.
    """
    wanted = {folder / name: files("interlock.cli").joinpath("starter_files", name).read_bytes() for name in NAMES}
    wanted |= {
        folder / "personas" / entry.name: entry.read_bytes()
        for entry in sorted(files("interlock.agents").joinpath("personas").iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    }
    wanted[folder / ".gitignore"] = IGNORED.encode()
    try:
        (folder / "personas").mkdir(parents=True, exist_ok=True)
        return [(path, _write_new(path, content)) for path, content in wanted.items()]
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InterlockError(f"cannot write to `{folder}`: {problem}: choose another folder") from error


def _write_new(path: Path, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return True
