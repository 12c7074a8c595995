"""Visits the nodes of a Python syntax tree in source order.

The nodes are judged in `python_code`.
"""

import ast
from collections.abc import Collection, Sequence


def nodes_of(tree: ast.AST, most: int) -> list[ast.AST] | None:
    """The nodes in source order, without operators and contexts; None if there are more than `most`."""
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
    """The result of `ast.iter_child_nodes`, computed faster."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def carried(nodes: Sequence[ast.AST], modules: Collection[str]) -> list[str]:
    """Those of `modules` that code uses without binding them, as a notebook cell may after an earlier import."""
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
