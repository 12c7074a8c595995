"""The nodes of the syntax tree of Python code, in the order in which they stand.

What they mean is not known here.
"""

import ast


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
