"""Judges an SQL text: each of its statements, what hides within them, and what their functions access.

The dialect is unknown here: where dialects read a text differently, the worst reading counts.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.kinds import by
from interlock.policy.queries import sql_sizes
from interlock.policy.queries.sql_acts import HEADS, is_endless, parsed, side_effects_of_query, side_effects_of_write
from interlock.policy.queries.sql_names import is_file, reached
from interlock.policy.queries.sql_tokens import Reading, readings
from interlock.policy.values.folding import fold

LONGEST = 20_000

_QUERIES = frozenset("SELECT WITH VALUES TABLE FROM".split())
_SHOWS = frozenset("SHOW DESCRIBE DESC USE SUMMARIZE".split())
_READS = _QUERIES | _SHOWS | {"EXPLAIN"}
_BRACKETS = frozenset("BEGIN COMMIT ROLLBACK START SAVEPOINT RELEASE END ABORT".split())
_BRACKET_WORDS = frozenset(
    "TRANSACTION TRAN WORK DEFERRED IMMEDIATE EXCLUSIVE CONCURRENT READ ONLY WRITE ISOLATION LEVEL SERIALIZABLE "
    "REPEATABLE COMMITTED UNCOMMITTED TO AND NO CHAIN RELEASE SAVEPOINT WITH CONSISTENT SNAPSHOT NOT "
    "DEFERRABLE ,".split()
)
_NAMES_FOLLOW = frozenset("SAVEPOINT TO RELEASE TRANSACTION TRAN".split())
_READING_PRAGMAS = frozenset(
    "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list foreign_key_check "
    "database_list integrity_check quick_check compile_options function_list module_list pragma_list collation_list "
    "page_count freelist_count data_version stats show_tables show_tables_expanded show_databases storage_info "
    "database_size functions collations version platform metadata_info".split()
)
_SETTINGS = frozenset(
    "user_version schema_version page_size encoding journal_mode foreign_keys application_id auto_vacuum busy_timeout "
    "cache_size locking_mode max_page_count query_only recursive_triggers secure_delete synchronous temp_store "
    "wal_autocheckpoint mmap_size journal_size_limit analysis_limit automatic_index cell_size_check threads".split()
)
"""Pragmas that only read if no value is given."""
_START = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*(?:select\b[\s(*'\"`\[\d+:@-]|with\s+(?:recursive\s+)?[\w\"`]+\s*(?:\([^)]*\)\s*)?as\b|"
    r"insert\s+(?:into|or|overwrite|ignore)\b|update\s+\S+\s+(?:set|as)\b|delete\s+from\b|drop\s+(?:table|database|schema|view|index|user|role|"
    r"function|procedure|trigger|column|sequence|extension|materialized)\b|alter\s+(?:table|user|role|database|schema|system|index|view|"
    r"sequence|function)\b|create\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|global\s+|unlogged\s+|external\s+)?(?:table|database|schema|view|"
    r"index|user|role|function|procedure|trigger|sequence|extension|materialized|type)\b|truncate\b(?:\s+table)?\s+\w|grant\s+[\w\s,*]+\s+(?:on|to)\b|"
    r"revoke\s+[\w\s,*]+\s+(?:on|from)\b|merge\s+into\b|replace\s+into\b|copy\s+[\w.\"(]+.*\b(?:from|to)\b|attach\s+(?:database\s+)?'|"
    r"pragma\s+\w|explain\s+(?:analyze\s+|query\s+plan\s+|\()?\s*(?:select|with|insert|update|delete|\w)|exec(?:ute)?\s+[\w.@]+|"
    r"call\s+[\w.]+\s*\(|vacuum\b|do\s+\$|declare\s+@|show\s+(?:tables|databases|columns|index|create|grants|processlist)\b|values\s*\(|"
    r"(?:desc(?:ribe)?\s+(?:(?:table|view|extended|formatted)\s+)?|table\s+|summarize\s+)[\w.\"`]+\s*;?\s*$|"
    r"from\s+[\w.\"`]+\s*(?:;?\s*$|select\b))",
    re.IGNORECASE | re.DOTALL,
)
_RARE_START = re.compile(
    r"[\s(]*(?:\\\S|\.[a-z]|/\*|kill\s+(?:query\s+|connection\s+|mutation\s+)?[\d'w]|shutdown\b|flush\s+\w+\s*;?\s*$|reindex\b|undrop\s|"
    r"upsert\s+into\b|rename\s+(?:table|user|column|index)\b|purge\s+\w|unload\s*\(|(?:install|load)\s+['\w]+\s*;?\s*$|"
    r"load\s+(?:data|xml|extension|index)\b|handler\s+\w+\s+(?:open|read|close)\b|notify\s+\w+\s*(?:[,;]|$)|detach\b|bulk\s+insert\b|"
    r"msck\b|delimiter\s|exec(?:ute)?\s*\(|system\s+\w|dbcc\s|reconfigure\b|(?:backup|restore)\s+(?:database|log|table|snapshot|to|from)\b|"
    r"optimize\s+(?:table\s+)?\w+|repair\s+table\b|refresh\s+(?:materialized|table|dynamic|function|')|(?:un)?cache\s+(?:lazy\s+)?table\b|"
    r"update\s.+\bset\b|delete\s.+\b(?:from|where)\b|merge\s.+\busing\b|grant\s.+\bto\b|revoke\s.+\bfrom\b|attach\s|install\s+\w+\s+from\b|"
    r"(?:create|replace)\s+(?:or\s+\w+\s+)?\w+[\s=]+\S|alter\s+\w+\s|drop\s+\w+\s|"
    r"set\s+(?:global|session|local|persist\w*|role|password|authorization|transaction|names|[@\w.]+\s*(?::?=|to\b))|"
    r"reset\s+(?:(?:global|local|session|query|persist)\s+)?\w+\s*;?\s*$|"
    r"put\s+'?file:|get\s+'?@|(?:remove|rm)\s+'?@|export\s+(?:database|data|table)\b|import\s+(?:database|foreign|table|into)\b|"
    r"comment\s+(?:if\s+exists\s+)?on\b|lock\s+(?:tables?|instance|in)\b|lock\s+\w+\s+in\b|discard\s+(?:all|plans|temp\w*|sequences)\b|checkpoint\b|deny\s+\w|"
    r"security\s+label\b|go\s*\n|(?:if|while)\b.*\b(?:begin|insert|update|delete|drop|exec|truncate)\b|begin\b|declare\s|prepare\s+\w+\s|"
    r"deallocate\s|(?:enable|disable)\s+trigger\b|from\s+\S+\s+insert\b|insert\s+\w+|openrowset\b|reassign\s+owned\b|cluster\s+\w+)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements that begin with words which may also begin a question in plain language."""
