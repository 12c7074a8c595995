"""Judges queries in database languages other than SQL: Cypher, Gremlin, SPARQL, calls on collections, and the like.

Only what is certainly an act of such a language is raised; an unknown text may be a question in plain words.
"""

import re
from collections.abc import Iterator

from interlock.policy import kinds
from interlock.policy.calls import Raised

_LITERALS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|<[^<>\s]*>|/\*.*?\*/|//[^\n]*", re.DOTALL)
"""Strings, quoted names, addresses and comments, in which words are no clauses."""
_HANDLE = re.compile(
    r"\bMATCH\s{0,9}(?:\w{1,40}\s{0,9}=\s{0,9})?(?:(?:ALL|ANY|SHORTEST|TRAIL|WALK|ACYCLIC|REPEATABLE|DIFFERENT)\b[\w\s]{0,40})?"
    r"\(|\bUNWIND\s|\bYIELD\s|\bFOREACH\s{0,9}\(|\bg\s?\.\s?\w{1,20}\s?\(|\b(?:db|rs|sh)\s?(?:\.\s?\w|\[)",
    re.IGNORECASE,
)
"""How queries to graph and document databases begin; the operation follows."""
_DELETES_IT = re.compile(
    r"\bDELETE\s{1,9}\w|\b(?:drop\w{0,20}|remove|delete\w{0,20}|findOneAndDelete)\s?\(|\$(?:out|merge)\b", re.IGNORECASE
)
_WRITES_IT = re.compile(
    r"\b(?:SET|REMOVE)(?:\s{1,9}\w|\s{0,9}\()|\b(?:CREATE|MERGE|INSERT)\s{0,9}\(|\b(?:insert\w{0,20}|update\w{0,20}|replace\w{0,20}|rename\w{0,20}|bulkWrite|save|"
    r"create\w{1,20}|findOneAnd\w{0,20}|findAndModify|addV|addE|mergeV|mergeE|property|mapReduce|hideIndex|unhideIndex|"
    r"reIndex|convertToCapped|copyTo|clone\w{1,20}|set[A-Z]\w{1,20})\s?\(",
    re.IGNORECASE,
)
_ADMINISTERS = re.compile(
    r"\b(?:(?:grant|revoke)\w{1,30}|change\w{1,20}|shutdown\w{0,10}|fsync\w{0,8}|kill\w{1,10}|stepDown|reconfig|add|"
    r"addArb|addShard\w{0,8}|enableSharding|shardCollection|moveChunk|split\w{0,4}|runCommand|adminCommand|eval|auth|"
    r"logout|initiate|freeze)\s?\(|\]\s?\(|\.\s?\w*\\u",
    re.IGNORECASE,
)
"""Calls on a document store that change the store itself, run a command in an argument, or a method by its text."""
_LOOKS = frozenset(
    "find findOne count countDocuments estimatedDocumentCount distinct aggregate getIndexes stats dataSize storageSize "
    "totalSize totalIndexSize latencyStats limit skip sort pretty toArray explain hasNext next size itcount batchSize "
    "project hint maxTimeMS collation comment allowDiskUse getCollection getCollectionNames getCollectionInfos "
    "getSiblingDB getMongo getDBs getDBNames getName version serverStatus hostInfo hello isMaster currentOp "
    "getProfilingStatus serverBuildInfo status conf isCapped printjson print stringify tojson ObjectId ISODate Date "
    "NumberLong NumberInt NumberDecimal UUID getShardDistribution printShardingStatus printReplicationInfo".split()
)
"""Calls that read from a document store, or display what was read."""
_SHOWN = re.compile(r"\s*(?:show\s{1,9}(?:dbs|databases|collections|tables|users|roles|profile|logs)|db|help)\s*;?\s*")
_CALLS = re.compile(r"([A-Za-z_$][\w$]*)\s*\(")
_RUNS = re.compile(r"[=`+/\\]|\]\s*\(|\bfunction\b|\$(?:out|merge|where|function|accumulator)\b|\bnew\b(?!\s+Date\b)")
"""What makes a chain of calls a program, or has it write."""
_DELETES = re.compile(
    r"\bDELETE\s{1,9}(?:DATA\s{0,9}|WHERE\s{0,9})?\{|\b(?:CLEAR|DROP)\s{1,9}(?:SILENT\s{1,9})?"
    r"(?:GRAPH|ALL|DEFAULT|NAMED|CONSTRAINT|MEASUREMENT|SERIES|BUCKET)\b|^\s*\.(?:drop|delete|purge|clear)\b",
    re.IGNORECASE,
)
_WRITES = re.compile(
    r"^\s*(?:CREATE|MERGE)\s?\(|\bINSERT\s{1,9}(?:DATA\s{0,9})?\{|\bLOAD\s{1,9}(?:CSV\b|<)|"
    r"^\s*\.(?:alter|create|set|append|ingest|rename)\b|"
    r"\b(?:CREATE|MERGE|INSERT)\s{0,9}(?:\w{1,40}\s{0,9}=\s{0,9})?\(\s{0,9}(?:\w{1,40}\s{0,9})?(?::\s{0,9}[\w$(!]|\{|\$|\)\s?<?-)|"
    r"\|>\s{0,9}(?:\w{1,20}\.)?to\s?\(",
    re.IGNORECASE,
)
_WITH = re.compile(r"\s*(?:WITH\s[^()]{1,300}?\sAS\s|RETURN\s|CALL\s{0,9}[\w.{(]|USE\s{1,9}\w)", re.IGNORECASE)
"""How a query of a graph may begin before a clause that writes."""
_MAKES = re.compile(r"\b(?:CREATE|MERGE|INSERT)\s{0,9}\(", re.IGNORECASE)
_EACH = re.compile(r"\s*(?:LET\s.{1,300})?FOR\s{1,9}\w{1,40}\s{1,9}IN\s", re.IGNORECASE | re.DOTALL)
_CHANGES_EACH = re.compile(
    r"\b(?:REMOVE|UPDATE|REPLACE|INSERT|UPSERT)\s{1,9}(?:\w|\{)[^;]{0,2000}\bIN(?:TO)?\s", re.IGNORECASE
)
"""A loop over documents that changes each of them."""
_DEFINES = re.compile(
    r"\s*(?:CREATE|DROP|ALTER|RENAME|START|STOP|TERMINATE|ENABLE|DEALLOCATE|REALLOCATE)\s{1,9}(?:OR\s{1,9}REPLACE\s{1,9})?"
    r"(?:\w{1,20}\s{1,9})?(?:CONSTRAINTS?|INDEX(?:ES)?|ALIAS(?:ES)?|SERVERS?|TRANSACTIONS?|DATABASES?|ROLES?|USERS?|GRAPH|"
    r"PROPERTY)(?![\w.])|"
    r"[^'\"]*\bTERMINATE\s{1,9}TRANSACTIONS?\b|\s*(?:GRANT|DENY|REVOKE)\s[\w\s,{}()*:]{1,300}\b(?:ON|TO|FROM)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\bCALL\s{1,9}([A-Za-z]\w{0,40}(?:\.\w{1,60}){1,6})", re.IGNORECASE)
_STEPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ACTING = frozenset(
    "create drop delete remove set write mutate merge kill add clear import export refactor trigger periodic commit do "
    "run assert invalidate terminate rename put post update upsert schedule submit restart pause resume clone install "
    "uninstall execute insert append commit rollback grant revoke deny suspend activate change reload rebuild resample "
    "resync purge truncate flush warmup stop start load".split()
)
"""Words in names of stored procedures that change something, run a query in an argument, or fetch."""


def findings(text: str, *, is_meant: bool) -> Iterator[Raised]:
    """Findings for a query of a language that is not SQL; fewer for a text that may not be meant for a database."""
    begins = _HANDLE.search(text)
    if begins is not None and begins.group()[:2].lower() in ("db", "rs", "sh"):
        yield from _of_calls(text, begins.end() - 1)
        return
    plain = _LITERALS.sub(" x ", text) if "'" in text or '"' in text or "/" in text or "`" in text else text
    begins = _HANDLE.search(plain)
    start = len(plain) if begins is None else begins.end() - 1
    if _DELETES.search(plain) or _DELETES_IT.search(plain, start):
        yield kinds.DATABASE_DELETE
    elif _WRITES.search(plain) or _WRITES_IT.search(plain, start) or _makes(plain):
        yield kinds.DATABASE_WRITE
    if not is_meant:
        return
    if _DEFINES.match(plain):
        yield kinds.DATABASE_SCHEMA
    for called in _CALLED.finditer(plain):
        if not _ACTING.isdisjoint(each.lower() for each in _STEPS.findall(called[1])):
            yield kinds.DATABASE_LEAVES


def _makes(plain: str) -> bool:
    """Whether a query that begins with another clause creates or changes something."""
    if _WITH.match(plain):
        return _MAKES.search(plain) is not None
    return _EACH.match(plain) is not None and _CHANGES_EACH.search(plain) is not None


def _of_calls(text: str, start: int) -> Iterator[Raised]:
    """Findings for calls on the collections of a document store; the text of strings counts, being hard to tell."""
    if _DELETES_IT.search(text, start):
        yield kinds.DATABASE_DELETE
    elif _ADMINISTERS.search(text, start):
        yield kinds.DATABASE_SCHEMA
    elif _WRITES_IT.search(text, start):
        yield kinds.DATABASE_WRITE


def only_looks(text: str) -> bool:
    """Whether a script for a document store's shell is calls that certainly read: `db.users.find({age: 3})`."""
    if len(text) > 4_000 or "\\" in text:
        return False
    if _SHOWN.fullmatch(text):
        return True
    plain = _LITERALS.sub("x", text)
    called = _CALLS.findall(plain)
    begins = re.match(
        r"\s*(?:(?:printjson|print|JSON\.stringify|EJSON\.stringify|tojson)\s*\(\s*)*(?:db|rs|sh)\s*\.", plain
    )
    if begins is None or not called or _RUNS.search(plain) or "'" in plain or '"' in plain:
        return False
    return (
        "$where" not in text
        and "$function" not in text
        and "$out" not in text
        and "$merge" not in text
        and all(name in _LOOKS for name in called)
    )
