"""Evaluates Python expressions to the strings they certainly produce: joined, formatted, reversed, or joined paths.

The strings are judged elsewhere; an unknown one is None.
"""

import ast
from collections.abc import Callable, Mapping, Sequence

Dotted = Callable[[ast.AST], str | None]
DEEPEST = 20
LONGEST = 20_000
_PATHS = frozenset(
    ("os.path.expanduser", "os.path.abspath", "os.path.normpath", "os.path.realpath", "str", "os.fspath")
)
_SAME = frozenset("expanduser resolve absolute as_posix strip lstrip rstrip lower casefold encode decode".split())
_DECODING = frozenset(
    "b64decode b32decode b16decode b85decode a85decode urlsafe_b64decode standard_b64decode decodebytes fromhex "
    "unhexlify "
    "a2b_hex a2b_base64 decompress translate maketrans chr unquote bytes bytearray".split()
)


def text_of(node: ast.AST | None, known: Mapping[str, str | None], dotted: Dotted, depth: int = 0) -> str | None:
    """The string that an expression surely produces; `known` maps names to constants, `dotted` names attributes."""
    if depth > DEEPEST or node is None:
        return None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Constant):
        said = node.value
        return said if isinstance(said, str) else said.decode("latin-1") if isinstance(said, bytes) else None

    def inner(each: ast.AST | None) -> str | None:
        return text_of(each, known, dotted, depth + 1)

    match node:
        case ast.NamedExpr(value=value):
            return inner(value)
        case ast.BinOp(left=left, op=ast.Add() | ast.Div() as op, right=right):
            first, second = inner(left), inner(right)
            if isinstance(op, ast.Div):
                return None if first is None else _joined([first, second])
            return None if first is None or second is None else (first + second)[:LONGEST]
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            values = right.elts if isinstance(right, ast.Tuple) else [right]
            return _formatted(inner(left), [inner(each) for each in values])
        case ast.JoinedStr(values=values):
            parts = [inner(v.value if isinstance(v, ast.FormattedValue) else v) for v in values]
            return None if None in parts else "".join(part for part in parts if part is not None)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
            text = inner(value)
            return None if text is None else text[::-1]
        case ast.Call():
            return _called(node, inner, dotted)
    return None


def _called(node: ast.Call, inner: Callable[[ast.AST | None], str | None], dotted: Dotted) -> str | None:
    name = dotted(node.func) or ""
    given = [inner(each) for each in node.args]
    if name in _PATHS:
        return given[0] if given else None
    if name.rpartition(".")[2] in ("Path", "PurePath", "PosixPath", "PurePosixPath") or name.endswith("path.join"):
        return _joined(given) if given and (given[0] is not None or len(given) > 1) else None
    if name.endswith("Path.home"):
        return "~"
    if name == "chr" and isinstance(node.args[0] if node.args else None, ast.Constant):
        code = node.args[0].value  # type: ignore[attr-defined]
        return chr(code) if isinstance(code, int) and 0 <= code < 0x110000 else None
    if not isinstance(node.func, ast.Attribute):
        return None
    owner, method = inner(node.func.value), node.func.attr
    if owner is None:
        return None
    if method in _SAME:
        return owner
    if method == "joinpath":
        return _joined([owner, *given])
    if method == "join" and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
        parts = [inner(each) for each in node.args[0].elts]
        return None if None in parts else owner.join(part for part in parts if part is not None)[:LONGEST]
    if method == "format" and not node.keywords:
        return _formatted(owner.replace("{}", "%s"), given)
    if method == "replace" and len(given) == 2 and None not in given:
        return owner.replace(given[0] or "\0", given[1] or "")[:LONGEST]
    return None


def _joined(parts: Sequence[str | None]) -> str:
    out = ""
    for part in parts:
        each = "x" if part is None else part
        out = each if each.startswith(("/", "~")) or not out else f"{out.rstrip('/')}/{each}"
    return out[:LONGEST]


def _formatted(form: str | None, values: Sequence[str | None]) -> str | None:
    if form is None or None in values or form.count("%s") != len(values) or len(form) > LONGEST:
        return None
    parts = form.split("%s")
    return (parts[0] + "".join(f"{value}{part}" for value, part in zip(values, parts[1:], strict=True)))[:LONGEST]


def decodes(node: ast.AST) -> bool:
    """Whether an expression produces text by decoding or reversing, which hides it."""
    return any(
        (isinstance(each, ast.Attribute) and each.attr in _DECODING)
        or (isinstance(each, ast.Name) and each.id in _DECODING)
        for each in ast.walk(node)
    )
