"""Cleans up leftover files in this machine's home: folders of interrupted runs, drafts, old backups.

What is in the database is up to `retention`.
"""

import asyncio
import contextlib
from pathlib import Path

from interlock.agents.runtime import Runtime
from interlock.store.mailboxes import leases
from interlock.tools.folder import delete_tree
from interlock.tools.orphans import records_of
from interlock.tools.workspace import folder_name

OLD_S = 86_400.0
"""Nothing younger is removed."""
KEPT_BACKUPS = 3
"""How many backups made by restores are always kept; the others are removed after `BACKUP_S`."""
BACKUP_S = 30 * 86_400.0


async def tidy(runtime: Runtime) -> int:
    """Removes leftovers from this process's home; returns how many files and folders were removed.

    INVARIANT: active runs are read after the folders were listed, and a folder modified since then stays.
    """
    home, now_s = runtime.settings.home, runtime.clock.now().timestamp()
    found = await asyncio.to_thread(_old_folders, home / "workspaces", now_s)
    live = {folder_name(run_id) for run_id in await runtime.store.read(leases.running_runs)}
    gone = await asyncio.to_thread(_remove_folders, [path for path in found if path.name not in live], now_s)
    return gone + await asyncio.to_thread(_remove_files, home, now_s)


def _old_folders(base: Path, now_s: float) -> list[Path]:
    found = [path for path in base.glob("*/*") if _is_folder(path) and _is_folder(path.parent)]
    return [path for path in found if _age_s(path, now_s) > OLD_S]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _age_s(path: Path, now_s: float) -> float:
    """Seconds since a path was modified; 0 if it does not exist."""
    try:
        return now_s - path.lstat().st_mtime
    except OSError:
        return 0.0


def _remove_folders(paths: list[Path], now_s: float) -> int:
    gone = 0
    for path in paths:
        if _age_s(path, now_s) > OLD_S:
            delete_tree(path)
            gone += 1
    return gone


def _remove_files(home: Path, now_s: float) -> int:
    drafts = [path for path in records_of(home).glob(".*") if _age_s(path, now_s) > OLD_S]
    backups = sorted(home.glob("replaced-*.backup"))[:-KEPT_BACKUPS]
    gone = 0
    for path in [*drafts, *(path for path in backups if _age_s(path, now_s) > BACKUP_S)]:
        with contextlib.suppress(OSError):
            path.unlink()
            gone += 1
    return gone
