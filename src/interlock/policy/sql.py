"""What an SQL text does: each of its statements, what hides in its parts, and what its functions reach.

The database that it is for is not known here, so that where dialects read a text differently, the worse reading counts.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.folding import fold
from interlock.policy.secrets import secret_weight
from interlock.policy.verbs import asks_for_act

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.tokenizer_core import Token

LONGEST = 20_000
MOST_TOKENS = 3_000
DEEPEST = 100

_READS = frozenset("SELECT WITH VALUES TABLE FROM SHOW DESCRIBE DESC EXPLAIN PRAGMA USE".split())
_BRACKETS = frozenset("BEGIN COMMIT ROLLBACK START SAVEPOINT RELEASE END ABORT".split())
_FIRST: Mapping[str, Raised] = {
    **dict.fromkeys(
        "INSERT UPDATE MERGE REPLACE UPSERT LOCK NOTIFY LISTEN UNLISTEN COMMENT ANALYZE".split(), kinds.DATABASE_WRITE
    ),
    **dict.fromkeys(
        "CREATE ALTER DROP TRUNCATE GRANT REVOKE REINDEX VACUUM RENAME REASSIGN CLUSTER REFRESH SECURITY "
        "DENY IMPORT CHECKPOINT DISCARD OPTIMIZE REPAIR UNDROP".split(),
        kinds.DATABASE_SCHEMA,
    ),
    **dict.fromkeys("DELETE PURGE".split(), kinds.DATABASE_DELETE),
    **dict.fromkeys(
        "COPY ATTACH DETACH LOAD INSTALL SET RESET EXPORT UNLOAD PUT GET SHUTDOWN KILL BACKUP RESTORE "
        "HANDLER FLUSH".split(),
        kinds.DATABASE_LEAVES,
    ),
}
"""What a statement does by its first word; any other is not readable."""
_SUSPECT = frozenset(
    "INSERT UPDATE DELETE MERGE REPLACE INTO CREATE ALTER DROP TRUNCATE GRANT REVOKE COPY CALL EXEC "
    "EXECUTE DO ATTACH OUTFILE DUMPFILE OPENROWSET OPENQUERY OPENDATASOURCE".split()
)
_REACHING = re.compile(
    r"pg_(?:read|ls|stat_file|file|terminate|cancel|reload|rotate|switch|create|drop|logical|replication|backup|start|stop|"
    r"promote|wal|advisory|sleep|execute|import|log|notify|largeobject|signal)\w*|lo_\w+|dblink\w*|set_config|setval|query_to_xml\w*|"
    r"(?:table|schema|database|cursor)_to_xml\w*|load_extension|readfile|writefile|edit|fts3_tokenizer|load_file|"
    r"sys_(?:exec|eval|set)\w*|benchmark|sleep|get_lock|release_lock|(?:xp|sp)_\w+|openrowset|opendatasource|openquery|"
    r"utl_\w+|dbms_\w+|httpuritype|http\w*|url\w*|file|s3\w*|gcs|azureblobstorage|hdfs|remote\w*|mysql|postgresql|mongodb|"
    r"jdbc|odbc|executable|read_(?:csv|parquet|json|text|blob|ndjson)\w*|parquet_scan|sniff_csv|glob|getenv|shell\w*|"
    r"system|exec\w*|plpy\w*|net|curl\w*|inputs?|waitfor|master_key\w*|aes_decrypt|decrypt\w*"
)
_FINE = frozenset("truncate replace share order insert overlay position extract cast release".split())
_SECRET_TABLES = frozenset(
    "pg_shadow pg_authid pg_user_mapping pg_user_mappings pg_hba_file_rules sql_logins syslogins".split()
)
_READING_PRAGMAS = frozenset(
    "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list database_list "
    "user_version schema_version page_count page_size integrity_check quick_check compile_options "
    "function_list collation_list encoding freelist_count journal_mode foreign_keys application_id".split()
)
_START = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*\(*\s*(?:select\b[\s(*'\"`\[\d+:@-]|with\s+(?:recursive\s+)?[\w\"`]+\s*(?:\([^)]*\)\s*)?as\b|"
    r"insert\s+(?:into|or|overwrite|ignore)\b|update\s+\S+\s+(?:set|as)\b|delete\s+from\b|drop\s+(?:table|database|schema|view|index|user|role|"
    r"function|procedure|trigger|column|sequence|extension|materialized)\b|alter\s+(?:table|user|role|database|schema|system|index|view|"
    r"sequence|function)\b|create\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+|global\s+|unlogged\s+|external\s+)?(?:table|database|schema|view|"
    r"index|user|role|function|procedure|trigger|sequence|extension|materialized|type)\b|truncate\b(?:\s+table)?\s+\w|grant\s+[\w\s,*]+\s+(?:on|to)\b|"
    r"revoke\s+[\w\s,*]+\s+(?:on|from)\b|merge\s+into\b|replace\s+into\b|copy\s+[\w.\"(]+.*\b(?:from|to)\b|attach\s+(?:database\s+)?'|"
    r"pragma\s+\w|explain\s+(?:analyze\s+|query\s+plan\s+|\()?\s*(?:select|with|insert|update|delete|\w)|exec(?:ute)?\s+[\w.@]+|"
    r"call\s+[\w.]+\s*\(|vacuum\b|do\s+\$|declare\s+@|show\s+(?:tables|databases|columns|index|create|grants|processlist)\b|values\s*\()",
    re.IGNORECASE | re.DOTALL,
)
_OPTIONS = re.compile(
    r"\s*(?:\([^()]*\)|(?:(?:analy[sz]e|verbose|extended|partitions|query\s+plan)\b\s*)+)", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NESTED = re.compile(r"/\*(?:(?!\*/).)*?/\*", re.DOTALL)


def looks_like(text: str) -> bool:
    """Whether a text of unknown purpose begins as a statement does; prose such as `drop table manners` may too."""
    return _START.match(text[:400]) is not None


@lru_cache(maxsize=1024)
def judge(text: str) -> tuple[Raised, ...]:
    """What raises an SQL text; empty where it certainly only reads. Total."""
    found: dict[str, Raised] = {}
    plain = fold(text)
    for reading in dict.fromkeys((text, plain)) if plain != text else (text,):
        for each in _judge(reading):
            found.setdefault(each.rule, each)
    return tuple(found.values())


def _judge(text: str) -> Sequence[Raised]:
    if len(text) > LONGEST or _CONTROL.search(text) or "/*!" in text or "/*M!" in text or _NESTED.search(text):
        return (kinds.DATABASE_UNREADABLE,)
    found: list[Raised] = []
    read = 0
    for name in _dialects(text):
        dialect = _dialect(name)
        try:
            tokens = dialect.tokenize(text)
        except Exception:  # noqa: BLE001 - where a dialect cannot read it, another has to
            continue
        read += 1
        found += _statements(tokens, text, dialect)
    return found if read else (kinds.DATABASE_UNREADABLE,)


def _dialects(text: str) -> tuple[str, ...]:
    """The dialects that may find other statements in a text than PostgreSQL's."""
    names = ["postgres"]
    if "\\" in text or "`" in text or "#" in text or "$" in text or re.search(r"--(?![\s-]|$)", text):
        names.append("mysql")
    if "[" in text:
        names.append("tsql")
    return tuple(names)


