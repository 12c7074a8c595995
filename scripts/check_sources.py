"""Checks of the tracked files that no other tool makes: sizes, and traces of the machine; no judgement of style.

`python -m scripts.check_sources` prints every fault as `file:line: problem` and ends with 1 if there was one.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULE_LINES = 400
FUNCTION_LINES = 60
TRACES = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|farm|root)/[A-Za-z.]|\.\./shared\b"),
    "the address of a package index": re.compile(
        r"index[-_]url|find[-]links|pythonhosted[.]org|pypi[.]org/simple|/simple/?\"|registry\s*=\s*\"?http",
        re.IGNORECASE,
    ),
}
IGNORED = {".git", ".venv", ".make", ".interlock", "__pycache__", "build", "dist"}


def tracked_files(root: Path) -> list[Path]:
    """Every file of the repository, tracked or about to be; outside git, every file that is not a by-product."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        files = [root / name for name in listing.stdout.decode().split("\0") if name]
    else:
        files = [path for path in root.rglob("*") if not IGNORED.intersection(path.relative_to(root).parts)]
    return sorted(path for path in files if path.is_file() and not path.is_symlink())


def is_migration(path: Path) -> bool:
    """Whether the file is a record of a schema change, which is as long as the change."""
    return path.parts[-3:-1] == ("migrations", "versions")


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function, however deep; only statements are gone through, since nothing else holds any."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, field, ()):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield inner
            yield from functions_in(inner)


def size_faults(path: Path, text: str, module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and problem of a module that is too long and of every function that is."""
    count = len(text.splitlines())
    if count > MODULE_LINES and "tests" not in path.parts:
        yield 1, f"a module of {count} lines: split it, {MODULE_LINES} is the limit"
    for node in functions_in(module):
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LINES:
            yield node.lineno, f"`{node.name}` has {length} lines: split it, {FUNCTION_LINES} is the limit"


def docstring_faults(module: ast.Module) -> Iterator[tuple[int, str]]:
    """A fault where the module does not say what it is for."""
    if not ast.get_docstring(module):
        yield 1, "no docstring: say what the module is for and what does not belong in it"


def name_faults(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and problem of every constant that a module defines a second time: what used the first uses the second."""
    seen: set[str] = set()
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for name in [target.id for target in targets if isinstance(target, ast.Name) and target.id.isupper()]:
            if name in seen:
                yield node.lineno, f"`{name}` has a value already: give this one another name"
            seen.add(name)


def trace_faults(text: str) -> Iterator[tuple[int, str]]:
    """Line and problem of every trace of the machine the text was written on."""
    if not any(pattern.search(text) for pattern in TRACES.values()):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in TRACES.items():
            if pattern.search(line):
                yield number, f"names {what}"


def faults_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and problem of everything that is wrong with one file; nothing for files that are not text."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    yield from trace_faults(text)
    if path.suffix != ".py":
        return
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        yield error.lineno or 1, f"does not parse: {error.msg}"
        return
    yield from docstring_faults(module)
    yield from name_faults(module)
    if not is_migration(path):
        yield from size_faults(path, text, module)


def repository_faults(root: Path = ROOT) -> list[str]:
    """Every fault of the repository, as `file:line: problem`."""
    return [
        f"{path.relative_to(root)}:{line}: {problem}"
        for path in tracked_files(root)
        for line, problem in sorted(faults_of(path))
    ]


def main() -> int:
    """Print the faults; the exit code."""
    faults = repository_faults()
    print("\n".join(faults) if faults else "sources: no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
