"""Judges file access of calls in Python code: secrets, system files, files outside the workspace.

Expressions are evaluated in `python_texts`.
"""

import ast
from collections.abc import Callable, Iterator, Sequence

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.code import python_names as t
from interlock.policy.code import python_texts
from interlock.policy.values import paths

TextOf = Callable[[ast.AST | None], str | None]
_EXPORTS = frozenset("to_csv to_json to_excel to_pickle savefig".split())
_TAKES_PATHS = _EXPORTS | {"open", "Path", "save", "write_text"}


def judge(name: str | None, last: str, node: ast.Call, text_of: TextOf) -> Iterator[Raised]:
    """Findings for the files that a call reads and writes; `last` is the last part of its dotted name."""
    given = [text_of(each) for each in (*node.args, *(keyword.value for keyword in node.keywords))]
    texts = [each for each in given if each is not None]
    if name in t.PATH_CALLS or last in _TAKES_PATHS:
        yield from _named_paths(name, node, texts, text_of)
    if name in ("os.rename", "os.replace", "shutil.move") and "/dev/null" in texts:
        yield kinds.DESTROYS
    writes = name in t.WRITING or last in _EXPORTS
    targets = texts[:2] if name in t.WRITING else texts[:1]
    if last == "open" and name != "os.open":
        mode = _mode(node, text_of, 0 if isinstance(node.func, ast.Attribute) and name not in t.PATH_CALLS else 1)
        writes = mode is None or t.WRITE_MODE.search(mode) is not None
    elif last in t.PATH_WRITES and isinstance(node.func, ast.Attribute):
        writes = last != "replace" or len(node.args) == 1
        owner = text_of(node.func.value)
        targets = [owner] if owner is not None else []
        targets += texts[:1] if last in ("symlink_to", "hardlink_to", "link_to", "rename", "replace") else []
    if last in t.PATH_READS and isinstance(node.func, ast.Attribute):
        owner = text_of(node.func.value)
        if owner is not None and paths.touches_secret(owner):
            yield kinds.READS_SECRETS
        if owner is not None and "\n" not in owner and paths.reads_system(owner):
            yield kinds.OUTSIDE_WORKSPACE
        if last == "open" and owner is not None and "." not in (name or "").partition(".")[0]:
            targets = [owner] if name not in t.PATH_CALLS else targets
    if writes:
        for target in targets:
            if "\n" not in target and paths.is_outside(target):
                yield kinds.OUTSIDE_WORKSPACE
            if "\n" not in target:
                yield from paths.written(target)


def _named_paths(name: str | None, node: ast.Call, texts: Sequence[str], text_of: TextOf) -> Iterator[Raised]:
    """Findings for the paths in a call's arguments, whatever the call does with them."""
    if any(text_of(each) is None and python_texts.decodes(each) for each in node.args[:2]):
        yield kinds.HIDDEN
    if name == "os.chdir" and any(paths.is_system(text) for text in texts):
        yield kinds.OUTSIDE_WORKSPACE
    for text in texts:
        if paths.touches_secret(text):
            yield kinds.READS_SECRETS
        if "\n" not in text and paths.reads_system(text):
            yield kinds.OUTSIDE_WORKSPACE


def _mode(node: ast.Call, text_of: TextOf, position: int) -> str | None:
    given = node.args[position] if len(node.args) > position else None
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), given)
    return "r" if given is None else text_of(given)