_COMMENT = re.compile(r"/\*(?!m?!)(?:(?!\*/).)*\*/", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r"'[^']*+'")
_CHANGING = re.compile(
    r"(?<![\w.\"`\[@])(?:insert\s+(?:into|or|overwrite|ignore|all|first)\b|insert\s+[\w.\"`\[\]]+\s*(?:\(|values\b|select\b)|"
    r"update\s[^;]{1,400}?\bset\b|merge\s[^;]{1,400}?\busing\b|(?:replace|upsert)\s+(?:into\s+)?[\w.\"`\[\]]+\s+[\w(]|"
    r"(?:nextval|setval)\s*\(|next\s+value\s+for\b|comment\s+on\b|lock\s+tables?\b|notify\s+\w)",
    re.IGNORECASE,
)
_OPTIONS = frozenset(
    "ANALYZE ANALYSE VERBOSE EXTENDED PARTITIONS QUERY PLAN FOR FORMAT COSTS BUFFERS SETTINGS TIMING SUMMARY WAL "
    "MEMORY SERIALIZE GENERIC_PLAN TYPE LOGICAL DISTRIBUTED PIPELINE SYNTAX AST ESTIMATE LOCAL".split()
)
_CARRIED_OUT = frozenset("SELECT WITH VALUES INSERT UPDATE DELETE REPLACE MERGE".split())
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_NESTED = re.compile(r"/\*(?:(?!\*/).)*?/\*", re.DOTALL)
_EXECUTED = re.compile(
    r"/\*m?!|/\*\+[^*]*set_var|(?<!\w)(?:n?q'|u&\")|`[^`;'\"]*+[;'\"][^`]*+`|^[ \t]*+:?!!|^\.[a-z]",
    re.IGNORECASE | re.MULTILINE,
)
"""Executable comments, quotes with a delimiter of their own, and client commands."""
_ASIDE = ("/*", "`", "!!", "q'", "Q'", 'u&"', 'U&"', "\n.")
_ORDERS = frozenset(
    "! copy o out i ir include w write gexec gx gset g T P tee pager e edit ef ev setenv c connect cd lo_import "
    "lo_export watch s . "
    "system".split()
)
"""What follows the backslash of a client command outside quotes."""


