"""Finds what an SQL statement does beyond its first word: nested writes, stacked statements, locks, files.

Functions and tables are judged in `sql_names`. Words are in upper case, quoted ones with their quotes.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.queries import sql_sizes

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

MOST_TOKENS = 3_000
DEEPEST = 100

HEADS: Mapping[str, Raised] = {
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
"""The effect of a statement by its first word; any other statement is unreadable."""
_CHANGES = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"))
_STACKED: Mapping[str, frozenset[str]] = {
    "SHUTDOWN": frozenset(("", "WITH", "IMMEDIATE", "NORMAL")),
    "RECONFIGURE": frozenset(("", "WITH")),
    "KILL": frozenset("QUERY CONNECTION STATS UPDATE".split()),
    "BACKUP": frozenset("DATABASE LOG CERTIFICATE MASTER SERVICE TABLE TO".split()),
    "RESTORE": frozenset("DATABASE LOG TABLE FILELISTONLY HEADERONLY MASTER SERVICE".split()),
    "DENY": frozenset("ALL SELECT INSERT UPDATE DELETE EXECUTE CONTROL ALTER VIEW CONNECT IMPERSONATE".split()),
    "BULK": frozenset(("INSERT",)),
    "WAITFOR": frozenset(("DELAY", "TIME")),
    "DISABLE": frozenset(("TRIGGER",)),
    "ENABLE": frozenset(("TRIGGER",)),
    "SEND": frozenset(("ON",)),
    "DBCC": frozenset(), "SET": frozenset(), "DECLARE": frozenset(), "USE": frozenset(), "REVERT": frozenset(("",)),
}  # fmt: skip
"""Statements that some databases accept without a `;` between them, and what follows their first word; empty: any."""
_LOCKS = frozenset("UPDATE SHARE UPDLOCK XLOCK TABLOCK TABLOCKX HOLDLOCK".split())
_SUSPECT = frozenset(
    "INTO CREATE ALTER DROP TRUNCATE GRANT REVOKE COPY CALL EXEC EXECUTE DO ATTACH OUTFILE DUMPFILE NEXT "
    "OPENROWSET OPENQUERY OPENDATASOURCE".split()
) | _CHANGES | _LOCKS | _STACKED.keys()  # fmt: skip
_OPENS = frozenset(
    "SELECT WHERE AND OR NOT ON BY DISTINCT ALL FROM JOIN IN LIKE ILIKE IS THEN ELSE WHEN CASE BETWEEN HAVING AS INTO "
    "UPDATE SET RETURNING FOR INDEX KEY , ( [ = < > + - * / % | & ! ~ ^ . @ :".split()
)
"""Words after which a name or a value stands, not a statement."""
_CLOSES = frozenset(
    "FROM IS IN LIKE ILIKE BETWEEN AND OR NOT ASC DESC THEN ELSE END AS , ) ] = < > + - * / % | & ! ~ ^ . : (".split()
) | {""}  # fmt: skip
"""Words that follow a name or a value."""
_ENDS = frozenset("LIMIT FETCH TOP ROWNUM".split())
_LIMITS = frozenset("WHERE JOIN HAVING ON USING EXCEPT".split())
_FINE: list[Raised] = []


def side_effects_of_query(words: Sequence[str]) -> list[Raised] | None:
    """The side effects of a statement that begins as a query; None if only a parser can tell."""
    if _SUSPECT.isdisjoint(words):
        return _FINE
    found: list[Raised] = []
    for at, word in enumerate(words):
        if at and word in _SUSPECT:
            act = _act(words, at)
            if act is None:
                return None
            found += act
    return found


def is_endless(words: Sequence[str]) -> bool:
    """Whether a query defines itself by itself without a condition: `WITH t AS (… UNION ALL SELECT n + 1 FROM t)`."""
    if words[0] != "WITH" or "UNION" not in words or not _ENDS.isdisjoint(words):
        return False
    for at, word in enumerate(words):
        if word == "(" and words[at - 1] in ("AS", "MATERIALIZED"):
            inside = _enclosed(words, at)
            again = inside[_last(inside, "UNION") + 1 :]
            if "UNION" in inside and _defined(words, at) in again:
                return sql_sizes.counts_too_far(again) or (
                    _LIMITS.isdisjoint(again) and "," not in again[_last(again, "FROM") :]
                )
    return False


def _enclosed(words: Sequence[str], at: int) -> Sequence[str]:
    """The words between a parenthesis and the one that closes it."""
    depth = 0
    for end in range(at, len(words)):
        depth += (words[end] == "(") - (words[end] == ")")
        if not depth:
            return words[at + 1 : end]
    return words[at + 1 :]


def _last(words: Sequence[str], word: str) -> int:
    return len(words) - 1 - words[::-1].index(word) if word in words else -1


def _defined(words: Sequence[str], at: int) -> str:
    """The name of the query in the parenthesis at this position: `t` of `t (n) AS (…`."""
    named = _last(words[:at], "AS") - 1
    if words[named] == ")":
        named = _last(words[:named], "(") - 1
    return words[named]


def side_effects_of_write(words: Sequence[str]) -> list[Raised]:
    """The side effects of a statement that writes; anything unclear counts as a stacked statement."""
    if _SUSPECT.isdisjoint(words[1:]):
        return _FINE
    found: list[Raised] = []
    for at, word in enumerate(words):
        if at == 0 or word not in _SUSPECT or (word == "INTO" and _after(words, at) not in ("OUTFILE", "DUMPFILE")):
            continue
        if word == "SET" and words[0] in ("UPDATE", "INSERT", "MERGE", "REPLACE", "WITH"):
            continue
        act = _act(words, at)
        if act is None:
            act = [] if _is_value(words, at) else [_surely(HEADS.get(word, kinds.DATABASE_UNREADABLE))]
        found += act
    return found


def _surely(kind: Raised) -> Raised:
    return kinds.DATABASE_UNREADABLE if kind is kinds.DATABASE_WRITE else kind


def _act(words: Sequence[str], at: int) -> list[Raised] | None:
    """The effect of one suspicious word at its position; None if it is unclear."""
    word, before, after = words[at], words[at - 1], _after(words, at)
    if before in (".", "AS") or (before == "[" and after == "]"):
        return []
    if word in _LOCKS and (lock := _lock(words, at)) is not None:
        return lock
    if word == "NEXT":
        return [kinds.DATABASE_WRITE] if after in ("VALUE", "VALUES") and before != "FETCH" else []
    if word in _STACKED:
        return [kinds.DATABASE_LEAVES] if _is_stacked(words, at) else []
    if word == "INTO":
        return _into(before, after)
    if before == "THEN" and word in _CHANGES and "MATCHED" in words and "MERGE" in words:
        return [HEADS[word]]
    if word == "DELETE" and after == "FROM" and before not in _OPENS and before not in ("THEN", ")"):
        return [kinds.DATABASE_DELETE]
    if after == "(" and word in ("REPLACE", "INSERT", "TRUNCATE"):
        return []
    if word == "DO":
        return [] if after in ("UPDATE", "NOTHING") and "CONFLICT" in words[:at] else None
    if word in _CHANGES and _begins(words, at):
        return [HEADS[word], kinds.BULK] if word == "UPDATE" and "WHERE" not in words[at:] else [HEADS[word]]
    return [kinds.DATABASE_LEAVES] if word in ("OUTFILE", "DUMPFILE") and before == "INTO" else None


def _lock(words: Sequence[str], at: int) -> list[Raised] | None:
    """The effect of a word that may belong to a row-locking clause; None if it does not."""
    word, before = words[at], words[at - 1]
    if word == "UPDATE":
        if before == "SHARE" and _after(words, at) == "EXCLUSIVE":
            return []
        is_key = before == "KEY" and at > 1 and words[at - 2] in ("NO", "DUPLICATE")
        return [kinds.DATABASE_WRITE] if is_key or before in ("FOR", "DO") else None
    if word == "SHARE":
        return [kinds.DATABASE_WRITE] if before in ("FOR", "KEY") or _after(words, at) == "MODE" else []
    return [kinds.DATABASE_WRITE] if before in ("(", ",") and "WITH" in words[:at] else []


def _into(before: str, after: str) -> list[Raised]:
    if before in _CHANGES or before in ("IGNORE", "DELAYED", "LOW_PRIORITY", "HIGH_PRIORITY"):
        return []
    return [kinds.DATABASE_LEAVES if after in ("OUTFILE", "DUMPFILE") else kinds.DATABASE_SCHEMA]


def _is_stacked(words: Sequence[str], at: int) -> bool:
    """Whether another statement begins here, without a `;` before it."""
    word, after = words[at], _after(words, at)
    if words[at - 1] in _OPENS:
        return False
    if not (follows := _STACKED[word]):
        return after not in _CLOSES and not (word == "SET" and "UPDATE" in words[:at]) and after not in ("INDEX", "KEY")
    return after in follows or (word == "KILL" and (after[:1].isdigit() or after[:1] == "'"))


def _begins(words: Sequence[str], at: int) -> bool:
    """Whether a statement begins here: inside the parentheses of a `WITH`, or after them."""
    if words[at - 1] == "(":
        return at > 1 and words[at - 2] in ("AS", "MATERIALIZED")
    return words[0] == "WITH" and words[at - 1] == ")" and words[:at].count("(") == words[:at].count(")")


def _is_value(words: Sequence[str], at: int) -> bool:
    """Whether a word is in the position of a column name."""
    return words[at - 1] in _OPENS and _after(words, at) in _CLOSES


def _after(words: Sequence[str], at: int) -> str:
    return words[at + 1] if at + 1 < len(words) else ""


def parsed(text: str) -> list[Raised]:
    """The side effects in the syntax trees of a text, by the parsers of all dialects that may apply."""
    names = ["postgres"]
    if any(sign in text for sign in ("\\", "`", "#", "$", "--")):
        names.append("mysql")
    if "[" in text:
        names.append("tsql")
    found: list[Raised] = []
    read = 0
    for name in names:
        dialect = _dialect(name)
        try:
            tokens = dialect.tokenize(text)
        except Exception:  # noqa: BLE001 - where a dialect cannot read it, another has to
            continue
        read += 1
        found += _trees(tokens, text, dialect)
    return found if read else [kinds.DATABASE_UNREADABLE]


@cache
def _dialect(name: str) -> "Dialect":
    from sqlglot.dialects.dialect import Dialect

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    return Dialect.get_or_raise(name)


def _trees(tokens: "list[Any]", text: str, dialect: "Dialect") -> list[Raised]:
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
    if not trees or trees[0] is None:
        return [kinds.DATABASE_UNREADABLE]
    table: tuple[tuple[tuple[type[Any], ...], Raised], ...] = (
        ((exp.Delete,), kinds.DATABASE_DELETE),
        ((exp.Insert, exp.Update, exp.Merge), kinds.DATABASE_WRITE),
        ((exp.Into, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Grant), kinds.DATABASE_SCHEMA),
        ((exp.Copy, exp.Attach, exp.Command), kinds.DATABASE_LEAVES),
    )
    nodes = (node for tree in trees if tree is not None for node in tree.walk())
    return [kind for node in nodes for types, kind in table if isinstance(node, types)]
