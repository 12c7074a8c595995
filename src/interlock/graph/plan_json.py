"""Finds the JSON object in a model's answer, and extracts typed fields; plans are interpreted in `plan`."""

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
_MOST_TRIES = 200
_LONGEST_NUMBER = 40
_NOTHING = "no JSON object in the answer: answer with one JSON object and nothing else"
_FIRST_BRACE = re.compile(r"\{")


def find_object(text: str, *, wanted: str) -> dict[str, Any] | str:
    """The first JSON object in the text that has the key `wanted`, fenced or bare; otherwise what is wrong.

    If there is only an object without that key, it is returned, so that the caller can name what is missing.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole)
    lacking: dict[str, Any] | None = None
    furthest, problem = -1, ""
    start, tries = 0, 0
    while (brace := _FIRST_BRACE.search(text, start)) and tries < _MOST_TRIES:
        tries += 1
        at, start = brace.start(), brace.start() + 1
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos > furthest:
                furthest = error.pos
                problem = f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg.lower()}"
        except (ValueError, RecursionError) as error:
            if furthest < len(text):
                furthest, line, column = len(text), text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
                reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
                problem = f"malformed JSON in the object at line {line}, column {column}: {reason}"
        else:
            start = end
            if wanted in value:
                return dict(value)
            lacking = lacking or dict(value)
    if problem:
        return problem
    return _NOTHING if lacking is None else lacking


def _refuse_constant(name: str) -> float:
    raise ValueError(f"`{name}` is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(digits):,} digits")
    return int(digits)


@dataclass(slots=True)
class Fields:
    """Typed access to a JSON object that collects each fault in `errors`, prefixed with `label`.

    A getter for a missing or wrong field records a fault and returns an empty value of its type.
    """

    data: Mapping[str, Any]
    label: str
    errors: list[str] = field(default_factory=list)

    def text(self, key: str, *, longest: int, single_line: bool = False) -> str:
        """A non-empty text."""
        value = self._value(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            return self._wrong(key, value, "text", "")
        cleaned = " ".join(value.split()) if single_line else value.strip()
        if not cleaned:
            return self._wrong(key, value, "text with something in it", "")
        if len(cleaned) > longest:
            self.errors.append(f"{self.label}`{key}` has {len(cleaned):,} characters: {longest:,} are the most")
            return ""
        if not _storable(cleaned):
            self.errors.append(f"{self.label}`{key}` has characters that are not text")
            return ""
        return cleaned

    def choice(self, key: str, options: Iterable[str]) -> str:
        """One of the options."""
        value = self.text(key, longest=200, single_line=True)
        known = sorted(options)
        if value and value not in known:
            self.errors.append(f"{self.label}unknown {key} `{value}`{_hint(value, known)}")
            return ""
        return value

    def number(self, key: str) -> float:
        """A finite number."""
        value = self._value(key)
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            return self._wrong(key, value, "a number", 0.0)
        return float(value)

    def words(self, key: str) -> tuple[str, ...]:
        """A list of unique texts."""
        value = self._value(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() and _storable(v) for v in value):
            return self._wrong(key, value, "a list of texts", ())
        return tuple(dict.fromkeys(v.strip() for v in value))

    def refuse_near_misses(self, known: Iterable[str]) -> None:
        """Records each unknown key that resembles a known one; other unknown keys are ignored."""
        expected = sorted(known)
        for key in self.data:
            if key not in expected and (near := _hint(key, [k for k in expected if k not in self.data], listed=False)):
                self.errors.append(f"{self.label}unknown key `{shown(key)}`{near}")

    def _value(self, key: str) -> Any:
        if self.data.get(key) is None:
            missing = "missing" if key not in self.data else "null"
            self.errors.append(f"{self.label}`{key}` is {missing}")
            return None
        return self.data[key]

    def _wrong(self, key: str, value: Any, expected: str, empty: T) -> T:
        self.errors.append(f"{self.label}`{key}` is `{shown(value)}`: it must be {expected}")
        return empty


def shown(value: Any) -> str:
    """A value from a model for an error message: short, printable, on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
    text = "".join(c if c.isprintable() else "�" for c in text)
    text = text if len(text) <= 60 else text[:57] + "…"
    return text if isinstance(value, str) and text else text or "empty"


def _storable(value: str) -> bool:
    return not any(
        unicodedata.category(c) == "Cs" or (unicodedata.category(c) == "Cc" and c not in "\n\t\r") for c in value
    )


def _hint(word: str, known: list[str], *, listed: bool = True) -> str:
    near = difflib.get_close_matches(word[:200], known, n=1, cutoff=0.6)
    if near:
        return f": did you mean `{near[0]}`?"
    return f": write one of {', '.join(known)}" if listed else ""
