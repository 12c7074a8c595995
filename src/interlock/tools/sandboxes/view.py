"""What a program in the sandbox sees of the file system, as arguments for bubblewrap.

Everything that is not listed here does not exist for it.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

FOLDER = "/workspace"
"""Where the program finds the one folder that it may write to."""
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")))
ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types")
OWN_ETC = Path(__file__).parent / "etc"
"""What the program is told instead of the accounts and hosts of this machine."""
PYTHON_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
OPEN, STICKY = "0755", "1777"


def view(folder: Path, readable: Sequence[Path], hidden: Sequence[Path], memory_bytes: int) -> list[str]:
    """Bubblewrap's arguments: system programs, our Python and `readable` for reading, `folder` for writing.

    `hidden` is empty even where it lies in one of these. `memory_bytes` limits each folder that is kept in memory.
    """
    shown = [*_system(), *_pythons(), *(Path(os.path.abspath(each)) for each in readable)]
    places = _distinct(shown)
    temporary = ["--perms", STICKY, "--size", str(memory_bytes), "--tmpfs"]
    return [
        "--proc", "/proc", "--dev", "/dev", *temporary, "/dev/shm", *temporary, "/tmp",
        *(each for path in SYSTEM if path.is_symlink() for each in ("--symlink", os.readlink(path), str(path))),
        *_folders([*places, Path("/etc/hosts")]),
        *(each for path in places for each in ("--ro-bind", str(path), str(path))),
        *_etc(),
        *_covered(places, hidden),
        "--bind", str(folder), FOLDER, "--remount-ro", "/dev", "--remount-ro", "/",
    ]  # fmt: skip


def _system() -> Iterator[Path]:
    return (path for path in SYSTEM if path.is_dir() and not path.is_symlink())


def _pythons() -> Iterator[Path]:
    """The parts of the Python that runs this process, by all the names that lead to it."""
    homes, program = [sys.prefix, sys.base_prefix], sys.executable
    while program:
        homes.append(os.path.dirname(os.path.dirname(program)))
        program = os.path.join(os.path.dirname(program), os.readlink(program)) if os.path.islink(program) else ""
    for home in dict.fromkeys([*homes, *map(os.path.realpath, homes)]):
        yield from (path for part in PYTHON_PARTS if (path := Path(os.path.normpath(home), part)).exists())


def _distinct(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie in others."""
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda each: len(each.parts)):
        if path.exists() and not any(path.is_relative_to(each) for each in found):
            found.append(path)
    return found


def _folders(places: Iterable[Path]) -> Iterator[str]:
    """Folders above the places, made open: they would be as closed as those outside are."""
    above = {folder for place in places for folder in place.parents if len(folder.parts) > 1}
    for folder in sorted(above):
        yield from ("--perms", OPEN, "--dir", str(folder))


def _etc() -> Iterator[str]:
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for own in sorted(OWN_ETC.iterdir()):
        yield from ("--ro-bind", str(own), f"/etc/{own.name}")


def _covered(places: Sequence[Path], hidden: Iterable[Path]) -> Iterator[str]:
    for each in hidden:
        real = Path(os.path.realpath(each))
        for place in places:
            inside = Path(os.path.realpath(place))
            if real.is_relative_to(inside) and real.exists():
                cover = str(place / real.relative_to(inside))
                yield from (
                    ("--tmpfs", cover, "--remount-ro", cover) if real.is_dir() else ("--ro-bind", "/dev/null", cover)
                )
