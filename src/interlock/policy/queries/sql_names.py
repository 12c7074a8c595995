"""Judges the functions and tables of an SQL statement by name: files, servers, secrets, settings.

The statements themselves are judged in `sql` and `sql_acts`.
"""

import re
from collections.abc import Sequence

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.definitions.verbs import asks_for_act
from interlock.policy.queries.sql_functions import COMPUTES
from interlock.policy.secrets import secret_weight
from interlock.policy.values.spelling import parts

_REACHING = re.compile(
    r"pg_(?:read|ls|stat_file|stat_reset|stat_clear|file|terminate|cancel|reload|rotate|switch|create|drop|logical|replication|"
    r"backup|start|stop|promote|wal|advisory|try_advisory|sleep|execute|import|export|log|notify|largeobject|signal|sync|"
    r"copy|restore|clear|hba|ident|show_all|current_logfile|nextoid)\w*|lo_\w+|lo(?:read|write)|dblink\w*|set_config|setval|"
    r"query_to_xml\w*|(?:table|schema|database|cursor)_to_xml\w*|ts_stat|ts_rewrite|crosstab\w*|connectby|"
    r"load_extension|readfile|writefile|edit|fsdir|lsdir|zipfile|sqlite_dbpage|sqlite_log|fts3_tokenizer|load_file|"
    r"sys_(?:exec|eval|set|get)\w*|benchmark|sleep|(?:get|release)_(?:all_)?locks?|(?:master|source)_pos_wait|"
    r"(?:xp|sp)_\w+|openrowset|opendatasource|openquery|openxml|fn_\w*(?:file|trace|dump)\w*|"
    r"dm_os_(?:file|enumerate)\w*|utl_\w+|dbms_\w+|httpuritype|http\w*|url\w*|file|filecluster|s3\w*|gcs|"
    r"azureblobstorage\w*|hdfs\w*|remote\w*|cluster\w*|mysql|postgresql|mongodb|redis|sqlite|jdbc|odbc|executable|"
    r"delta\w*|iceberg\w*|hudi\w*|paimon\w*|read_\w+|parquet_\w+|sniff_csv|scan_\w+|\w+_scan|\w+_scanner|glob|getenv|"
    r"shell\w*|system[\w$]*|exec\w*|eval|query|query_table|external_query|remote_query|\w*_query|plpy\w*|net|curl\w*|inputs?|"
    r"waitfor|master_(?!pos)\w*|run_command_on\w*|\w*decrypt\w*|aws_\w+|lambda\w*|invoke\w*|ai_\w+|ml_\w+|"
    r"query_(?:export|import)\w*|table_(?:import|export)\w*|copy_\w+|import_\w+|export_\w+|backup_\w+|restore_\w+"
)
_PACKAGES = re.compile(
    r"utl_\w+|dbms_\w+|ctxsys|ordsys|mdsys|kupp\w*|cron|pgagent|pg_repack|repack|partman|net|http|aws_\w+|apoc|pgsodium|vault|plpy|ml|ai|lambda|master"
)
"""Schemas and packages whose functions act."""
_ACTS = frozenset("drop delete truncate purge destroy wipe erase terminate grant revoke refund transfer send".split())
"""Words that mark an unknown function as acting, anywhere in its name."""
_SECRET_COLUMNS = frozenset(
    "ssn social_security_number cvv cvc card_number cardnumber credit_card creditcard credit_card_number pan_number "
    "passport_number pin_code security_answer otp_secret private_key mnemonic".split()
)
_SECRET_TABLES = frozenset(
    "pg_shadow pg_authid global_priv user_mapping_options "
    "pg_user_mapping pg_user_mappings pg_hba_file_rules sql_logins syslogins user$".split()
)
_HINTS = re.compile(
    r"secret|passw|passp|passcode|pwd|credential|key|token|pg_shadow|pg_authid|user_mapping|global_priv|mysql|pg_hba|logins|user\$|"
    r"ssn|social_sec|cvv|cvc|card|passport|pan_n|pin_c|security_a|otp_s|mnemonic"
)
_PLACES = frozenset(("FROM", "JOIN", "TABLE", "INTO", "LATERAL"))
_CLAUSES = frozenset(
    "SELECT FROM WHERE GROUP ORDER HAVING LIMIT OFFSET FETCH WINDOW QUALIFY UNION EXCEPT INTERSECT SET VALUES "
    "RETURNING "
    "PARTITION".split()
)
"""Keywords with which a clause begins."""
_BEFORE_TABLES = frozenset(("FROM", "JOIN", ",", "("))
_FILE = re.compile(
    r"[/\\]|\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|xlsx?|gz|zst|db|sqlite3?|duckdb|arrow|orc|avro|log|conf|xml|html?)$",
    re.IGNORECASE,
)
_BEFORE_COLUMNS = frozenset(
    ("WITH", "RECURSIVE", "AS", "INTO", "INSERT", "IGNORE", "TABLE", "OVERWRITE", "REFERENCES", "EXISTS", ")")
)
_MYSQL_USERS = re.compile(r"(?<!\. )\bmysql \. user\b")
_QUOTES = "'\"`"


