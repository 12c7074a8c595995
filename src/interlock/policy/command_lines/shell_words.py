"""Expands the words of a shell script as a command would receive them: unquoted, with known variables filled in.

How words form commands is determined in `shell`.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlock.policy.command_lines import printing
from interlock.policy.command_lines.printing import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

_KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": ".", "UID": "0", "RANDOM": "0", "LINENO": "0", "SECONDS": "0"}
_ESCAPED = re.compile(r"\\(\n|.)")
_ESCAPED_IN_QUOTES = re.compile(r"\\([\\$`\"\n])")
_NAME = re.compile(r"!?[A-Za-z_][A-Za-z0-9_]*")
_COMMAND_FOLLOWS = frozenset((" ", "\t", "\n", "|"))
"""What follows `${` where newer shells run commands: `${ ls; }`."""
_QUIET = frozenset(("word", "number", "string_content", "comment"))
_WORDS = frozenset(("word", "number", "variable_name", "test_operator", "extglob_pattern", "regex"))


@dataclass(slots=True)
class Words:
    """The words of one script, expanded in source order."""

    source: bytes
    variables: dict[str, str] = field(default_factory=dict)
    changes: int = 0
    """How many assignments have been seen so far."""
    substitutes: bool = False
    decodes: bool = False
    names: list[str] = field(default_factory=list)

    def set(self, name: str, value: str) -> None:
        """Records an assignment; a variable with two different values becomes unknown."""
        known = self.variables.get(name)
        self.variables[name] = value if known is None or known == value else UNKNOWN
        self.changes += 1

    def forget(self, name: str) -> None:
        """Records that a variable's value is unknown from here on."""
        self.variables[name] = UNKNOWN
        self.changes += 1

    def slice(self, node: "Node") -> str:
        """The source text of a node."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def word(self, node: "Node", depth: int = 0) -> str:
        """A word as the command would receive it."""
        kind = node.type
        if depth > 20:
            return UNKNOWN
        if kind in _WORDS:
            if node.named_child_count and any(child.type not in _QUIET for child in node.named_children):
                return self._joined(node, depth)
            text = self.slice(node)
            return _ESCAPED.sub(_unescaped, text) if "\\" in text else text
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
        """The output of a substitution if it is known, as for `echo` and `printf`; decoding is recorded."""
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
        if names == ["which"] and (found := printing.which_output(self.slice(inner[0]))):
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
            if at < child.start_byte:
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
                out.append(_ESCAPED_IN_QUOTES.sub(_unescaped, self.slice(child)))
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
        if text[2:3] in _COMMAND_FOLLOWS and text.startswith("${"):
            self.decodes = True
        bare = _NAME.match(name := text.strip("${}"))
        if bare is not None:
            self.names.append(bare.group().lstrip("!"))
        if text not in (f"${name}", f"${{{name}}}"):
            return UNKNOWN
        return self.variables.get(name, _KNOWN.get(name, UNKNOWN))


def _unescaped(escaped: re.Match[str]) -> str:
    return "" if escaped[1] == "\n" else escaped[1]