def looks_like(text: str) -> bool:
    """Whether a text of unknown purpose begins like a statement; prose such as `drop table manners` may too."""
    return _START.match(_beginning(text)) is not None


def is_statement(text: str) -> bool:
    """Whether a text that is meant for a database begins like a statement, a rare one or a client command included."""
    beginning = _beginning(text)
    return _START.match(beginning) is not None or _RARE_START.match(beginning) is not None


def changes(text: str) -> bool:
    """Whether a statement that is not certainly a read says that it changes data."""
    plain = _QUOTED.sub("''", _COMMENT.sub(" ", fold(text)))
    return _CHANGING.search(plain) is not None


def _beginning(text: str) -> str:
    """The first words of a text, with comments as spaces and look-alike characters replaced."""
    beginning = text[:400]
    if not beginning.isascii():
        beginning = fold(beginning)
    return _COMMENT.sub(" ", beginning) if "/*" in beginning else beginning


def is_order(text: str) -> bool:
    """Whether a single word is a complete statement: `shutdown`, `checkpoint`."""
    return text.strip().rstrip(";").upper() in HEADS


_ENTITY = re.compile(r"<!(?:ENTITY|DOCTYPE)\b[^;]{0,300}?\b(?:SYSTEM|PUBLIC)\b", re.IGNORECASE)
"""XML with an external entity, which a database would fetch."""


def judge(text: str) -> tuple[Raised, ...]:
    """Findings for an SQL text; empty if it certainly only reads. Total."""
    found: dict[str, Raised] = {}
    plain = fold(text)
    for reading in (text, plain) if plain != text else (text,):
        for each in _judge(reading):
            found.setdefault(each.rule, each)
    return tuple(found.values())


def _judge(text: str) -> Sequence[Raised]:
    if (
        len(text) > LONGEST
        or _CONTROL.search(text)
        or ("/*" in text and _NESTED.search(text))
        or _is_client_command(text)
    ):
        return (kinds.DATABASE_UNREADABLE,)
    found: list[Raised] = [kinds.DATABASE_LEAVES] if "<!" in text and _ENTITY.search(text) else []
    is_whole = needs_parser = False
    for reading in readings(text):
        statements = _statements(reading)
        is_whole = is_whole or (bool(statements) and reading.is_usual and not reading.is_broken)
        for words in statements:
            act = _statement(words, [word.upper() for word in words])
            needs_parser = needs_parser or act is None
            found += (*(act or ()), *_functions_and_tables(words))
        if len(statements) > 1 and not all(words[0].upper() in _READS for words in statements):
            found.append(kinds.DATABASE_WRITE)
    if needs_parser:
        found += parsed(text)
    return found if is_whole else (*found, kinds.DATABASE_UNREADABLE)


def _is_client_command(text: str) -> bool:
    return (text[:1] == "." or any(sign in text for sign in _ASIDE)) and _EXECUTED.search(text) is not None


def _statements(reading: Reading) -> list[list[str]]:
    """The statements of a reading, without parentheses before their first words, and without an unterminated one."""
    statements: list[list[str]] = [[]]
    for word in reading.words:
        if word == ";":
            statements.append([])
        elif word != "(" or statements[-1]:
            statements[-1].append(word)
    if reading.is_broken:
        statements.pop()
    return [each for each in statements if each]


def _statement(words: list[str], capitals: list[str]) -> list[Raised] | None:
    """Findings for a statement; None if only a parser can tell. `_functions_and_tables` judges its functions."""
    first = capitals[0]
    if first in _QUERIES:
        found = side_effects_of_query(capitals)
        return [by(kinds.DESTROYS, "WITH RECURSIVE"), *(found or ())] if is_endless(capitals) else found
    if first == "EXPLAIN" or (first in ("DESCRIBE", "DESC", "ANALYZE") and len(words) > 2):
        return _explained(words, capitals)
    if first == "PRAGMA":
        return _pragma(words[1:])
    if first in _BRACKETS:
        return [] if _is_bracket(capitals) else [kinds.DATABASE_UNREADABLE]
    if first in _SHOWS:
        return _shown(first, words, capitals)
    return _changing(first, capitals)