@cache
def _dialect(name: str) -> "Dialect":
    from sqlglot.dialects.dialect import Dialect

    return Dialect.get_or_raise(name)


def _statements(tokens: "list[Token]", text: str, dialect: "Dialect") -> list[Raised]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            statements.append([])
        else:
            statements[-1].append(token)
    statements = [each for each in statements if each]
    if not statements:
        return [kinds.DATABASE_UNREADABLE]
    found: list[Raised] = []
    for each in statements:
        found += _statement(each, text, dialect)
    if len(statements) > 1:
        found.append(kinds.DATABASE_WRITE)
    return found


def _statement(tokens: "list[Token]", text: str, dialect: "Dialect") -> list[Raised]:
    at = next((number for number, token in enumerate(tokens) if token.token_type.name != "L_PAREN"), 0)
    first = tokens[at].text.upper().split(" ", 1)[0]
    if tokens[at].token_type.name in ("STRING", "IDENTIFIER", "NUMBER"):
        return [kinds.DATABASE_UNREADABLE]
    if first == "EXPLAIN":
        return _explained(tokens[at + 1 :])
    if first == "PRAGMA":
        return _pragma(tokens[at + 1 :])
    if first in _BRACKETS:
        return [] if len(tokens) <= 6 else [kinds.DATABASE_UNREADABLE]
    if first not in _READS:
        return _changing(first, tokens)
    found = _reached(tokens)
    if first in ("SELECT", "WITH", "VALUES", "TABLE", "FROM") and _is_suspect(tokens):
        found += _parsed(tokens, text, dialect)
    return found


