"""Detects resource exhaustion by scripts and code: infinite loops, fork bombs, unbounded files."""

import ast
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.command_lines.shell import Command
from interlock.policy.kinds import by

LARGEST = 2_000_000_000
"""The most characters or items that may be made at once."""
_LOOP = re.compile(
    r"\b(?:while\s+(?:true|:|1|\[\s*1\s*\]|\(\(\s*1\s*\)\)|\[\[?\s*true\s*\]\]?)|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))"
    r"\s*;?\s*do\b(?P<body>.{0,2000}?[;&\n])\s*done\b",
    re.DOTALL,
)
_BACKGROUND = re.compile(r"[^;&|\n]*(?<![&>])&(?![&>])")
_TIMES = re.compile(
    r"\bfor\s+\w{1,40}\s+in\s+(?:\{\d+\.\.|\$\(\s*seq\s+(?:\d+\s+)*?)(?P<last>\d{5,12})\s*[)}]\s*;?\s*do\b"
    r"(?P<body>.{0,2000}?[;&\n])\s*done\b",
    re.DOTALL,
)
_MAKES = re.compile(r"&|>|\b(?:touch|mkdir|cp|dd|mktemp|tee|ln|truncate|fallocate)\b")
MOST_TURNS = 20_000
"""The most iterations of a loop that creates something."""
_PAUSES = re.compile(r"\b(?:sleep|break|exit|return|read|wait|timeout|inotifywait|fswatch|select|exec|continue\s+\d)\b")
MOST_WRITES = 50_000_000
"""The most iterations of a loop that writes to one file."""
MOST_DIGITS = 50_000_000
"""The largest exponent of a power."""
_MAKING = frozenset(
    "Process Thread Popen fork mkdir makedirs touch write_text write_bytes mkstemp mkdtemp NamedTemporaryFile symlink "
    "create_task run_in_executor".split()
)
MOST_WORKERS = 4_096
"""The most processes or threads that may be started at once."""
_POOLS = frozenset("Pool ThreadPool ProcessPoolExecutor ThreadPoolExecutor".split())
_KEEPS = frozenset("append extend add insert appendleft update setdefault".split())
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SIZED = frozenset(
    "bytearray bytes zeros ones empty full urandom randbytes token_bytes truncate list tuple set sorted".split()
)
_ENDLESS = frozenset("/dev/zero /dev/urandom /dev/random /dev/full".split())
_COPIES = frozenset("cat cp pv tee dd".split())
_HUGE = re.compile(r"\d+(?:[GTPE]i?B?|\d{9,})")
_LEAVES_LOOP = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncWith, ast.AsyncFor)
_WAITS = frozenset("sleep wait input exit _exit quit recv accept readline get poll join select update mainloop".split())
_CIPHERS = frozenset("cryptography Crypto Cryptodome nacl pyAesCrypt pyaes".split())
_FOUND_BY = frozenset("glob iglob rglob walk listdir scandir iterdir".split())
_WRITES = re.compile(r"[wa+]")


def loops_forever(text: str, found: Iterable[Command]) -> bool:
    """Whether a script has a loop that nothing ends or slows down."""
    if "done" not in text:
        return False
    if any(int(each["last"]) > MOST_TURNS and _MAKES.search(each["body"]) for each in _TIMES.finditer(text)):
        return True
    if not any(command.words in (("true",), (":",), ("false",)) for command in found) and "((" not in text:
        return False
    return any(not _PAUSES.search(_awaited(each["body"])) for each in _LOOP.finditer(text))


def _awaited(body: str) -> str:
    """The commands in a loop's body that it waits for: not those in the background."""
    return _BACKGROUND.sub(";", body)


def fills_disk(name: str, args: Sequence[str], command: Command) -> bool:
    """Whether a program would write without end, or more than fits on a disk."""
    if name in ("head", "truncate", "fallocate"):
        return any(_HUGE.fullmatch(arg.lstrip("-cnsl")) for arg in args)
    if name != "yes" and (name not in _COPIES or _ENDLESS.isdisjoint(args)):
        return False
    out = any(operator.startswith((">", "&>")) for operator, _ in command.redirects)
    return (out and not command.inner) or name in ("cp", "dd")


def in_python(nodes: Iterable[ast.AST], names: Collection[str]) -> Iterator[Raised]:
    """Findings for code that takes too much memory or time; `names` are the modules that it imports."""
    for node in nodes:
        if type(node) is ast.While:
            if _always(node.test) and not _ends(node):
                yield by(kinds.DESTROYS, "while True")
        elif type(node) is ast.BinOp:
            if type(node.op) is ast.Mult and _is_huge(node):
                yield by(kinds.DESTROYS, "*")
            elif type(node.op) is ast.Pow and (_number(node.right) or 0) > MOST_DIGITS:
                yield by(kinds.DESTROYS, "**")
        elif type(node) is ast.For:
            if (_goes_through_files(node) and _encrypts(names) and _writes(node)) or _is_endless(node):
                yield by(kinds.DESTROYS, "for")
        elif type(node) in _COMPREHENSIONS:
            turns = math.prod(max(1, _turns(each.iter)) for each in getattr(node, "generators", ()))
            if (turns > MOST_TURNS and _multiplies(node)) or (
                not isinstance(node, ast.GeneratorExp) and turns * _kept(node) > LARGEST
            ):
                yield by(kinds.DESTROYS, "for")
        elif type(node) is ast.Call and (
            (_called(node) in _SIZED and _size(node) > LARGEST)
            or (_called(node) in _POOLS and _workers(node) > MOST_WORKERS)
        ):
            yield by(kinds.DESTROYS, _called(node))


