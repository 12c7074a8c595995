"""Parses a shell script into the commands that it would run, with their words, input and redirections.

What a command does is judged in `commands`. Nothing is expanded but what the script itself determines.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from interlock.policy.command_lines import printing, redirections
from interlock.policy.command_lines.shell_words import Words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 16_384
MOST_NODES = 20_000
UNKNOWN = printing.UNKNOWN
"""Placeholder in a word for a part that is known only at run time."""

_PLAIN_START = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z_][A-Za-z0-9_]*'|\"[A-Za-z_][A-Za-z0-9_]*\"")
_SPLITS = re.compile(r"[ \t\n]")
_INDEXED = re.compile(r"\w\[[^\]\n]*(?:\$\(|`)")
_RUNS = re.compile(rb"(?<!\\)(?:`|\$\()")
_NESTS = re.compile(rb"[$`(]|<<")
"""A command whose text has none of these contains no other command."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_GLOB = re.compile(r"[*?\[{]")
_ANY_GLOB = re.compile(rb"[*?\[{]")
_PLAIN = frozenset("comment word string_content raw_string number heredoc_content variable_name".split())
_LEAVES = frozenset(("word", "regex", "string_content", "extglob_pattern"))
_COMMANDS = frozenset(("command", "declaration_command", "unset_command", "test_command"))
_EXPANDED = frozenset(("simple_expansion", "expansion", "command_substitution"))
_REDIRECTED = frozenset(("redirected_statement", "heredoc_redirect", "command"))


class Unreadable(ValueError):
    """The text is not a script that can be parsed reliably."""


@dataclass(slots=True)
class Command:
    """One command as the shell would run it."""

    words: tuple[str, ...]
    """The program and its arguments, unquoted; `UNKNOWN` stands for parts known only at run time."""
    assigned: tuple[tuple[str, str], ...] = ()
    """Variables set for this command, or by it if it has no words."""
    fed_by: "Command | None" = None
    """The command whose output is piped or redirected into it."""
    text_in: str | None = None
    """Its here-document or here-string."""
    redirects: tuple[tuple[str, str], ...] = ()
    """Operator and target of each redirection."""
    substitutes: bool = False
    """Whether one of its words is a command substitution."""
    inner: bool = False
    """Whether its own output becomes a word or the input of another command."""
    reads: tuple[str, ...] = ()
    """Names of the variables that its words expand."""
    in_function: str | None = None
    globs: tuple[str, ...] = ()
    """Its words that are subject to pathname or brace expansion."""
    decodes: bool = False
    """Whether one of its words is produced by decoding a text of the script."""


@dataclass(slots=True)
class _Place:
    """The context of the commands inside a node."""

    fed_by: "Command | None" = None
    text_in: str | None = None
    redirects: tuple[tuple[str, str], ...] = ()
    inner: bool = False
    in_function: str | None = None
    last: tuple[str, ...] = ()
    """The last word of the command, if the parser leaves it out."""


@lru_cache(maxsize=512)
def commands(text: str) -> tuple[Command, ...]:
    """The commands of a script in source order, including those in substitutions and functions.

    Raises Unreadable.
    """
    if len(text) > LONGEST:
        raise Unreadable("too long")
    source = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    if _CONTROL.search(source) is not None:
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
class _Reader(Words):
    peeked: dict[int, tuple[int, Command]] = field(default_factory=dict)
    """Parts of pipelines that were parsed ahead, with the value of `changes` at the time; by node id."""
    nodes: int = 0
    has_globs: bool = field(init=False)
    has_here_strings: bool = field(init=False)

    def __post_init__(self) -> None:
        self.has_globs = _ANY_GLOB.search(self.source) is not None
        self.has_here_strings = b"<<<" in self.source

    def read(self, root: "Node") -> Iterator[Command]:
        """The commands of a syntax tree, in order; without recursion, however deep it is.

        Raises Unreadable.
        """
        rest: list[tuple[Node, _Place]] = [(root, _Place())]
        runs = _RUNS.search(self.source) is not None
        large = root.descendant_count > MOST_NODES
        while rest:
            node, place = rest.pop()
            self.nodes += 1
            if self.nodes > MOST_NODES:
                raise Unreadable("too large")
            if runs and node.type in _LEAVES and _RUNS.search(self.source, node.start_byte, node.end_byte):
                raise Unreadable("a substitution where none is read")
            if node.type in _COMMANDS:
                yield self._parsed_ahead(node) or self._command(node, self._place_with_here_strings(node, place))
                if large or _NESTS.search(self.source, node.start_byte, node.end_byte) is not None:
                    inner = _Place(inner=True, in_function=place.in_function)
                    rest.extend([(child, inner) for child in reversed(node.named_children)])
            elif node.type not in _PLAIN:
                rest.extend((yield from self._visit(node, place)))

    def _visit(self, node: "Node", place: _Place) -> "Generator[Command, None, Iterable[tuple[Node, _Place]]]":
        """Yields the commands of a node other than a command; returns what to visit next, the last one first."""
        kind, children = node.type, node.named_children
        if kind == "redirected_statement":
            body = node.child_by_field_name("body")
            outer = self._redirected(node, place)
            if body is None:
                yield Command((), redirects=outer.redirects, in_function=place.in_function)
            body_id = None if body is None else body.id
            return [(child, outer if child.id == body_id else place) for child in reversed(children)]
        if kind == "heredoc_redirect":
            if (filled := redirections.filled_in(self.source, node)) is not None:
                yield from (replace(each, inner=True) for each in commands(filled)[1:])
            return self._after_heredoc(node, place)
        if kind == "pipeline":
            return reversed(self._parts(children, place))
        if kind == "variable_assignment":
            if node.parent is None or node.parent.type not in ("command", "declaration_command"):
                yield self._assigned(node, place)
            place = _Place(inner=True, in_function=place.in_function)
        elif kind == "file_redirect" and (node.parent is None or node.parent.type not in _REDIRECTED):
            yield Command((), redirects=(self._redirect(node),), in_function=place.in_function)
        elif kind == "function_definition":
            name = node.child_by_field_name("name")
            place = _Place(in_function=self.word(name) if name is not None else UNKNOWN)
        elif kind in ("command_substitution", "process_substitution"):
            place = _Place(inner=True, in_function=place.in_function)
        elif kind in ("for_statement", "select_statement"):
            variable = node.child_by_field_name("variable")
            if variable is not None:
                self.forget(self.slice(variable))
            yield self._loop(node, place)
        return [(child, place) for child in reversed(children)]

    def _parts(self, children: "list[Node]", place: _Place) -> "list[tuple[Node, _Place]]":
        """The parts of a pipeline, each with the command that feeds it."""
        before, text = place.fed_by, place.text_in
        parts: list[tuple[Node, _Place]] = []
        for number, child in enumerate(children):
            inner = place.inner or number < len(children) - 1
            where = _Place(before, text, place.redirects, inner, place.in_function, () if inner else place.last)
            parts.append((child, where))
            before, text = self._parse_ahead(child, where) or Command((UNKNOWN,)), None
        return parts

    def _parse_ahead(self, node: "Node", place: _Place) -> Command | None:
        """The command of a pipeline's part, if the part is a single command."""
        if node.type == "redirected_statement":
            place = self._redirected(node, place)
            body = node.child_by_field_name("body")
            return None if body is None else self._parse_ahead(body, place)
        if node.type != "command":
            return None
        changes = self.changes
        command = self._command(node, self._place_with_here_strings(node, place))
        self.peeked[node.id] = changes, command
        return command

    def _parsed_ahead(self, node: "Node") -> Command | None:
        """The command parsed ahead for a node, unless a variable was assigned since."""
        changes, command = self.peeked.get(node.id, (-1, None))
        return command if changes == self.changes else None

    def _place_with_here_strings(self, node: "Node", place: _Place) -> _Place:
        """The context of a command, including its own here-strings."""
        if not self.has_here_strings:
            return place
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
                found.last = redirections.left_out(self.source, child)
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
        """What follows `<<WORD` on its line: the rest of a pipeline, fed by the here-document."""
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
        """A pseudo-command `for` whose words are the values of a loop; it is inspected, not run."""
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
        if (kind := node.type) != "command" and node.children:
            found.append(self.slice(node.children[0]))
            if kind == "test_command" and _INDEXED.search(self.slice(node)):
                self.names.append("@P")
        for child in node.named_children:
            part = child.type
            if part == "variable_assignment":
                assigned.append(self._pair(child))
            elif part == "file_redirect":
                redirects += (self._redirect(child),)
            elif part not in ("herestring_redirect", "heredoc_redirect", "comment"):
                word = self.word(child)
                if self.has_globs and self._is_glob(child):
                    globs.append(word)
                if _SPLITS.search(word) and self._is_expanded(child):
                    found.extend(word.split())
                else:
                    found.append(word)
        found.extend(place.last)
        if kind == "declaration_command":
            for name, value in assigned:
                self.set(name, value)
        if found and found[0] in ("read", "mapfile", "readarray", "getopts", "printf", "let"):
            for name in found[1:]:
                self.forget(name)
        return Command(
            tuple(found), tuple(assigned), place.fed_by, place.text_in, redirects, self.substitutes, place.inner,
            tuple(self.names), place.in_function, tuple(globs), self.decodes,
        )  # fmt: skip

    def _is_expanded(self, node: "Node") -> bool:
        """Whether a word is an unquoted expansion, which the shell splits into words, the program's name included."""
        if node.type == "command_name" and node.named_child_count == 1:
            node = node.named_children[0]
        return node.type in _EXPANDED

    def _assigned(self, node: "Node", place: _Place) -> Command:
        self.names, self.decodes = [], False
        pair = self._pair(node)
        self.set(*pair)
        return Command(
            (), (pair,), inner=place.inner, reads=tuple(self.names), in_function=place.in_function, decodes=self.decodes
        )

    def _pair(self, node: "Node") -> tuple[str, str]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        whole = self.slice(node)
        text = "" if value is None else self.word(value)
        return self.slice(name) if name is not None else UNKNOWN, UNKNOWN if "+=" in whole[:80] else text
