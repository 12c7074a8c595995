"""Assembles the tool calls of a chat completion from their pieces, whatever a provider omits or repeats.

Executing them is the runner's job.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.core.ids import new_id
from interlock.llm.messages import ToolUse
from interlock.llm.reading import json_object, whole

_OWN = frozenset({"id", "type", "index", "function", "name", "arguments"})


class Calls:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._by_index: dict[int, _Draft] = {}

    def __bool__(self) -> bool:
        return bool(self._drafts)

    def accept(self, pieces: Sequence[Any]) -> tuple[list[str], int]:
        """Adds the pieces of a delta; returns the names of calls whose arguments begin, and the characters received."""
        touched: list[_Draft] = []
        names, size = [], 0
        for piece in pieces:
            if not isinstance(piece, Mapping):
                raise ValueError("a call that is not an object")
            function = piece.get("function")
            function = function if isinstance(function, Mapping) else piece
            ident, name = _text(piece.get("id")), _text(function.get("name"))
            draft = self._draft(piece.get("index"), ident, name, touched)
            touched.append(draft)
            draft.ident = draft.ident or ident
            draft.take_name(name)
            size += draft.take_arguments(function.get("arguments"))
            draft.extra.update({k: v for k, v in piece.items() if k not in _OWN and v})
            if draft.has_arguments and not draft.announced:
                draft.announced = True
                names.append(draft.name)
        return names, size

    def rest(self) -> list[str]:
        """The names of calls that `accept` has not returned."""
        late = [draft for draft in self._drafts if not draft.announced and draft.name]
        for draft in late:
            draft.announced = True
        return [draft.name for draft in late]

    def uses(self, provider: str) -> list[ToolUse]:
        """The calls, each with a unique id."""
        taken: set[str] = set()
        out = []
        for draft in self._drafts:
            if not (draft.name or draft.has_arguments):
                continue
            ident = draft.ident if draft.ident and draft.ident not in taken else new_id("call")
            taken.add(ident)
            out.append(draft.use(ident, provider))
        return out

    def _draft(self, index: Any, ident: str, name: str, touched: "list[_Draft]") -> "_Draft":
        """The call that a piece belongs to; a new one if the piece begins it."""
        if isinstance(index, int) and not isinstance(index, bool):
            found = self._by_index.get(index)
            if found is None or found.is_over(ident, name) or (name and found in touched):
                found = self._by_index[index] = self._begin()
            return found
        last = self._drafts[-1] if self._drafts else None
        if last is None or last in touched:
            return self._begin()
        same = next((draft for draft in self._drafts if ident and draft.ident == ident), None)
        if same is not None:
            return same
        begins = name and (ident or name != last.name or last.is_complete())
        return self._begin() if begins else last

    def _begin(self) -> "_Draft":
        draft = _Draft()
        self._drafts.append(draft)
        return draft


class _Draft:
    """A call while it is received."""

    def __init__(self) -> None:
        self.ident = ""
        self.name = ""
        self.pieces: list[str] = []
        self.whole_arguments: dict[str, Any] | None = None
        self.extra: dict[str, Any] = {}
        self.announced = False

    @property
    def has_arguments(self) -> bool:
        """Whether any arguments have been received."""
        return bool(self.pieces) or self.whole_arguments is not None

    def is_over(self, ident: str, name: str) -> bool:
        """Whether a piece with the same index begins another call: it has another id, and a name."""
        return bool(ident and name and self.ident and ident != self.ident) and (
            self.is_complete() or not self.pieces or name != self.name
        )

    def is_complete(self) -> bool:
        """Whether its arguments are a complete JSON object."""
        return self.whole_arguments is not None or json_object("".join(self.pieces)) is not None

    def take_name(self, name: str) -> None:
        """Adds a name: providers send it once, repeatedly, growing, or in pieces before the arguments."""
        if name.startswith(self.name):
            self.name = name or self.name
        elif name and not self.has_arguments and not self.name.startswith(name):
            self.name += name

    def take_arguments(self, given: Any) -> int:
        """Adds arguments: providers send them as text, in pieces or repeated as a whole, or as an object."""
        if isinstance(given, Mapping):
            self.whole_arguments = {**(self.whole_arguments or {}), **given}
            return len(json.dumps(given, default=str))
        if not isinstance(given, str) or not given:
            return 0
        if given[:1] == "{" and self.pieces and self.pieces[-1][-1:] == "}" and self.is_complete():
            self.pieces.clear()
        self.pieces.append(given)
        return len(given)

    def use(self, ident: str, provider: str) -> ToolUse:
        """The call."""
        raw = "".join(self.pieces)
        args = self.whole_arguments if not raw.strip() and self.whole_arguments is not None else _arguments(raw)
        marks = {provider: self.extra} if self.extra else None
        return ToolUse(whole(ident), whole(self.name), args, "" if args is not None else whole(raw), marks)


def _arguments(raw: str) -> dict[str, Any] | None:
    if raw.strip() in ("", "null"):
        return {}
    found = json_object(raw)
    if found is None and raw.lstrip().startswith('"'):
        try:
            inner = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        return json_object(inner) if isinstance(inner, str) else None
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
