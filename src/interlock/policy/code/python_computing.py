"""Recognises Python code that only computes, for foreign tools that run code.

Side effects of code are judged in `python_code`.
"""

import ast
import builtins
from functools import lru_cache

from interlock.policy.code import python_code, python_tree

_MODULES = frozenset(
    "math cmath statistics random re json itertools functools collections operator decimal fractions heapq bisect "
    "string datetime calendar time typing dataclasses enum abc copy textwrap unicodedata numbers array numpy scipy "
    "sympy pandas sklearn networkx __future__ binascii struct pprint fnmatch difflib uuid secrets "
    "zoneinfo ipaddress contextlib warnings colorsys html graphlib typing_extensions "
    "matplotlib seaborn tabulate".split()
)
"""Libraries for computing."""
_NOT = frozenset(
    "open input exec eval compile __import__ globals locals vars breakpoint getattr setattr delattr memoryview help "
    "exit quit".split()
)
_KEPT = (
    "to_",
    "read_",
    "save",
    "load",
    "write",
    "dump",
    "fetch",
    "tofile",
    "fromfile",
    "from_file",
    "genfromtxt",
    "imread",
    "imsave",
)
"""Prefixes of methods that read or store data elsewhere."""
_MOST = 4_000


@lru_cache(maxsize=512)
def only_computes(code: str) -> bool:
    """Whether code only computes and prints: known libraries, functions of its own, no files. Total."""
    if len(code) > _MOST or (tree := python_code.parsed(code)) is None or python_code.judge(code):
        return False
    if "://" in code and ("matplotlib" in code or "seaborn" in code):
        return False
    nodes = python_tree.nodes_of(tree, _MOST)
    if nodes is None:
        return False
    made = {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    made |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    made |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            whole = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if not all(name.partition(".")[0] in _MODULES for name in whole):
                return False
            made |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return all(_computes(node, made) for node in nodes)


def _computes(node: ast.AST, made: set[str]) -> bool:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id in made or (hasattr(builtins, node.id) and node.id not in _NOT)
    return not (isinstance(node, ast.Attribute) and node.attr.startswith(_KEPT) and node.attr != "to_dict")
