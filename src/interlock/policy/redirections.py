"""What the parser of scripts gets wrong of redirections: words behind them, and how here-documents begin.

What a script does is not known here.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNS = re.compile(r"(?<!\\)(?:`|\$\()")
MOST = 12
"""Redirections with words behind them in one script; more than that is no honest script."""


def in_order(source: bytes, root: "Node") -> bytes | None:
    """The script with the first words that stand behind a redirection before it; None if none do.

    The parser takes such words for further targets, a shell for words of the command: `git > log push` is
    `git push > log`.
    """
    if b">" not in source and b"<" not in source:
        return None
    rest = [root]
    while rest:
        node = rest.pop()
        if node.type == "file_redirect":
            behind = node.children_by_field_name("destination")[1:]
        elif node.type == "heredoc_redirect":
            behind = node.children_by_field_name("argument")
        else:
            behind = []
        if behind:
            start, end = behind[0].start_byte, behind[-1].end_byte
            before = source[: node.start_byte] + b" " + source[start:end] + b" "
            return before + source[node.start_byte : start] + source[end:]
        rest.extend(reversed(node.named_children))
    return None


def document(source: bytes, node: "Node") -> str:
    """A here-document from the line after its start to its end; the parser leaves out how some of them begin."""
    start = next((child for child in node.named_children if child.type == "heredoc_start"), node)
    end = next((child.start_byte for child in node.named_children if child.type == "heredoc_end"), node.end_byte)
    at = source.find(b"\n", start.end_byte) + 1
    return source[at:end].decode("utf-8", "replace") if 0 < at <= end else ""


def filled_in(source: bytes, node: "Node") -> str | None:
    """What a shell would fill in of a here-document, as a script of its own; None if there is nothing to fill in."""
    start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
    if start is None or not source[start.start_byte : start.end_byte].decode("utf-8", "replace").isidentifier():
        return None
    text = document(source, node)
    return f': "{text.replace(chr(34), "")}"' if _RUNS.search(text) else None
