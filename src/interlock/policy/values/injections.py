"""Finds commands, options, entities and statements smuggled into argument values in which none are expected.

Where commands, code or SQL are expected, their own modules judge them.
"""

import itertools
import re
from collections.abc import Iterator, Mapping

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.command_lines import commands
from interlock.policy.queries import other_queries, sql
from interlock.policy.values import urls

LONGEST = 4_000
_MOST_FILLED = 3
_FILLED = re.compile(r"\$\(([^()]{1,300})\)|`([^`]{1,300})`")
_APPENDED = re.compile(
    r"(?:[\w./:@~'\"*-]{0,200}|-[\w./:@=, -]{0,100})\s{0,3}(?:;|\|\|?|&&?|\n)\s{0,3}(?P<rest>[a-z./][^\n]{1,300})",
    re.DOTALL,
)
"""A name of one word, followed by what a shell would take for another command."""
_OPTION = re.compile(
    r"--?(?:upload-pack|receive-pack|upload-archive|exec|output|config|config-env|open-files-in-pager|ext-diff|post-file|"
    r"use-compress-program|to-command|checkpoint-action|eval|pre|rsh|proxy|init-file|init-command|template)(?:=|\s|$)"
)
_RUNS = re.compile(
    r"\s*(?!open\s|start\s)[a-z][\w.+-]{0,20}(?:\s+[\w.-]+)?\s+(?:-{1,2}[A-Za-z]|[~/]|\.\./|https?://|[<>|]\s*\S)"
)
_STATED = re.compile(
    r"\s*(?:DELETE\s+FROM\s+[\w.\"`]+|DROP\s+(?:TABLE|DATABASE|SCHEMA|VIEW|USER|ROLE)\s+(?:IF\s+EXISTS\s+)?[\w.\"`]+|"
    r"TRUNCATE\s+TABLE\s+[\w.\"`]+|INSERT\s+INTO\s+[\w.\"`]+|UPDATE\s+[\w.\"`]+\s+SET\s+\w+\s*=|"
    r"ALTER\s+(?:TABLE|USER|ROLE)\s+\S+\s+[A-Z]+|GRANT\s+[A-Z ,]+\s+ON\s+\S+\s+TO)"
    r"(?:\s*;?\s*\Z|\s+(?:WHERE|VALUES|SELECT)\b|(?<==)|(?<=TO)|\s*\()"
)
"""A complete statement in capitals that changes stored data."""
_REQUESTED = re.compile(r"(?:POST|PUT|PATCH|DELETE)\s{1,3}(?:https?:/)?/\S*")
"""The method and the path of a request that writes."""
_INTO_SQL = re.compile(
    r"['\"]\s*\)?\s*(?:(?:OR|AND)\s+(?:\d+\s*=\s*\d|'[^']{0,20}'\s*=\s*'|true\b)|UNION\s+(?:ALL\s+)?SELECT\b|"
    r";\s*--)",
    re.IGNORECASE,
)
"""Text that breaks out of a string literal in a concatenated statement."""
_BREAKS_OUT = re.compile(r"[;`'\"\n]|\$\(|&&|\|\||<\(")
_TIMED = re.compile(r"\s*(?:[\d*/,-]+\s+){5}(?P<rest>\S.{0,500})", re.DOTALL)
_STEPS = re.compile(
    r"(?m)^[ \t]*(?:-[ \t]*)?(?:run|script|command|cmd|args|RUN|CMD|ENTRYPOINT)"
    r"(?::[ \t]*|[ \t]+)(?:\|[ \t\n]{0,80})?(\S[^\n]{0,500})"
)
_UNQUOTED = str.maketrans("[]\"',", "     ")
_MOST_STEPS = 20
_FORMULA = re.compile(
    r"[=+@-]\s*(?:(?:IMPORT(?:XML|DATA|HTML|FEED|RANGE)|WEBSERVICE|HYPERLINK|IMAGE|FILTERXML)\s*\(|\w{1,20}\s*\|)",
    re.IGNORECASE,
)
_BEGINS = ("=", "+", "@")
_IMAGE = re.compile(r"(?:!\[[^\]\n]{0,200}\]\(\s*<?|\bsrc=[\"']?)(https?://[^\s)>\"']{1,2000})", re.IGNORECASE)
_ENTITY = re.compile(r"<!ENTITY\b", re.IGNORECASE)
_FROM_ELSEWHERE = re.compile(r"\b(?:SYSTEM|PUBLIC)\b", re.IGNORECASE)
_INNARDS = re.compile(
    r"__(?:class|globals|subclasses|builtins|mro|bases|base|import|reduce|getattribute)__|\|\s*attr\s*\("
)
_REACHED = re.compile(r"\(\)\s?\.__class__|__(?:subclasses|globals|builtins|bases|mro|import)__\s?[(\[]")
_ENGINES = re.compile(
    r"\bT\s?\(\s?java\.|\.getRuntime\s?\(|\bProcessBuilder\b|!!python/|!ruby/object|tag:yaml\.org,2002:python|"
    r"freemarker\.template\.utility|constructor\s?\.\s?constructor\s?\(|process\s?\.\s?mainModule"
)
"""Constructs by which templates, documents and expressions make their interpreters run programs."""
_HARMS = frozenset(
    kind.rule
    for kind in (
        kinds.DESTROYS, kinds.LEAVES, kinds.READS_SECRETS, kinds.ACCESS, kinds.PAYS, kinds.HIDDEN,
        kinds.OUTSIDE_WORKSPACE,
    )
)  # fmt: skip
STAGES: Mapping[str, Raised] = {
    "$out": kinds.DATABASE_DELETE, "$merge": kinds.DATABASE_DELETE, "$where": kinds.HIDDEN, "$function": kinds.HIDDEN,
    "$accumulator": kinds.HIDDEN,
}  # fmt: skip
"""Keys in a query to a document store that write its result to a collection, or run a script."""


