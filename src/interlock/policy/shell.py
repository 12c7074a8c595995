"""A shell script as the commands it would run: words, what feeds them, where their output goes.

What a command means is not known here; nothing is expanded that the script does not settle itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from interlock.policy import printing, redirections

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 16_384
MOST_NODES = 20_000
UNKNOWN = printing.UNKNOWN
"""Stands in a word for what only shows when the script runs."""

_KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": ".", "UID": "0", "RANDOM": "0", "LINENO": "0", "SECONDS": "0"}
_PLAIN_START = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z_][A-Za-z0-9_]*'|\"[A-Za-z_][A-Za-z0-9_]*\"")
_SPLITS = re.compile(r"[ \t\n]")
_INDEXED = re.compile(r"\w\[[^\]\n]*(?:\$\(|`)")
_RUNS = re.compile(rb"(?<!\\)(?:`|\$\()")
_GLOB = re.compile(r"[*?\[{]")
_PLAIN = frozenset("comment word string_content raw_string number heredoc_content variable_name".split())
_QUIET = frozenset(("word", "number", "string_content", "comment"))
_LEAVES = frozenset(("word", "regex", "string_content", "extglob_pattern"))
_REDIRECTED = frozenset(("redirected_statement", "heredoc_redirect", "command"))


class Unreadable(ValueError):
    """The text is no script that can be read for sure."""


@dataclass(slots=True)
class Command:
    """One command as it would run."""

    words: tuple[str, ...]
    """The program and its arguments, unquoted; `UNKNOWN` where a part shows only at run time."""
    assigned: tuple[tuple[str, str], ...] = ()
    """Variables set for this command, or by it where it has no words."""
    fed_by: "Command | None" = None
    """The command whose output it reads."""
    text_in: str | None = None
    """The here-document or here-string that it reads."""
    redirects: tuple[tuple[str, str], ...] = ()
    """Operator and target of each redirection."""
    substitutes: bool = False
    """Whether one of its words is the output of another command."""
    inner: bool = False
    """Whether its own output becomes words, or input, of another command."""
    reads: tuple[str, ...] = ()
    """Names of the variables that its words are made of."""
    in_function: str | None = None
    globs: tuple[str, ...] = ()
    """Those of its words that the shell fills in from what files there are, or writes out."""
    decodes: bool = False
    """Whether one of its words is made by decoding what the script says."""


@dataclass(slots=True)
class _Place:
    """What holds for the commands inside a node."""

    fed_by: "Command | None" = None
    text_in: str | None = None
    redirects: tuple[tuple[str, str], ...] = ()
    inner: bool = False
    in_function: str | None = None


@lru_cache(maxsize=512)
def commands(text: str) -> tuple[Command, ...]:
    """The commands of a script in the order in which they stand, those in substitutions and functions included.

    Raises Unreadable.
    """
    if len(text) > LONGEST:
        raise Unreadable("too long")
    source = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    if any(byte < 32 and byte not in (9, 10) for byte in source) or b"\x7f" in source:
        raise Unreadable("control characters")
    root = _parser().parse(source).root_node
    for _ in range(redirections.MOST):
        if root.has_error:
            raise Unreadable("not a whole script")
        if (moved := redirections.in_order(source, root)) is None:
            return tuple(_Reader(source).read(root))
        source = moved
        root = _parser().parse(source).root_node
    raise Unreadable("too many words behind redirections")


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


@dataclass(slots=True)
class _Reader:
    source: bytes
    variables: dict[str, str] = field(default_factory=dict)
    nodes: int = 0
    substitutes: bool = False
    decodes: bool = False
    names: list[str] = field(default_factory=list)

    def read(self, root: "Node") -> Iterator[Command]:
        rest: list[tuple[Node, _Place]] = [(root, _Place())]
        last: dict[int, Command] = {}
        runs = _RUNS.search(self.source) is not None
        while rest:
            node, place = rest.pop()
            self.nodes += 1
            kind = node.type
            if self.nodes > MOST_NODES:
                raise Unreadable("too large")
            if runs and kind in _LEAVES and _RUNS.search(self.source, node.start_byte, node.end_byte):
                raise Unreadable("a substitution where none is read")
            if kind in _PLAIN:
                continue
            children = node.named_children
            if kind in ("command", "declaration_command", "unset_command", "test_command"):
                place = self._heard(node, place)
                command = self._command(node, place)
                last[node.id] = command
                yield command
                place = _Place(inner=True, in_function=place.in_function)
            elif kind == "variable_assignment":
                if node.parent is None or node.parent.type not in ("command", "declaration_command"):
                    yield self._assigned(node, place)
                place = _Place(inner=True, in_function=place.in_function)
            elif kind == "redirected_statement":
                body = node.child_by_field_name("body")
                outer = self._redirected(node, place)
                if body is None:
                    yield Command((), redirects=outer.redirects, in_function=place.in_function)
                for child in reversed(children):
                    rest.append((child, outer if body is not None and child.id == body.id else place))
                continue
            elif kind == "file_redirect" and (node.parent is None or node.parent.type not in _REDIRECTED):
                yield Command((), redirects=(self._redirect(node),), in_function=place.in_function)
            elif kind == "heredoc_redirect":
                if (filled := redirections.filled_in(self.source, node)) is not None:
                    yield from (replace(each, inner=True) for each in commands(filled)[1:])
                rest.extend(self._after_heredoc(node, place))
                continue
            elif kind == "pipeline":
                rest.extend(reversed(self._parts(children, place)))
                continue
            elif kind == "function_definition":
                name = node.child_by_field_name("name")
                place = _Place(in_function=self.word(name) if name is not None else UNKNOWN)
            elif kind in ("command_substitution", "process_substitution"):
                place = _Place(inner=True, in_function=place.in_function)
            elif kind in ("for_statement", "select_statement"):
                variable = node.child_by_field_name("variable")
                if variable is not None:
                    self.variables[self.slice(variable)] = UNKNOWN
                yield self._loop(node, place)
            rest.extend((child, place) for child in reversed(children))

    def _parts(self, children: "list[Node]", place: _Place) -> "list[tuple[Node, _Place]]":
        """The parts of a pipeline, each with a view of what feeds it."""
        before, text = place.fed_by, place.text_in
        parts: list[tuple[Node, _Place]] = []
        for number, child in enumerate(children):
            inner = place.inner or number < len(children) - 1
            where = _Place(before, text, place.redirects, inner, place.in_function)
            parts.append((child, where))
            before, text = self._peek(child, where) or Command((UNKNOWN,)), None
        return parts

    def _peek(self, node: "Node", place: _Place) -> Command | None:
        """The command that a part of a pipeline is, if it is a single one."""
        if node.type == "redirected_statement":
            place = self._redirected(node, place)
            body = node.child_by_field_name("body")
            return None if body is None else self._peek(body, place)
        return self._command(node, self._heard(node, place)) if node.type == "command" else None

    def _heard(self, node: "Node", place: _Place) -> _Place:
        """The place of a command with its own here-strings."""
        for child in node.named_children:
            if child.type == "herestring_redirect":
                inside = [each for each in child.named_children if each.type != "file_descriptor"]
                text = self.word(inside[-1]) if inside else UNKNOWN
                place = _Place(None, text, place.redirects, place.inner, place.in_function)
        return place

    def _redirected(self, node: "Node", place: _Place) -> _Place:
        found = _Place(place.fed_by, place.text_in, place.redirects, place.inner, place.in_function)
        for child in node.named_children:
            if child.type == "file_redirect":
                found.redirects += (self._redirect(child),)
                if (sign := found.redirects[-1][0]).startswith("<"):
                    found.fed_by = None if sign == "<&" else Command(("cat", found.redirects[-1][1]))
                    found.text_in = None
            elif child.type == "heredoc_redirect":
                found.text_in, found.fed_by = self._heredoc(child), None
                found.redirects += tuple(self._redirect(c) for c in child.named_children if c.type == "file_redirect")
                found.inner |= any(c.type == "pipeline" for c in child.named_children)
            elif child.type == "herestring_redirect":
                inside = [each for each in child.named_children if each.type != "file_descriptor"]
                found.text_in, found.fed_by = (self.word(inside[-1]) if inside else UNKNOWN), None
        return found

    def _redirect(self, node: "Node") -> tuple[str, str]:
        operator = next((c.type for c in node.children if not c.is_named), ">")
        targets = node.children_by_field_name("destination")
        return operator, self.word(targets[-1]) if targets else UNKNOWN

    def _heredoc(self, node: "Node") -> str:
        start = next((c for c in node.named_children if c.type == "heredoc_start"), None)
        body = next((c for c in node.named_children if c.type == "heredoc_body"), None)
        if start is None or not _PLAIN_START.fullmatch(self.slice(start)):
            raise Unreadable("a here-document whose end cannot be told")
        if body is None:
            return ""
        text, word = redirections.document(self.source, node), self.slice(start).strip("'\"")
        if any(line.lstrip("\t") == word for line in text.split("\n")[:-1]):
            raise Unreadable("a here-document whose end cannot be told")
        return text

    def _after_heredoc(self, node: "Node", place: _Place) -> "Iterator[tuple[Node, _Place]]":
        """What stands on the line of a here-document's start: more pipeline, fed by the document."""
        text = self._heredoc(node)
        for child in reversed(node.named_children):
            if child.type == "pipeline":
                where = _Place(None, text, (), place.inner, place.in_function)
                yield from reversed(self._parts(child.named_children, where))
            elif child.type == "heredoc_body":
                yield child, _Place(inner=True, in_function=place.in_function)
            elif child.type not in ("heredoc_start", "heredoc_end", "file_redirect"):
                yield child, _Place(in_function=place.in_function)

    def _loop(self, node: "Node", place: _Place) -> Command:
        """The values of a loop, as words that are only looked at."""
        self.substitutes, self.names, self.decodes = False, [], False
        values = node.children_by_field_name("value")
        found = ("for", *(self.word(value) for value in values))
        globs = tuple(self.slice(value) for value in values if self._is_glob(value))
        return Command(
            found, inner=True, reads=tuple(self.names), in_function=place.in_function, globs=globs, decodes=self.decodes
        )

    def _is_glob(self, node: "Node") -> bool:
        if node.type not in ("word", "concatenation", "brace_expression", "extglob_pattern"):
            return False
        if _GLOB.search(self.slice(node)) is None:
            return False
        return node.type != "concatenation" or any(
            child.type in ("word", "brace_expression", "extglob_pattern") or not child.is_named
            for child in node.children
            if _GLOB.search(self.slice(child))
        )

    def _command(self, node: "Node", place: _Place) -> Command:
        self.substitutes, self.names, self.decodes = False, [], False
        found: list[str] = []
        globs: list[str] = []
        assigned: list[tuple[str, str]] = []
        redirects = place.redirects
        if node.type != "command" and node.children:
            found.append(self.slice(node.children[0]))
            if node.type == "test_command" and _INDEXED.search(self.slice(node)):
                self.names.append("@P")
        for child in node.named_children:
            if child.type == "variable_assignment":
                assigned.append(self._pair(child))
            elif child.type == "file_redirect":
                redirects += (self._redirect(child),)
            elif child.type not in ("herestring_redirect", "heredoc_redirect", "comment"):
                word = self.word(child)
                if self._is_glob(child):
                    globs.append(word)
                if child.type in ("simple_expansion", "expansion") and _SPLITS.search(word):
                    found.extend(word.split())
                else:
                    found.append(word)
        if node.type == "declaration_command":
            for name, value in assigned:
                self._set(name, value)
        if found and found[0] in ("read", "mapfile", "readarray", "getopts", "printf", "let"):
            for name in found[1:]:
                self.variables[name] = UNKNOWN
        return Command(
            tuple(found), tuple(assigned), place.fed_by, place.text_in, redirects, self.substitutes, place.inner,
            tuple(self.names), place.in_function, tuple(globs), self.decodes,
        )  # fmt: skip

    def _assigned(self, node: "Node", place: _Place) -> Command:
        self.names, self.decodes = [], False
        pair = self._pair(node)
        self._set(*pair)
        return Command(
            (), (pair,), inner=place.inner, reads=tuple(self.names), in_function=place.in_function, decodes=self.decodes
        )

    def _pair(self, node: "Node") -> tuple[str, str]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        whole = self.slice(node)
        text = "" if value is None else self.word(value)
        return self.slice(name) if name is not None else UNKNOWN, UNKNOWN if "+=" in whole[:80] else text

    def _set(self, name: str, value: str) -> None:
        known = self.variables.get(name)
        self.variables[name] = value if known is None or known == value else UNKNOWN

    def slice(self, node: "Node") -> str:
        """The text of a node as written."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def word(self, node: "Node", depth: int = 0) -> str:
        """A word as the command would get it."""
        kind = node.type
        if depth > 20:
            return UNKNOWN
        if kind in ("word", "number", "variable_name", "test_operator", "extglob_pattern", "regex"):
            if any(child.type not in _QUIET for child in node.named_children):
                return self._joined(node, depth)
            return re.sub(r"\\(\n|.)", lambda m: "" if m[1] == "\n" else m[1], self.slice(node))
        if kind == "raw_string":
            return self.slice(node)[1:-1]
        if kind == "ansi_c_string":
            return printing.unescaped(self.slice(node)[2:-1])
        if kind in ("string", "translated_string"):
            return self._quoted(node, depth)
        if kind in ("concatenation", "command_name", "heredoc_body"):
            return self._joined(node, depth)
        if kind in ("simple_expansion", "expansion"):
            return self._expanded(node)
        if kind == "string_content":
            return self.slice(node)
        if kind in ("command_substitution", "process_substitution"):
            self.substitutes = True
            return self._substituted(node, depth) if kind == "command_substitution" else UNKNOWN
        return UNKNOWN

    def _substituted(self, node: "Node", depth: int) -> str:
        """What a substitution surely prints, as `echo` and `printf` do; one that decodes what is said is noted."""
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1 or depth > 10:
            return UNKNOWN
        parts = inner[0].named_children if inner[0].type == "pipeline" else inner
        names = [printing.program(self.slice(part)) for part in parts if part.type == "command"]
        plain = names[:1] in (["echo"], ["printf"])
        fed = any(child.type == "herestring_redirect" for part in parts for child in (part, *part.named_children))
        said = plain and not any("$" in self.slice(child) for child in parts[0].named_children[1:])
        if (said or fed) and printing.DECODERS.intersection(names):
            self.decodes = True
        if names == ["which"] and (found := printing.found(self.slice(inner[0]))):
            return found
        if len(parts) != 1 or not plain or inner[0].type != "command":
            return UNKNOWN
        kept = self.substitutes, self.names, self.decodes
        words = [self.word(child, depth + 1) for child in inner[0].named_children[1:]]
        self.substitutes, self.names, self.decodes = True, kept[1] + self.names, kept[2] or self.decodes
        return printing.printed((names[0], *words))

    def _joined(self, node: "Node", depth: int) -> str:
        out, at = [], node.start_byte
        for child in node.children:
            out.append(self.source[at : child.start_byte].decode("utf-8", "replace"))
            out.append(self.word(child, depth + 1) if child.is_named else self.slice(child))
            at = child.end_byte
        return "".join(out)

    def _quoted(self, node: "Node", depth: int) -> str:
        out: list[str] = []
        at = node.start_byte
        for child in node.children:
            out.append(self.source[at : child.start_byte].decode("utf-8", "replace"))
            if child.type == "string_content":
                out.append(re.sub(r"\\([\\$`\"\n])", lambda m: "" if m[1] == "\n" else m[1], self.slice(child)))
            elif child.is_named:
                out.append(self.word(child, depth + 1))
            elif child.type not in ('"', '$"'):
                out.append(self.slice(child))
            at = child.end_byte
        return "".join(out)

    def _expanded(self, node: "Node") -> str:
        text = self.slice(node)
        if text.endswith("@P}") or (text.startswith("${!") and text[-2] not in "*@]"):
            self.names.append("@P")
        bare = re.match(r"!?[A-Za-z_][A-Za-z0-9_]*", name := text.strip("${}"))
        if bare is not None:
            self.names.append(bare.group().lstrip("!"))
        if text not in (f"${name}", f"${{{name}}}"):
            return UNKNOWN
        return self.variables.get(name, _KNOWN.get(name, UNKNOWN))
