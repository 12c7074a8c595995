"""Corrects how the parser reads redirections: words after a target, and the start of here-documents.

What a script does is judged in `commands`.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_RUNS = re.compile(r"(?<!\\)(?:`|\$\()")
MOST = 12
"""Redirections with words after their targets in one script; a script with more is rejected as unreadable."""


def in_order(source: bytes, root: "Node") -> bytes | None:
    """The script with the first words that follow a redirection's target moved before it; None if there are none.

    The parser takes such words for further targets, a shell for arguments of the command: `git > log push` is
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
    """The text of a here-document; the parser drops the first characters of some."""
    start = next((child for child in node.named_children if child.type == "heredoc_start"), node)
    end = next((child.start_byte for child in node.named_children if child.type == "heredoc_end"), node.end_byte)
    at = source.find(b"\n", start.end_byte) + 1
    return source[at:end].decode("utf-8", "replace") if 0 < at <= end else ""


def left_out(source: bytes, node: "Node") -> tuple[str, ...]:
    """The word `-` before a here-document, which the parser drops: `make -f - <<EOF`."""
    before = source[: node.start_byte].rstrip()
    return ("-",) if before.endswith((b" -", b"\t-")) else ()


def filled_in(source: bytes, node: "Node") -> str | None:
    """The expansions of a here-document as a script of its own; None if it has none."""
    start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
    if start is None or not source[start.start_byte : start.end_byte].decode("utf-8", "replace").isidentifier():
        return None
    text = document(source, node)
    return f': "{text.replace(chr(34), "")}"' if _RUNS.search(text) else None
