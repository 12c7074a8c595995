"""Judges whether arguments name a production system: `db.prod.example.com`, `/srv/production`, `--env=prod`.

Prose about production (`production-ready`, "used in production by many") names no system.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from interlock.policy.values.spelling import words

_SURE = frozenset(("prod", "production"))
_TOKEN = re.compile(r"[^\s\"'`,;(){}\[\]<>|&]+")
_EDGES = ".:!?*_~—–-"
_NOT = frozenset("non pre post mass co re over under ready grade quality level like scale".split())
_STRUCTURE = re.compile(r"[./\\:@=_#-]|(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_BARE = re.compile(
    r"(?<![\w.-])(?:to|on|against|into|from|at|-{1,2}\w[\w-]{0,40})\s{1,9}[\"'`]?production\b(?![\w-]|\.\w)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"https?://(?P<host>[^/?#]*)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
"""In the URL of a page, the host and whole path segments count: `…/milk-production` is about production."""
_DOCUMENT = re.compile(r"\.(?:mdx?|rst|txt|html?|adoc)$|(?:^|/)tests?/|(?:^|/)test_\w+\.\w+$", re.IGNORECASE)
"""Documents about production, and tests of it, are not the system."""
_OF_MAKING = re.compile(
    r"(?:\w{1,40}\.)?production_?(?:codes?|years?|dates?|costs?|compan(?:y|ies)|budgets?|volumes?|rates?|capacity|"
    r"countr(?:y|ies)|designers?|quantity|output|methods?)",
    re.IGNORECASE,
)
"""Columns about making things: `production_year`, `films.production_company`."""
_PROSE = frozenset(
    "content contents body text markdown html description summary title subject message comment note notes query "
    "question prompt reason details caption abstract report instructions goal brief feedback rule lesson".split()
)
_CODE = re.compile(r"^\s*(?:def|class|import|from|for|while|if|return|print|assert)\b.*[:)\w]\s*$", re.MULTILINE)
"""Lines that only code has; a parser confirms."""
LONGEST_CODE = 40_000
_DIGITS = re.compile(r"(?<![a-z])pr[o0]d(?:uct[i1l!|][o0]n)?(?![a-z])", re.IGNORECASE)
_NUMBERED = re.compile(r"\bprod[-_#]?\d{2,}(?![\w.-])", re.IGNORECASE)
_BUILD = re.compile(
    r"(?:NODE_ENV=prod(?:uction)?\s{1,9})?\b(?:npm|yarn|pnpm|bun|npx|ng|vite|webpack|next|nuxt)\s{1,9}(?:run\s{1,9})?"
    r"(?:ci|install|i|ls|list|audit|outdated|build|compile|bundle|prune)\b[^;&|\n$`]{0,200}"
)
_MODE = re.compile(r"NODE_ENV=prod(?:uction)?|--(?:prod|production)(?![\w=-])|--(?:mode|configuration)[ =]production\b")
"""A mode in which packages are installed or a project is built, which is no system: `npm ci --production`."""
_GOODS = frozenset("product products item items sku skus article articles goods".split())
"""Words for goods, in arguments where `PROD-4711` is a product number."""
_LETTERS = str.maketrans("01l!|", "oiiii")
_COMPUTING = frozenset("math numpy itertools functools operator torch jax.numpy sympy".split())
"""Libraries in which `prod` multiplies."""
_KEY_WORDS = frozenset("is use in on to for target env environment stage tier prod production".split())


def may_name_production(low: str) -> bool:
    """Fast path for a lower-case text: False only if it certainly names no production system."""
    return "pr" in low and ("prod" in low or "pr0d" in low)


def _in_letters(found: re.Match[str]) -> str:
    return found.group().translate(_LETTERS)


@lru_cache(maxsize=4096)
def _is_of_goods(key: str) -> bool:
    return not _GOODS.isdisjoint(words(key))


def names_production(text: str, *, prose: bool = False, key: str = "") -> bool:
    """Whether a text names a production system; `key` is the name of its argument.

    In `prose` (a document, a question) the bare word `production` counts only after a flag or a preposition of place
    (`deploy to production`); elsewhere any bare word counts. Source: numbers, "Risk and trust".
    """
    if not may_name_production(text.lower()):
        return False
    if key and _is_of_goods(key):
        text = _NUMBERED.sub("", text)
    text = _BUILD.sub(lambda found: _MODE.sub("", found.group()), _DIGITS.sub(_in_letters, text))
    if text.strip().lower() in _SURE or _BARE.search(text):
        return True
    if ("\n" in text or "(" in text) and (texts := _texts_in_code(text)) is not None:
        return any(names_production(each, prose=prose) for each in texts if "prod" in each.lower())
    return any(_token_names(match.group().strip(_EDGES), prose) for match in _TOKEN.finditer(text))


@lru_cache(maxsize=256)
def _texts_in_code(text: str) -> tuple[str, ...] | None:
    """The strings and names in Python code, in which a variable `prod` is a product; None if it is no such code."""
    if len(text) > LONGEST_CODE or _CODE.search(text) is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(_texts(tree))


def _texts(tree: ast.AST) -> Iterator[str]:
    """Strings, imported names, and names that the code does not define, which may name systems."""
    nodes = list(ast.walk(tree))
    made = {"prod"} & {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    made |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    made |= {a.asname or a.name for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
    computed = {id(node.func) for node in nodes if isinstance(node, ast.Call) and _is_product(node.func)}
    named = [re.escape(name) for name in made if "prod" in name.lower() and name.lower() not in _SURE]
    own = re.compile(rf"\b(?:{'|'.join(named)})\b") if named else None
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield own.sub("", node.value) if own is not None else node.value
        elif isinstance(node, ast.ImportFrom) and node.module in _COMPUTING:
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and node.id not in made:
            yield node.id
        elif isinstance(node, ast.Attribute) and id(node) not in computed and node.attr not in made:
            yield node.attr
        elif isinstance(node, (ast.keyword, ast.Assign)) and isinstance(node.value, ast.Name) and _names_target(node):
            yield node.value.id


def _names_target(node: ast.keyword | ast.Assign) -> bool:
    """Whether a keyword argument or an assignment has the name of a target system."""
    if isinstance(node, ast.keyword):
        return _is_target_key(node.arg or "")
    return any(isinstance(each, ast.Name) and set(words(each.id)) & _KEY_WORDS for each in node.targets)


def _is_product(called: ast.expr) -> bool:
    """Whether a function multiplies: `np.prod(x)`."""
    return isinstance(called, ast.Attribute) and called.attr == "prod"


@lru_cache(maxsize=4096)
def is_prose_key(key: str) -> bool:
    """Whether an argument of that name holds prose."""
    found = words(key)
    return bool(found) and found[-1] in _PROSE


@lru_cache(maxsize=4096)
def _is_target_key(key: str) -> bool:
    found, plain = set(words(key)), set(words(key.lower()))
    return any(each & _SURE and each <= _KEY_WORDS for each in (found, plain))


def key_names_production(key: str, value: object) -> bool:
    """Whether an argument such as `is_production: true` or `prod: {…}` names a production system."""
    return _is_target_key(key) and value not in (None, False, "", 0)


def _token_names(token: str, prose: bool) -> bool:
    if "prod" not in token.lower():
        return False
    if (page := _PAGE.match(token)) is not None:
        steps = re.split(r"[/?&=#;]", page["rest"].lower().partition("/wiki/")[0])
        return bool(_SURE.intersection(words(page["host"]))) or bool(_SURE.intersection(steps))
    if _OF_MAKING.fullmatch(token):
        return False
    if _DOCUMENT.search(token) and ":" not in token and "@" not in token:
        return False
    found = dict.fromkeys((*words(token), *words(token.lower())))
    if not _SURE.intersection(found):
        return False
    if len(found) > 1 and _NOT.intersection(found) and not re.search(r"[./@=]", token):
        return False
    return "prod" in found or not prose or (len(found) > 1 and _STRUCTURE.search(token) is not None)