def reached(words: Sequence[str]) -> list[Raised]:
    """Findings for the functions and tables of a statement, each kind once."""
    found: dict[Raised, None] = {}
    has_link, columns, between = False, _columns(words), None
    for at, (word, follows) in enumerate(zip(words, (*words[1:], ""), strict=True)):
        if follows == "(":
            if word.lower() not in COMPUTES and at not in columns and (called := _called(words, at)) is not None:
                found[called] = None
        elif word == "@":
            has_link = True
        elif word == "," and follows[:1] in _QUOTES and _is_quoted_file(follows):
            between = _between_tables(words) if between is None else between
            if at in between:
                found[kinds.DATABASE_LEAVES] = None
        elif 3 < len(word) < 8 and word.upper() in _PLACES and (_is_far(words, at + 1) or _is_file(words, at)):
            found[kinds.DATABASE_LEAVES] = None
    if has_link and _links(words):
        found[kinds.DATABASE_LEAVES] = None
    if _HINTS.search(" ".join(words).lower()) and (
        any(map(_is_secret, words)) or _MYSQL_USERS.search(" ".join(map(_bare, words)))
    ):
        found[kinds.READS_SECRETS] = None
    return list(found)


def _called(words: Sequence[str], at: int) -> Raised | None:
    """The finding for a function that is not known to only compute."""
    name = _bare(words[at])
    if not name or not (name[0].isalpha() or name[0] == "_") or (at and words[at - 1].upper() == "TABLESAMPLE"):
        return None
    if _REACHING.fullmatch(name) or _owner(words, at, _PACKAGES):
        return kinds.DATABASE_LEAVES
    if name in COMPUTES or _declares(words, at):
        return None
    spelled = words[at].strip('"`[]')
    acts = asks_for_act(name) or asks_for_act(spelled) or not _ACTS.isdisjoint(parts(spelled))
    return kinds.ACTS if acts else kinds.DATABASE_WRITE


def _declares(words: Sequence[str], at: int) -> bool:
    """Whether a name before a parenthesis has a column list: `WITH x(a, b) AS`, `INSERT INTO t (a)`, `AS t(a)`."""
    while at > 1 and words[at - 1] == ".":
        at -= 2
    return at > 0 and words[at - 1].upper() in _BEFORE_COLUMNS


def _columns(words: Sequence[str]) -> frozenset[int]:
    """The positions of the second and later names defined by a `WITH`, if column lists follow them."""
    if words[0].upper() != "WITH":
        return frozenset()
    found, begins, depth = set(), 0, 0
    for at, word in enumerate(words):
        if word == "(":
            if depth == 0 and at > 1 and words[at - 2] == ",":
                begins = at - 1
            depth += 1
        elif word == ")":
            depth -= 1
            if depth == 0 and begins and words[at + 1 : at + 2] and words[at + 1].upper() == "AS":
                found.add(begins)
            begins = begins if depth else 0
    return frozenset(found)


def _owner(words: Sequence[str], at: int, names: re.Pattern[str]) -> bool:
    """Whether a name is qualified by one of `names`."""
    while at >= 2 and words[at - 1] == ".":
        at -= 2
        if names.fullmatch(_bare(words[at])):
            return True
    return False


def _is_far(words: Sequence[str], at: int) -> bool:
    """Whether a table is qualified with its server, in a name of four parts."""
    dots = [number for number in range(at, min(at + 7, len(words))) if words[number] == "."]
    names = [word.lower() for word in words[at : at + 7]]
    return len(dots) >= 3 and dots[2] - at <= 5 and not any("information_schema" in name for name in names)


def is_file(word: str) -> bool:
    """Whether a quoted name is a file name."""
    return _FILE.search(word[1:-1]) is not None


def _is_quoted_file(word: str) -> bool:
    return word[:1] in ("'", '"', "`") and is_file(word)


def _between_tables(words: Sequence[str]) -> frozenset[int]:
    """The positions of commas between tables: in `FROM t, 'x.csv'`, not in `SELECT a, 'x.csv'` or `f(a, 'x.csv')`."""
    found, lists = set(), [False]
    for at, word in enumerate(words):
        if word == "(":
            lists.append(lists[-1] and words[at - 1].upper() in _BEFORE_TABLES)
        elif word == ")":
            if len(lists) > 1:
                lists.pop()
        elif word == "," and lists[-1]:
            found.add(at)
        elif 2 < len(word) < 10 and word.upper() in _CLAUSES:
            lists[-1] = word.upper() == "FROM"
    return frozenset(found)


def _is_file(words: Sequence[str], at: int) -> bool:
    """Whether a quoted name in the position of a table is a file, which some databases read."""
    if at + 1 >= len(words) or not _is_quoted_file(words[at + 1]):
        return False
    if words[at].upper() == "INTO" or (at + 2 < len(words) and words[at + 2] == "." and words[at + 1][0] != "`"):
        return False
    depth = 0
    for number in range(at, -1, -1):
        depth += (words[number] == ")") - (words[number] == "(")
        if depth < 0:
            return words[number + 1].upper() in ("SELECT", "WITH", "FROM", "TABLE", "(")
    return True


def _links(words: Sequence[str]) -> bool:
    """Whether a table of another database (`users@remote`) or a stage of files (`FROM @stage/x`) is named."""
    for at, word in enumerate(words):
        if word == "@" and at and at + 1 < len(words):
            before = words[at - 1].upper()
            if before in _PLACES and at + 2 < len(words) and words[at + 2] in ("/", "%", "."):
                return True
            if (
                at > 1
                and words[at - 2].upper() in _PLACES
                and words[at - 1][0].isalpha()
                and words[at + 1][0].isalpha()
            ):
                return True
    return False


def _is_secret(word: str) -> bool:
    if word[-1] == "'":
        return False
    name = _bare(word)
    return name in _SECRET_TABLES or name in _SECRET_COLUMNS or secret_weight(name) >= 2


def _bare(word: str) -> str:
    """A name without its quotes, in lower case; a string literal keeps its quotes."""
    if word[0] in '"`[' and len(word) > 1:
        word = word[1:-1]
    return word.lower()
