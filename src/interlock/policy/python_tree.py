"""The nodes of the syntax tree of Python code, in the order in which they stand.

What they mean is not known here.
"""

import ast
from collections.abc import Collection, Sequence


def nodes_of(tree: ast.AST, most: int) -> list[ast.AST] | None:
    """The nodes that have parts of their own, so no mere signs; None if a tree has more than `most` nodes."""
    found: list[ast.AST] = []
    rest = [tree]
    seen = 0
    while rest:
        node = rest.pop()
        seen += 1
        if seen > most:
            return None
        if node._fields:
            found.append(node)
            rest.extend(reversed(_children(node)))
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, in less time."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def carried(nodes: Sequence[ast.AST], modules: Collection[str]) -> list[str]:
    """Those of some modules that code uses and does not bind itself, as a cell does where an earlier one imported."""
    used = {
        node.value.id
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    }
    if not used:
        return []
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            used.discard(node.id)
        elif isinstance(node, ast.arg):
            used.discard(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            used.difference_update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            used.discard(node.name)
    return sorted(used)
