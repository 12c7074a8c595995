"""The files with which people instruct all agents of a project: found, read once, and cut to fit a prompt.

INVARIANT: nothing is read from outside the folder, nor from where agents write. How the files are worded in a prompt is
prompt_layers'. Source: row F2.
"""

import asyncio
import codecs
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from interlock.agents.prompts.prompt_input import FileNote
from interlock.agents.prompts.quoting import quoted
from interlock.policy.secrets import scrub

FIRST_STEPS = "BOOTSTRAP.md"
FILES = (
    "ARCHITECTURE.md", "AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "HEARTBEAT.md", "MEMORY.md", FIRST_STEPS,
)  # fmt: skip
"""In the order in which they are shown; the last only while there is no other."""
IN_MINIMAL = frozenset({"AGENTS.md", "TOOLS.md"})
LONGEST = 20_000
"""Characters of one that are shown. Source: numbers, "Memory"."""
CODEBASES: Mapping[str, str] = {
    ".git": "a Git repository",
    "pyproject.toml": "Python code",
    "package.json": "JavaScript or TypeScript code",
    "Cargo.toml": "Rust code",
    "go.mod": "Go code",
    "pom.xml": "Java code",
    "build.gradle": "Java or Kotlin code",
    "Gemfile": "Ruby code",
    "composer.json": "PHP code",
}
"""What is told of the folder, by what is in it."""
MOST_BYTES = 4 * (LONGEST + 1)
"""Of one that are read: more than what is shown can take."""
_COMMENT = re.compile(r"^[ ]{0,3}<!--.*?-->[ \t]*\n?", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_WORDLESS = re.compile(r"\s*(?:#.*|[-*+]?\s*(?:\[[ xX]?\])?|-{3,}|={3,}|\*{3,}|_{3,})\s*")
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
Stamp = tuple[int, int, int, int]
"""Inode, size in bytes, time of the last change and of the last change of state, in nanoseconds."""
UNSURE: Stamp = (0, 0, 0, 0)
SETTLED_NS = 50_000_000
QUICK_S, SLOW_S = 0.003, 60.0
"""Where looks take longer than the first, they are taken off the event loop for the second."""
SLOW_LOOKS = 3
"""In a row; a single one may be slow because the machine is busy."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The instruction files of a folder: those that are shown, why others are not, and what else is there."""

    files: tuple[FileNote, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    codebase: tuple[str, ...] = ()


NOTHING = Bootstrap()


class _Look(NamedTuple):
    """What was found, and how everything stood then."""

    place: Stamp
    """Of the folder: another one where something was put into it or taken away."""
    stamps: Mapping[str, Stamp]
    found: Bootstrap


class _Unfit(Exception):
    """A file that cannot be shown, and why."""


class BootstrapFolder:
    """The folder of a project's instruction files. Files that have not changed since are not read again.

    What lies in `workspaces` is written by agents and never read; `mask` takes out what a model must not see.
    """

    def __init__(self, folder: Path, workspaces: Path, mask: Callable[[str], str] = str) -> None:
        self._folder, self._workspaces, self._mask = folder, workspaces, mask
        self._paths = {name: str(folder / name) for name in FILES}
        self._known: dict[str, tuple[Stamp, FileNote | None, str | None]] = {}
        self._seen: _Look | None = None
        self._slow_looks, self._slow_until_s = 0, 0.0
        self._looking: asyncio.Future[Bootstrap] | None = None

    async def look(self) -> Bootstrap:
        """The files as they are now, read off the event loop; runs that begin together share one read.

        Whether anything was touched is looked up on the loop, while that takes no time to speak of.
        Never raises for what is in the folder.
        """
        begun_s = time.monotonic()
        if begun_s >= self._slow_until_s:
            same = self._if_untouched()
            self._slow_looks = self._slow_looks + 1 if time.monotonic() - begun_s > QUICK_S else 0
            if self._slow_looks >= SLOW_LOOKS:
                self._slow_looks, self._slow_until_s = 0, begun_s + SLOW_S
            if same is not None:
                return same
        loop, looking = asyncio.get_running_loop(), self._looking
        if looking is None or looking.done() or looking.get_loop() is not loop:
            looking = self._looking = loop.run_in_executor(None, self.look_now)
        return await asyncio.shield(looking)

    def look_now(self) -> Bootstrap:
        """The same, blocking."""
        if (same := self._if_untouched()) is not None:
            return same
        place = _stamp(self._folder)
        try:
            os.stat(os.path.join(self._folder, "."))
        except OSError as error:
            return Bootstrap(left_out=(("bootstrap", f"the folder cannot be read: {_problem(error)}"),))
        stamps = {name: _stamp(path) for name, path in self._paths.items() if os.path.lexists(path)}
        there = (words for name, words in CODEBASES.items() if os.path.lexists(self._folder / name))
        codebase = tuple(dict.fromkeys(there))
        found = self._read(stamps, codebase)
        self._seen = _Look(place, stamps, found)
        return found

    def _if_untouched(self) -> Bootstrap | None:
        """What was found before, where nothing has been touched since."""
        seen = self._seen
        if seen is None or seen.place == UNSURE or seen.place != _stamp(self._folder):
            return None
        for name, stamp in seen.stamps.items():
            if stamp == UNSURE or stamp != _stamp(self._paths[name]):
                return None
        return seen.found

    def _read(self, stamps: Mapping[str, Stamp], codebase: tuple[str, ...]) -> Bootstrap:
        files: list[FileNote] = []
        left_out: list[tuple[str, str]] = []
        for name, stamp in stamps.items():
            if name == FIRST_STEPS and len(stamps) > 1:
                continue
            known = self._known.get(name)
            if known is None or known[0] != stamp or stamp == UNSURE:
                known = self._known[name] = (stamp, *self._note(name))
            _, note, why = known
            if note is not None:
                files.append(note)
            if why is not None:
                left_out.append((name, why))
        return Bootstrap(tuple(files), tuple(left_out), codebase)

    def _note(self, name: str) -> tuple[FileNote | None, str | None]:
        """The file as it is shown, if it says anything, and what of it is not, if anything."""
        try:
            data, size = self._bytes(self._folder / name)
            text = _decoded(data, is_whole=len(data) < MOST_BYTES)
        except _Unfit as error:
            return None, str(error)
        except OSError as error:
            return None, f"it cannot be read: {_problem(error)}"
        said = scrub(self._mask(_without_comments(text).strip()))
        if all(_WORDLESS.fullmatch(line) for line in said.splitlines()):
            return None, None
        if len(said) <= LONGEST and len(data) < MOST_BYTES:
            return FileNote(name, quoted(said)), None
        cut = f"[cut here: {name} has {size:,} bytes, of which the first {LONGEST:,} characters are shown]"
        return FileNote(name, f"{quoted(said[:LONGEST])}\n{cut}"), f"it is longer than {LONGEST:,} characters"

    def _bytes(self, path: Path) -> tuple[bytes, int]:
        """As much as could be shown, and the size of the file.

        Raises _Unfit for what is no file of the folder.
        """
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(self._folder)):
            raise _Unfit("it is a link that leads out of the folder")
        if real.is_relative_to(os.path.realpath(self._workspaces)):
            raise _Unfit("it lies where agents write")
        with open(os.open(real, _FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _Unfit("it is not a file")
            return file.read(MOST_BYTES), status.st_size


def _stamp(path: str | Path) -> Stamp:
    """Of what a name leads to; UNSURE where that cannot be seen.

    INVARIANT: what was touched a moment ago is UNSURE too, as another change may get the same times.
    """
    try:
        found = os.stat(path)
    except OSError:
        return UNSURE
    if abs(time.time_ns() - found.st_ctime_ns) < SETTLED_NS:
        return UNSURE
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _decoded(data: bytes, *, is_whole: bool) -> str:
    """Raises _Unfit for what is no text."""
    if b"\x00" in data:
        raise _Unfit("it is binary")
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data, is_whole)
    except UnicodeDecodeError as error:
        raise _Unfit("it is not UTF-8 text") from error


def _without_comments(text: str) -> str:
    """The text without HTML comments that stand for themselves; those in code stay, and so do unfinished ones."""
    if "<!--" not in text:
        return text
    fences = [match.start() for match in _FENCE.finditer(text)]
    return _COMMENT.sub(lambda found: found[0] if _is_fenced(found.start(), fences) else "", text)


def _is_fenced(at: int, fences: list[int]) -> bool:
    return sum(fence < at for fence in fences) % 2 == 1


def _problem(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