def _encrypts(names: Collection[str]) -> bool:
    return not _CIPHERS.isdisjoint(name.partition(".")[0] for name in names)


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_endless(loop: ast.For) -> bool:
    """Whether a `for` loop never ends, or creates files or processes without bound."""
    turns = _turns(loop.iter)
    if turns == float("inf"):
        return not _ends(loop)
    if turns > MOST_TURNS and _multiplies(loop):
        return True
    return (turns > MOST_WRITES and _keeps_writing(loop)) or (
        turns > 1 and turns * _kept(loop) > LARGEST and _grows(loop)
    )


def _turns(counted: ast.expr) -> float:
    """The number of iterations of a loop, if it is explicit: `range(10**6)`, `itertools.count()`."""
    if not isinstance(counted, ast.Call):
        return 0
    called, given = _called(counted), counted.args
    if called in ("count", "cycle") and not (isinstance(counted.func, ast.Attribute) and _is_of_a_value(counted.func)):
        return float("inf")
    if (called == "repeat" and len(given) == 1) or (called == "iter" and len(given) == 2 and _is_int(given[0])):
        return float("inf")
    if called == "range" and given:
        return _number(given[0] if len(given) == 1 else given[1]) or 0
    return 0


def _is_of_a_value(called: ast.Attribute) -> bool:
    """Whether it is a method of a value (`text.count(…)`), not a function of `itertools`."""
    return not (isinstance(called.value, ast.Name) and called.value.id in ("itertools", "it"))


def _is_int(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("int", "str", "list", "bool")


def _multiplies(node: ast.AST) -> bool:
    """Whether it creates files or processes."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and (_called(each) in _MAKING or _opens_to_write(each)):
            return True
    return False


def _kept(loop: ast.AST) -> float:
    """The size of the largest string or list that a loop creates."""
    sizes = [0.0]
    for each in ast.walk(loop):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) and _is_repeated(each):
            sizes.append(max(_number(each.left) or 0, _number(each.right) or 0))
        elif isinstance(each, ast.Call) and _called(each) in _SIZED:
            sizes.append(_size(each))
    return max(sizes)


def _grows(loop: ast.For) -> bool:
    """Whether a loop keeps something from every iteration."""
    return any(
        isinstance(each, ast.AugAssign) or (isinstance(each, ast.Call) and _called(each) in _KEEPS)
        for each in ast.walk(loop)
    )


def _keeps_writing(loop: ast.For) -> bool:
    return any(isinstance(each, ast.Call) and _called(each) in ("write", "writelines") for each in ast.walk(loop))


def _workers(call: ast.Call) -> float:
    given = (*call.args[:1], *(each.value for each in call.keywords if each.arg in ("max_workers", "processes")))
    return max((_number(each) or 0 for each in given), default=0)


def _size(call: ast.Call) -> float:
    """The size of an allocation: `bytearray(10**12)`, `zeros((10**6, 10**6))`, `list(range(10**12))`."""
    first = call.args[0] if call.args else None
    if first is None:
        return 0
    if isinstance(first, ast.Call):
        turns = _turns(first)
        return turns if _called(call) in ("list", "tuple", "set", "sorted") else 0
    if _called(call) in ("list", "tuple", "set", "sorted"):
        return 0
    sides = first.elts if isinstance(first, (ast.Tuple, ast.List)) else [first]
    size = 1.0
    for side in sides:
        size = min(size * (_number(side) or 1), 1e300)
    return size


def _ends(loop: ast.While | ast.For) -> bool:
    """Whether anything in a loop leaves it, or waits."""
    for node in ast.walk(loop):
        if isinstance(node, _LEAVES_LOOP):
            return True
        if isinstance(node, ast.Call):
            called = _called(node)
            if called in _WAITS or called == "next":
                return True
    return False


def _is_huge(node: ast.BinOp) -> bool:
    return _is_repeated(node) and any((_number(side) or 0) > LARGEST for side in (node.left, node.right))


def _is_repeated(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, (ast.List, ast.Tuple))
        or (isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)))
        for side in (node.left, node.right)
    )


def _number(node: ast.expr) -> float | None:
    """The value of a number, a power or a product."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(min(node.value, 10**300))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow, ast.LShift)):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None:
            return None
        try:
            if isinstance(node.op, ast.Mult):
                return left * right
            return float(left**right) if isinstance(node.op, ast.Pow) else left * 2.0**right
        except (OverflowError, ZeroDivisionError, TypeError):
            return float(10**300)
    return None


def _goes_through_files(node: ast.For) -> bool:
    return isinstance(node.iter, ast.Call) and any(
        (isinstance(each, ast.Attribute) and each.attr in _FOUND_BY)
        or (isinstance(each, ast.Name) and each.id in _FOUND_BY)
        for each in ast.walk(node.iter)
    )


def _writes(node: ast.For) -> bool:
    for each in ast.walk(node):
        if not isinstance(each, ast.Call):
            continue
        if _called(each) in ("write_bytes", "write_text") or _opens_to_write(each):
            return True
    return False


def _opens_to_write(call: ast.Call) -> bool:
    modes = (*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode"))
    return _called(call) == "open" and any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _WRITES.search(mode.value) for mode in modes
    )