def _changing(first: str, tokens: "list[Token]") -> list[Raised]:
    found = [_FIRST.get(first, kinds.DATABASE_UNREADABLE), *_reached(tokens)]
    bare = {token.text.upper() for token in tokens if token.token_type.name not in ("STRING", "IDENTIFIER")}
    if first in ("UPDATE", "MERGE") and "WHERE" not in bare and "ON" not in bare:
        found.append(kinds.BULK)
    if first in ("INSERT", "REPLACE", "UPDATE", "MERGE") and "DELETE" in bare:
        found.append(kinds.DATABASE_DELETE)
    return found


def _explained(tokens: "list[Token]") -> list[Raised]:
    """A statement that is explained is carried out too where it is analysed."""
    text = " ".join(token.text for token in tokens)
    options = _OPTIONS.match(text)
    head = options.group() if options else ""
    return list(_judge(text[len(head) :])) if "analy" in head.lower() else []


def _pragma(tokens: "list[Token]") -> list[Raised]:
    names = [token.text.lower() for token in tokens]
    changes = any(token.token_type.name == "EQ" for token in tokens)
    name = names[2] if len(names) > 2 and names[1] == "." else (names[0] if names else "")
    alone = len(names) <= 4 and name not in (
        "journal_mode",
        "foreign_keys",
        "user_version",
        "application_id",
        "schema_version",
    )
    return (
        []
        if name in _READING_PRAGMAS and not changes and (alone or len(names) == 1 or "(" not in names)
        else [kinds.DATABASE_SCHEMA]
    )


def _reached(tokens: "list[Token]") -> list[Raised]:
    """What the functions and tables of a statement reach."""
    found: list[Raised] = []
    for number, token in enumerate(tokens):
        kind = token.token_type.name
        if kind in ("STRING", "NUMBER") or not token.text:
            continue
        name = token.text.lower()
        if number + 1 < len(tokens) and tokens[number + 1].token_type.name == "L_PAREN":
            if _REACHING.fullmatch(name):
                found.append(kinds.DATABASE_LEAVES)
            elif kind in ("VAR", "IDENTIFIER") and name not in _FINE and asks_for_act(name):
                found.append(kinds.ACTS)
        if kind in ("VAR", "IDENTIFIER") and (name in _SECRET_TABLES or secret_weight(name) >= 2):
            found.append(kinds.READS_SECRETS)
    return found


def _is_suspect(tokens: "list[Token]") -> bool:
    """A quick look: False only where no keyword but those of reading stands in it."""
    before = ""
    for token in tokens:
        kind, text = token.token_type.name, token.text.upper()
        named = kind in ("STRING", "IDENTIFIER") or before in (".", "AS")
        if text in _SUSPECT and not named and not (text == "UPDATE" and before in ("FOR", "KEY")):
            return True
        before = text
    return False


def _parsed(tokens: "list[Token]", text: str, dialect: "Dialect") -> list[Raised]:
    """What the syntax tree of a statement that begins as a read holds beside reading."""
    from sqlglot import exp

    depth = deepest = 0
    for token in tokens:
        kind = token.token_type.name
        depth += (kind in ("L_PAREN", "CASE", "L_BRACKET")) - (kind in ("R_PAREN", "END", "R_BRACKET"))
        deepest = max(deepest, depth)
    if deepest > DEEPEST or len(tokens) > MOST_TOKENS:
        return [kinds.DATABASE_UNREADABLE]
    try:
        trees = dialect.parser().parse(tokens, text)
    except Exception:  # noqa: BLE001 - whatever the parser cannot read, a person must
        return [kinds.DATABASE_UNREADABLE]
    if len(trees) != 1 or trees[0] is None:
        return [kinds.DATABASE_UNREADABLE]
    table: tuple[tuple[tuple[type[Any], ...], Raised], ...] = (
        ((exp.Delete,), kinds.DATABASE_DELETE),
        ((exp.Insert, exp.Update, exp.Merge), kinds.DATABASE_WRITE),
        ((exp.Into, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Grant), kinds.DATABASE_SCHEMA),
        ((exp.Copy, exp.Attach, exp.Command), kinds.DATABASE_LEAVES),
    )
    return [kind for node in trees[0].walk() for types, kind in table if isinstance(node, types)]
