"""Imports agents of other programs as personas: reads files, makes drafts, writes them without overwriting.

The conversion is in `agents.imports`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlock.agents.imports import claude_code, crewai
from interlock.agents.imports.draft import Draft, drafted
from interlock.agents.imports.foreign import Foreign
from interlock.agents.persona import COORDINATOR, LEARNER, load_personas
from interlock.agents.prompts.quoting import one_line
from interlock.core.errors import ConfigError, UsageError
from interlock.core.ids import new_id
from interlock.core.strict_yaml import LARGEST_BYTES
from interlock.desk.reading.views import View
from interlock.settings.reading import read_bounded

MARKDOWN, YAML = frozenset({".md", ".markdown"}), frozenset({".yaml", ".yml"})
MOST_FILES = 500


@dataclass(frozen=True, slots=True)
class Imported:
    """Drafts made from files, and the faults of the others, each `file:line: problem`."""

    drafts: tuple[Draft, ...]
    faults: tuple[str, ...]


def read_personas(paths: Sequence[Path], known_tools: frozenset[str]) -> Imported:
    """Reads personas from files of CrewAI (`.yaml`) and Claude Code (`.md`), or folders of them.

    Writes nothing. Raises UsageError if a folder has too many files.
    """
    builtin = frozenset(load_personas(True, [], known_tools=known_tools).personas) | {COORDINATOR, LEARNER}
    drafts: list[Draft] = []
    faults: list[str] = []
    places: dict[str, str] = {}
    for path in _files(paths, faults):
        for found in _read(path, faults):
            outcome = drafted(found, builtin, known_tools)
            if not isinstance(outcome, Draft):
                faults += outcome
            elif (name := outcome.persona.name) in places:
                faults.append(f"{outcome.source}:{outcome.line}: `{name}` is already in {places[name]}: rename one")
            else:
                places[name] = f"{outcome.source}:{outcome.line}"
                drafts.append(outcome)
    return Imported(tuple(drafts), tuple(faults))


def _files(paths: Sequence[Path], faults: list[str]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in MARKDOWN | YAML and p.is_file())
            if len(inside) > MOST_FILES:
                raise UsageError(f"`{path}` has {len(inside):,} files: {MOST_FILES} are the most at once")
            if not inside:
                faults.append(f"{_shown(path)}:1: no file of agents in it: `.md` or `.yaml`")
            found += inside
        else:
            found.append(path)
    return found


def _read(path: Path, faults: list[str]) -> list[Foreign]:
    source, kind = _shown(path), path.suffix.lower()
    if kind not in MARKDOWN | YAML and path.exists():
        faults.append(f"{source}:1: is neither a file of CrewAI (`.yaml`) nor one of Claude Code (`.md`)")
        return []
    try:
        raw = read_bounded(path, LARGEST_BYTES)
        if kind in MARKDOWN:
            return claude_code.read(raw, source)
        found, wrong = crewai.read(raw, source)
        faults += wrong
        return found
    except OSError as error:
        faults.append(f"{source}:1: cannot be read: {(error.strerror or str(error)).lower()}")
    except ConfigError as error:
        faults += error.faults
    return []


def _shown(path: Path) -> str:
    return one_line(str(path), limit=1_000)


def write(drafts: Sequence[Draft], folder: Path, *, force: bool) -> tuple[list[tuple[Draft, Path]], list[str]]:
    """Writes drafts to a folder of personas; returns what was written, and the faults of the others.

    INVARIANT: without `force`, existing files are not changed and links are not followed.

    Raises UsageError if the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to `{folder}`: {(error.strerror or str(error)).lower()}") from error
    there = load_personas(False, [folder], known_tools=frozenset()).sources
    done: list[tuple[Draft, Path]] = []
    faults: list[str] = []
    for draft in drafts:
        name = draft.persona.name
        path = folder / f"{name}.yaml"
        if name in there and Path(there[name]) != path:
            faults.append(f"{_shown(Path(there[name]))}:1: has a persona `{name}` already: rename one of them")
            continue
        try:
            _put(path, draft.text.encode(), force=force)
            done.append((draft, path))
        except FileExistsError:
            faults.append(f"{_shown(path)}:1: is there already: give `--force` to replace it")
        except OSError as error:
            faults.append(f"{_shown(path)}:1: cannot be written: {(error.strerror or str(error)).lower()}")
    return done, faults


def _put(path: Path, data: bytes, *, force: bool) -> None:
    target = path.with_name(f".{path.name}.{new_id('new')}") if force else path
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    if force:
        os.replace(target, path)


def draft_view(draft: Draft, path: Path | None) -> View:
    """A draft for display, with the path to which it was written."""
    persona = draft.persona
    return {
        "name": persona.name, "title": persona.title, "trust": persona.trust, "risk_profile": persona.risk_profile,
        "tools": list(persona.tools), "model": persona.model, "source": f"{draft.source}:{draft.line}",
        "path": None if path is None else str(path), "notes": list(draft.notes),
    }  # fmt: skip