def may_inject(text: str) -> bool:
    """Fast path: False only if a value certainly smuggles nothing."""
    return (
        "--" in text or ";" in text or "`" in text or "$(" in text or "|" in text or "&&" in text or "__" in text
        or "\n" in text or "<!" in text or "'" in text
    )  # fmt: skip


def only_alternates(text: str) -> bool:
    """Whether a search text breaks out of no command that it is inserted into: `TODO|rm -rf`."""
    return not _BREAKS_OUT.search(text)


def may_run(text: str) -> bool:
    """Fast path for a value with a space: False only if it lacks the form of a command with options."""
    if text[:1].isupper():
        return _STATED.match(text) is not None or _REQUESTED.fullmatch(text) is not None
    return _RUNS.match(text) is not None


def scripts(text: str) -> list[str]:
    """The scripts that an unquoted insertion of a value into a command line would run."""
    if len(text) > LONGEST or not may_inject(text):
        return []
    inside = [found[1] or found[2] for found in itertools.islice(_FILLED.finditer(text), _MOST_FILLED)]
    behind = _APPENDED.fullmatch(text)
    return inside if behind is None else [*inside, behind["rest"]]


def scripts_in_recipe(text: str) -> list[str]:
    """The scripts in a recipe: after `#!`, on a line of a crontab, in the steps of YAML or of a Dockerfile."""
    if len(text) > 4 * LONGEST:
        return []
    if (timed := _TIMED.match(text)) is not None:
        return [timed["rest"]]
    found = [each[1].translate(_UNQUOTED) for each in itertools.islice(_STEPS.finditer(text), _MOST_STEPS)]
    return found if found else [text]


def findings_in_cell(text: str) -> Iterator[Raised]:
    """Findings for a text that a spreadsheet or a page would evaluate: a formula or image that calls another server."""
    if text[:1] in _BEGINS and _FORMULA.match(text):
        yield kinds.CARRIES_OUT
    for found in (
        itertools.islice(_IMAGE.finditer(text[:LONGEST]), _MOST_STEPS) if "](" in text or "src=" in text else ()
    ):
        yield from (each for each in urls.judge(found[1], ours=False) if each is kinds.CARRIES_OUT)


def may_be_active_content(text: str) -> bool:
    """Fast path: False only if a text contains no formula and no image."""
    return text[:1] in _BEGINS or "](" in text or "src=" in text


def findings_in_value(text: str, *, reads: bool) -> Iterator[Raised]:
    """Other findings for a value in which no command is expected: options, entities, internals of objects."""
    if len(text) > LONGEST:
        return
    if text[:1] == "-" and _OPTION.match(text):
        yield kinds.HIDDEN
    if "'" in text and _INTO_SQL.search(text):
        yield kinds.HIDDEN
    if "<!" in text and (entity := _ENTITY.search(text)) and _FROM_ELSEWHERE.search(text, entity.end()):
        yield kinds.HIDDEN
    if "__" in text and (_INNARDS if not reads or "{{" in text or "{%" in text else _REACHED).search(text):
        yield kinds.HIDDEN
    if ("(" in text or "!" in text or "." in text) and _ENGINES.search(text):
        yield kinds.HIDDEN
    if ";" in text:
        yield from _after_first_statement(text)


def findings_in_query(text: str, *, is_meant: bool = True) -> Iterator[Raised]:
    """Findings for a query that is not plain SQL: a stacked statement, or one in another language.

    Unless it is meant for a database, a text that begins like a definition or a call may be a question.
    """
    if len(text) > (5 * LONGEST if is_meant else LONGEST):
        return
    if "__" in text and _REACHED.search(text):
        yield kinds.HIDDEN
    if ";" in text:
        yield from _after_first_statement(text)
    yield from other_queries.findings(text, is_meant=is_meant)


def _after_first_statement(text: str) -> Iterator[Raised]:
    """Findings for the statements after the first."""
    for part in text.split(";")[1:20]:
        if sql.looks_like(part):
            yield from sql.judge(part.partition("--")[0])


def findings_in_script(script: str, *, states: bool = False) -> Iterator[Raised]:
    """Findings for a text that may or may not be a script; an unknown program does not count.

    With `states`, a complete SQL statement counts too.
    """
    if states and _REQUESTED.fullmatch(script):
        yield kinds.HTTP_WRITE
        return
    if states and _STATED.match(script):
        yield from sql.judge(script)
        return
    yield from (each for each in commands.judge(script.strip()) if each.rule in _HARMS)
