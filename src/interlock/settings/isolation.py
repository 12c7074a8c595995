"""Settings of the sandbox, and of what has to run in it."""

import os
from pathlib import Path
from typing import Literal

from pydantic import field_validator

from interlock.settings.part import Part
from interlock.settings.values import Count, Mebibytes, Seconds


class SandboxSettings(Part):
    """What a program in the sandbox may use, together with all that it starts.

    Source: numbers, "Other defaults".
    """

    checks: Literal["required", "off"] = "required"
    """Commands of checks run in the sandbox or not at all; `off`: as the worker's user, with its network and files."""
    wall_s: Seconds = 30.0
    """How long it may take, in seconds, if whoever starts it does not say."""
    cpu_s: Count = 20
    """How much CPU time it may use, in seconds, if whoever starts it does not say how long it may take."""
    memory_mib: Mebibytes = 512
    """How much memory it may use, in MiB; each process may have as much address space."""
    processes: Count = 64
    """How many processes and threads it may have at a time."""
    written_mib: Mebibytes = 50
    """By how much its folder may grow, in MiB; no file may be larger."""
    output_mib: Mebibytes = 1
    """How much of its output is kept, in MiB."""
    readable: tuple[Path, ...] = ()
    """Folders outside the system's that it may read, such as `/opt/node`."""

    @field_validator("readable")
    @classmethod
    def _not_everything(cls, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        if any(os.path.realpath(folder) == os.sep for folder in folders):
            raise ValueError("expected folders with programs, not all files of the machine: name them one by one")
        return folders