def _functions_and_tables(words: list[str]) -> list[Raised]:
    """Findings for the functions and tables that a statement uses, if it is executed or displayed."""
    first = words[0].upper()
    if first in ("PRAGMA", *_BRACKETS):
        return []
    found = reached(words)
    if sql_sizes.makes_too_much(words):
        found.append(by(kinds.DESTROYS, "SELECT"))
    if "\\" in words and any(a == "\\" and b in _ORDERS for a, b in pairwise(words)):
        found.append(kinds.DATABASE_UNREADABLE)
    if first in _QUERIES:
        return found
    if first in _SHOWS or first == "EXPLAIN":
        return [each for each in found if each in (kinds.DATABASE_LEAVES, kinds.DATABASE_UNREADABLE)]
    return [each for each in found if each is not kinds.DATABASE_WRITE]


def _changing(first: str, capitals: Sequence[str]) -> list[Raised]:
    kind = HEADS.get(first, kinds.DATABASE_UNREADABLE)
    found = [kind]
    if kind is kinds.DATABASE_WRITE:
        found += side_effects_of_write(capitals)
    if first in ("UPDATE", "MERGE") and "WHERE" not in capitals and "ON" not in capitals:
        found.append(kinds.BULK)
    if first in ("INSERT", "REPLACE", "UPDATE", "MERGE") and "DELETE" in capitals:
        found.append(kinds.DATABASE_DELETE)
    return found


def _explained(words: list[str], capitals: list[str]) -> list[Raised] | None:
    """Findings for an `EXPLAIN`, which executes the statement if it analyses it."""
    at = 1
    while at < len(words):
        if capitals[at] in _OPTIONS:
            at += 3 if capitals[at + 1 : at + 2] == ["="] else 1
        elif capitals[at] == "(" and capitals[at + 1 : at + 2] and capitals[at + 1] in _OPTIONS:
            at = (capitals.index(")", at) if ")" in capitals[at:] else len(words)) + 1
        elif capitals[at] in ("(", "JSON", "TEXT", "TREE", "TRADITIONAL", "XML", "YAML", ","):
            at += 1
        else:
            break
    if capitals[0] == "ANALYZE" and (at >= len(words) or capitals[at] not in _CARRIED_OUT):
        return _changing("ANALYZE", capitals)
    if at >= len(words) or not {"ANALYZE", "ANALYSE"}.intersection(capitals):
        return []
    if capitals[at] in ("EXPLAIN", "DESCRIBE", "DESC", "ANALYZE"):
        return [kinds.DATABASE_UNREADABLE]
    found = _statement(words[at:], capitals[at:])
    return found if found is None else [*found, *_functions_and_tables(words[at:])]


def _pragma(words: list[str]) -> list[Raised]:
    names = [word.strip('"`[]').lower() for word in words]
    if len(names) > 2 and names[1] == ".":
        names = names[2:]
    is_asked = len(names) in (3, 4) and names[1] == "(" and names[-1] == ")" and names[0] in _READING_PRAGMAS
    is_alone = len(names) == 1 and names[0] in _READING_PRAGMAS | _SETTINGS
    return [] if is_asked or is_alone else [kinds.DATABASE_SCHEMA]


def _shown(first: str, words: list[str], capitals: Sequence[str]) -> list[Raised]:
    """Findings for a statement that displays something, if it names a file or contains another statement."""
    if first == "USE":
        return [] if _is_use(capitals) else [kinds.DATABASE_LEAVES]
    if first == "SHOW" or len(words) < 2:
        return []
    if words[1][0] in "'\"" and (first == "SUMMARIZE" or is_file(words[1])):
        return [kinds.DATABASE_LEAVES]
    return [kinds.DATABASE_UNREADABLE] if capitals[1] in HEADS else []


def _is_bracket(capitals: Sequence[str]) -> bool:
    """Whether a statement only begins or ends a transaction."""
    rest = [
        word for at, word in enumerate(capitals)
        if at and word not in _BRACKET_WORDS and not (capitals[at - 1] in _NAMES_FOLLOW and word not in HEADS)
    ]  # fmt: skip
    return not rest and not (capitals[0] == "START" and "TRANSACTION" not in capitals)


def _is_use(capitals: Sequence[str]) -> bool:
    """Whether a `USE` names a database, and is neither about a role nor followed by another statement."""
    names = [word for word in capitals[1:] if word not in (".", "DATABASE", "SCHEMA", "WAREHOUSE", "CATALOG")]
    return (
        0 < len(names) <= 2
        and not {"ROLE", "ROLES", "SECONDARY"}.intersection(names)
        and (len(names) == 1 or "." in capitals)
    )
