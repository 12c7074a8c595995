"""The file format of a session: JSON lines with a header, then runs and their messages.

A file may come from anybody. Whether it is put in, and for whom, is the desk's job.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from interlock.agents.history.session_records import BLOCKS, FORMAT, RECORD, VERSION, Header, RunRecord
from interlock.core.errors import ConfigError
from interlock.core.text import storable_value
from interlock.policy.secrets import scrub, scrub_value
from interlock.tools.secrets import Vault

MOST_BYTES, MOST_LINE, MOST_RUNS, MOST_MESSAGES = 64 * 1024 * 1024, 8 * 1024 * 1024, 10_000, 200_000
MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class SessionFile:
    """The content of a file: each run with its rows, ready to be stored."""

    header: Header
    runs: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]


def line(value: Mapping[str, Any]) -> str:
    """One line of a file."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read(data: bytes, source: str) -> SessionFile:
    """Parses a file.

    Raises ConfigError with up to twenty faults, each `file:line: problem`.
    """
    reader = _Reader(source)
    if len(data) > MOST_BYTES:
        raise ConfigError([f"{source}:1: it has {len(data):,} bytes: {MOST_BYTES:,} are the most"])
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        if raw.strip() or number == 1:
            reader.take(number, raw)
        if len(reader.faults) >= MOST_FAULTS or reader.is_another_kind:
            break
    if reader.faults or reader.header is None:
        raise ConfigError(reader.faults)
    return SessionFile(reader.header, reader.runs)


class _Reader:
    """A file as far as it was read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.faults: list[str] = []
        self.header: Header | None = None
        self.is_another_kind = False
        """Whether the file does not begin as a session does: then its other lines are no faults of a session."""
        self.runs: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        self._messages = 0

    def take(self, number: int, raw: bytes) -> None:
        """Parses one line."""
        try:
            value = _parsed(raw)
            if number == 1:
                self.is_another_kind = not isinstance(value, dict) or value.get("format") != FORMAT
                self.header = _header(value)
            else:
                self._record(value)
        except ValidationError as error:
            self.faults += [f"{self.source}:{number}: {problem}" for problem in _problems(error)][:MOST_FAULTS]
        except ValueError as error:
            self.faults.append(f"{self.source}:{number}: {error}")

    def _record(self, value: Any) -> None:
        if not isinstance(value, dict) or value.get("record") not in ("run", *BLOCKS):
            raise ValueError(f"`record` is missing or unknown: it is one of {', '.join(['run', *BLOCKS])}")
        found = RECORD.validate_python(value)
        if isinstance(found, RunRecord):
            if len(self.runs) >= MOST_RUNS:
                raise ValueError(f"there are more than {MOST_RUNS:,} runs")
            columns = found.model_dump(exclude={"record", "created_at", "completed_at"})
            times = {"created_at": found.created_at, "completed_at": found.completed_at}
            self.runs.append(({**columns, "payload": {"imported": times}}, []))
            return
        self._messages += 1
        if not self.runs:
            raise ValueError("a message comes before the first run")
        if self._messages > MOST_MESSAGES:
            raise ValueError(f"there are more than {MOST_MESSAGES:,} messages")
        rows = self.runs[-1][1]
        if rows and rows[-1]["position"] >= found.position:
            raise ValueError(f"`position` is {found.position}, after {rows[-1]['position']}")
        if wrong := {block.type for block in found.blocks} - BLOCKS[found.record]:
            raise ValueError(f"a `{found.record}` has no block of type `{min(wrong)}`")
        columns = found.model_dump(exclude={"record"}, exclude_unset=True)
        rows.append({**columns, "message_type": found.record})


def _header(value: Any) -> Header:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError(
            "this is not a session: the first line must have `format` as `interlock session export` writes it"
        )
    version = value.get("version")
    if type(version) is int and version > VERSION:
        raise ValueError(f"`version` {version} is newer than this version reads: upgrade first")
    return Header.model_validate(value)


def _parsed(raw: bytes) -> Any:
    if len(raw) > MOST_LINE:
        raise ValueError(f"the line has {len(raw):,} bytes: {MOST_LINE:,} are the most")
    try:
        value = json.loads(raw.decode(), parse_constant=_no_number, object_pairs_hook=_once)
        return storable_value(value)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"`{name}` is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _problems(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in fault["loc"] if part not in ("run", *BLOCKS))
        what = fault["msg"].removeprefix("Value error, ")
        yield f"`{where}`: {what[:1].lower()}{what[1:]}" if where else f"{what[:1].lower()}{what[1:]}"


@dataclass(frozen=True, slots=True)
class Mask:
    """Masks secrets in sessions: those known here, and whatever looks like one."""

    vault: Vault

    def text(self, text: str) -> str:
        """A text with secrets masked."""
        return scrub(self.vault.scrub(text))

    def value(self, value: Any) -> Any:
        """A JSON value with secrets masked."""
        return scrub_value(self.vault.scrub_value(value))

    def blocks(self, blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Blocks with secrets masked. A thinking block that has one loses its signature, so it is not sent again."""
        return [self._block(block) for block in blocks]

    def _block(self, block: Mapping[str, Any]) -> dict[str, Any]:
        if block["type"] == "image":
            return dict(block)
        if block["type"] == "thinking":
            text = self.text(block["text"])
            return {**block, "text": text, "signature": block["signature"] if text == block["text"] else ""}
        return {
            name: self.text(given) if isinstance(given, str) else self.value(given) for name, given in block.items()
        }
