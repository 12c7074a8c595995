"""Judges Python code by its syntax tree: connections, programs it starts, files it removes, code it evaluates.

Nothing is executed. Other languages are judged in `other_code`.
"""

import ast
import warnings
from dataclasses import dataclass, field
from functools import lru_cache

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.code import exhaustion, python_acts, python_cells, python_files, python_texts, python_tree
from interlock.policy.code import python_names as t
from interlock.policy.command_lines import options
from interlock.policy.secrets import names_secret
from interlock.policy.values import paths
from interlock.policy.values.folding import fold

LONGEST = 40_000
MOST_NODES = 20_000


@lru_cache(maxsize=512)
def judge(code: str) -> tuple[Raised, ...]:
    """Findings for Python code; empty for plain computing. Total."""
    if (tree := parsed(code)) is None:
        return (kinds.UNREADABLE,)
    reader = _Reader()
    reader.read(tree)
    for each in python_cells.shell_commands(code):
        from interlock.policy.command_lines import commands

        reader.add(*commands.judge(each))
    return tuple(reader.found.values())


def parsed(code: str) -> ast.AST | None:
    """The syntax tree; None if it is not Python, or too large to judge."""
    if len(code) > LONGEST or "\x00" in code:
        return None
    try:
        text = fold(code) if not code.isascii() and not code.isprintable() else code
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _tree(_dedented(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _tree(text: str) -> ast.AST:
    if t.MAGIC.search(text) and t.MAGIC.search(text := python_cells.without_magics(text)):
        raise SyntaxError
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse(python_cells.without_magics(text))


def _from_its_module(dotted: str) -> str:
    """A dotted name without modules that only lead to another: `random._os.system` is `os.system`."""
    if dotted.count(".") < 2:
        return dotted
    parts = dotted.split(".")
    for number in range(len(parts) - 2, 0, -1):
        if (module := parts[number].lstrip("_")) in t.REACHED:
            return ".".join((module, *parts[number + 1 :]))
    return dotted


def _dedented(code: str) -> str:
    first = next((line for line in code.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent:
        return code
    return "\n".join(line.removeprefix(indent) for line in code.split("\n"))


@dataclass(slots=True)
class _Reader:
    found: dict[str, Raised] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Local names of imported modules and objects."""
    texts: dict[str, str | None] = field(default_factory=dict)
    """Names bound to constants; None if a name has several values."""
    made: set[str] = field(default_factory=set)
    """Names of functions that the code defines."""
    settled: set[int] = field(default_factory=set)
    """Nodes that were judged together with their parents."""

    def add(self, *found: Raised) -> None:
        for each in found:
            self.found.setdefault(each.rule, each)

    def read(self, tree: ast.AST) -> None:
        nodes = python_tree.nodes_of(tree, MOST_NODES)
        if nodes is None:
            self.add(kinds.UNREADABLE)
            return
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(node, ast.Assign):
                self._remember(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.made.add(node.name)
        for module in python_tree.carried(nodes, t.CARRIED):
            self._module(module)
        self.add(*exhaustion.in_python(nodes, self.names.values()))
        for node in nodes:
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name):
                    self.settled.add(id(node.func))
                self._call(node)
            elif isinstance(node, (ast.Attribute, ast.Name)):
                self._named(node)
            elif isinstance(node, ast.Subscript):
                self._subscript(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._text(node.value)
            elif isinstance(node, ast.Assign):
                self._set(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            whole = alias.name if isinstance(node, ast.Import) else f"{node.module or ''}.{alias.name}"
            local = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
            self.names[local] = whole if alias.asname or isinstance(node, ast.ImportFrom) else local
            if isinstance(node, ast.ImportFrom) and node.level:
                continue
            if alias.name == "*" and whole.partition(".")[0] in ("os", "subprocess", "shutil", "builtins", "sys"):
                self.add(kinds.HIDDEN)
            if whole in t.THROUGH or whole in t.CALLS or whole in t.PROGRAMS:
                self.names.setdefault(local, whole)
            if ".".join(whole.split(".")[:2]) in t.THROUGH:
                self.add(kinds.HIDDEN)
            self._module(whole)

    def _module(self, whole: str) -> None:
        top = whole.partition(".")[0]
        two = ".".join(whole.split(".")[:2])
        if two in t.PURE_PARTS:
            return
        if top in t.NETWORK:
            self.add(kinds.LEAVES)
        elif top in t.HIDING:
            self.add(kinds.HIDDEN)
        elif top in t.ACCESS:
            self.add(kinds.ACCESS)

    def _remember(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                value = self._constant(node.value)
                self.texts[target.id] = value if target.id not in self.texts else None
                if (dotted := self._dotted(node.value)) is not None and dotted != target.id:
                    self.names.setdefault(target.id, dotted)

    def _set(self, node: ast.Assign) -> None:
        """Judges an assignment to an environment variable."""
        for target in node.targets:
            if isinstance(target, ast.Subscript) and self._dotted(target.value) in t.ENVIRONMENT:
                self._variable(self._constant(target.slice), self._constant(node.value))

    def _variable(self, name: str | None, value: str | None) -> None:
        raised, is_program = options.judge_variable(name or "", value or "")
        if raised is not None or is_program:
            self.add(raised or kinds.HIDDEN)

    def _dotted(self, node: ast.AST) -> str | None:
        parts: list[str] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            if len(node.args) > 1 and (name := self._constant(node.args[1])) is not None:
                owner = self._dotted(node.args[0])
                return None if owner is None else _from_its_module(f"{owner}.{name}")
            return None
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and node.args:
            imports = (
                node.func.id == "__import__" if isinstance(node.func, ast.Name) else node.func.attr == "import_module"
            )
            if imports and (module := self._constant(node.args[0])) is not None:
                parts.append(module)
                return ".".join(reversed(parts))
        if not isinstance(node, ast.Name):
            return None
        parts.append(self.names.get(node.id, node.id))
        return _from_its_module(".".join(reversed(parts)))

    def _constant(self, node: ast.AST | None) -> str | None:
        """The string that an expression certainly evaluates to, else None."""
        return python_texts.text_of(node, self.texts, self._dotted)

    def _call(self, node: ast.Call) -> None:
        name = self._dotted(node.func)
        if name in t.CALLS or name in t.PROGRAMS:
            self.settled.add(id(node.func))
        self._odd(name, node)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else (name or "").rpartition(".")[2]
        if name in t.EXECUTES:
            self._execution(name, node)
        elif name in ("getattr", "setattr", "delattr") and len(node.args) > 1:
            self._attribute(self._constant(node.args[1]), self._dotted(node.args[0]))
        elif name in t.PROGRAMS:
            self._program(node)
        elif name is not None and (kind := t.CALLS.get(name)) is not None:
            self._known(name, kind, node)
        elif name is None and last in t.RISKY:
            self.add(kinds.HIDDEN)
        if name in t.EVALUATES:
            self._evaluated(node)
        if last in ("terminate", "suspend", "send_signal") and "psutil" in self.names:
            self.add(kinds.DESTROYS)
        if last == "enable_load_extension" or (name == "open" and any(k.arg == "opener" for k in node.keywords)):
            self.add(kinds.HIDDEN)
        if name in ("sys.path.insert", "sys.path.append", "site.addsitedir") and any(
            paths.plain(text).startswith(("/tmp", "/var/tmp", "/dev")) for text in self._texts_of(node)
        ):
            self.add(kinds.HIDDEN)
        if name == "os.putenv" and node.args:
            self._variable(self._constant(node.args[0]), self._constant(node.args[-1]))
        if name in t.ASKS_ENVIRONMENT:
            if isinstance(node.func, ast.Attribute):
                self.settled.add(id(node.func.value))
            key = self._constant(node.args[0]) if node.args else None
            if key is None or names_secret(key, t.SOME_VALUE):
                self.add(kinds.READS_SECRETS)
        if last in t.DESTROYING and isinstance(node.func, ast.Attribute) and name not in t.CALLS:
            self.add(kinds.DESTROYS)
        if last in t.SENDING:
            self.add(kinds.LEAVES)
        if last in ("extractall", "extract") and any(paths.is_outside(text) for text in self._texts_of(node)):
            self.add(kinds.OUTSIDE_WORKSPACE)
        self.add(*python_files.judge(name, last, node, self._constant))
        self.add(*python_acts.judge(name, node, self._constant, self.names, self.made))

    def _evaluated(self, node: ast.Call) -> None:
        """Judges a call that evaluates its string arguments as code."""
        for each in (
            *node.args[:2],
            *(k.value for k in node.keywords if k.arg in ("stmt", "setup", "expr", "statement")),
        ):
            text = self._constant(each)
            if text is not None:
                self.add(*judge(text))
            elif isinstance(each, ast.Name) and each.id in self.texts:
                self.add(kinds.HIDDEN)

    def _odd(self, name: str | None, node: ast.Call) -> None:
        """Judges calls that are harmful only with certain arguments."""
        last = node.func.attr if isinstance(node.func, ast.Attribute) else (name or "").rpartition(".")[2]
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        pickled = keywords.get("allow_pickle")
        if isinstance(pickled, ast.Constant) and pickled.value is True:
            self.add(kinds.HIDDEN)
        if name == "yaml.load" and not (self._dotted(keywords.get("Loader", node)) or "").endswith("SafeLoader"):
            self.add(kinds.HIDDEN)
        if last in ("attrgetter", "methodcaller") and node.args:
            self._attribute(self._constant(node.args[0]), "os")
        if last in ("HTTPHandler", "SMTPHandler", "SocketHandler", "DatagramHandler", "SysLogHandler"):
            self.add(kinds.LEAVES)
        if name == "vars" and node.args and self._dotted(node.args[0]) in t.REACHED:
            self.add(kinds.HIDDEN)

    def _known(self, name: str, kind: Raised, node: ast.Call) -> None:
        if name == "os.chmod" and len(node.args) > 1:
            mode = node.args[1]
            if isinstance(mode, ast.Constant) and isinstance(mode.value, int) and not mode.value & 0o6022:
                return
        self.add(kind)

    def _execution(self, name: str, node: ast.Call) -> None:
        text = self._constant(node.args[0]) if node.args else None
        if name in ("globals", "vars"):
            return
        if text is None:
            self.add(kinds.HIDDEN)
        elif name == "__import__":
            self._module(text)
        elif name != "breakpoint":
            self.add(*judge(text))

    def _attribute(self, name: str | None, owner: str | None) -> None:
        if name is None:
            if owner is None or owner.partition(".")[0] in (
                "os",
                "sys",
                "subprocess",
                "shutil",
                "builtins",
                "__builtins__",
            ):
                self.add(kinds.HIDDEN)
        elif name in t.INNARDS or name in t.RISKY or (owner is not None and f"{owner}.{name}" in t.CALLS):
            self.add(kinds.HIDDEN)

    def _program(self, node: ast.Call) -> None:
        from interlock.policy.command_lines import commands

        if not node.args and not node.keywords:
            return
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if "preexec_fn" in keywords:
            self.add(kinds.HIDDEN)
        if (program := keywords.get("executable")) is not None:
            self.add(*commands.judge_words([self._constant(program) or "\ufffd"]))
        if isinstance(variables := keywords.get("env"), ast.Dict):
            for key, value in zip(variables.keys, variables.values, strict=True):
                self._variable(self._constant(key), self._constant(value))
        if (place := self._constant(keywords.get("cwd"))) is not None and (
            paths.is_system(place) or paths.plain(place).startswith(("/tmp", "/var/tmp"))
        ):
            self.add(kinds.OUTSIDE_WORKSPACE)
        first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg in ("args", "cmd")), None)
        if isinstance(first, (ast.List, ast.Tuple)):
            given = [self._constant(each) for each in first.elts]
            words = [each if each is not None else "\ufffd" for each in given]
            if self._dotted(first.elts[0] if first.elts else first) == "sys.executable" and words:
                words[0] = "python"
            self.add(*commands.judge_words(words))
        elif (text := self._constant(first)) is not None:
            self.add(*commands.judge(text))
        elif isinstance(first, ast.JoinedStr):
            parts = [self._constant(v.value if isinstance(v, ast.FormattedValue) else v) for v in first.values]
            self.add(kinds.HIDDEN, *commands.judge("".join(part if part is not None else "X" for part in parts)))
        else:
            self.add(kinds.HIDDEN)

    def _texts_of(self, node: ast.Call) -> list[str]:
        given = [self._constant(each) for each in (*node.args, *(keyword.value for keyword in node.keywords))]
        return [each for each in given if each is not None]

    def _named(self, node: ast.Attribute | ast.Name) -> None:
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if name in t.INNARDS:
            self.add(kinds.HIDDEN)
            return
        if id(node) in self.settled:
            return
        if isinstance(node, ast.Name) and name in t.EXECUTED and isinstance(node.ctx, ast.Load):
            self.add(kinds.HIDDEN)
        dotted = self._dotted(node)
        if dotted in t.ENVIRONMENT:
            self.add(kinds.READS_SECRETS)
        elif dotted is not None and (dotted in t.CALLS or dotted in t.PROGRAMS or dotted in t.THROUGH):
            self.add(t.CALLS.get(dotted, kinds.HIDDEN))

    def _subscript(self, node: ast.Subscript) -> None:
        owner = self._dotted(node.value)
        key = self._constant(node.slice)
        if owner in t.ENVIRONMENT:
            self.settled.add(id(node.value))
            if isinstance(node.ctx, ast.Load) and (key is None or names_secret(key, t.SOME_VALUE)):
                self.add(kinds.READS_SECRETS)
        if (
            owner in ("sys.modules", "globals", "locals", "__builtins__")
            or (isinstance(node.value, ast.Call) and self._dotted(node.value.func) in ("globals", "locals", "vars"))
        ) and (
            key is None
            or key
            in (
                "os",
                "subprocess",
                "socket",
                "eval",
                "exec",
                "__builtins__",
                "sys",
                "__import__",
            )
        ):
            self.add(kinds.HIDDEN)

    def _text(self, text: str) -> None:
        if t.INSIDE.search(text) or (text == "()" and "logging" in self.names):
            self.add(kinds.HIDDEN)
        if t.SERVER.match(text):
            self.add(kinds.LEAVES)
        if len(text) < 300 and "\n" not in text:
            if t.URL.match(text.strip()) and self.found.get(kinds.LEAVES.rule) is None and self._opens_addresses:
                self.add(kinds.LEAVES)
            if ("/" in text or text.startswith(".")) and " " not in text and paths.touches_secret(text):
                self.add(kinds.READS_SECRETS)

    @property
    def _opens_addresses(self) -> bool:
        """Whether the code imports a library that opens URLs like files."""
        return not t.OPENS_ADDRESSES.isdisjoint(self.names)
