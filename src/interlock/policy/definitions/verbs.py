"""Judges by single words whether a tool only reads, and whether an argument requests an act.

The whole definition of a tool is judged in `tool_definitions`.
"""

import re
from functools import lru_cache

from interlock.policy.definitions.tool_definitions import words
from interlock.policy.definitions.tool_names import ACTS, MAY_ACT, Says, read_name
from interlock.policy.definitions.vocabulary import GRAVE
from interlock.policy.values.folding import fold

READS = frozenset(
    "get list search find read look lookup show view fetch query count check describe browse retrieve "
    "inspect load calculate compute convert estimate translate compare summarize summarise analyze analyse "
    "validate verify explain preview detect classify extract parse track monitor scan recall head tail cat "
    "ls grep stat status whoami history info details see select filter sort recommend predict forecast "
    "evaluate diff log suggest measure identify think solve simulate plot peek download export exists has "
    "is".split()
)
"""Words in names of tools that read, compute or compare."""
_READERS = frozenset(
    "converter calculator estimator lookup finder checker viewer reader parser analyzer analyser validator verifier "
    "searcher tracker quote quotes forecast rate rates comparator predictor detector classifier explainer".split()
)
"""Agent nouns of tools that read or compute; they count as the last word of a name."""
_CHANGES = frozenset(
    "create add update set modify edit write insert append put patch change replace rename move copy "
    "upload save store enable disable start stop restart run execute exec invoke trigger apply install "
    "post reply forward email mail message sms dm call text fax submit order merge push release announce "
    "schedule reschedule cancel clear reset kill unlink rm unlock lock approve reject accept decline "
    "assign close open connect join leave follow unfollow like block mute subscribe register unregister "
    "sign login confirm make place return exchange upgrade archive restore import sync turn control play "
    "drive".split()
)
_ASKS = frozenset(
    "push transfer drop invite post upload merge release order book pay email mail reply forward call "
    "share wire kill unlink cancel buy sell trade grant revoke ban kick deploy purge wipe erase reset "
    "overwrite checkout submit tweet announce".split()
)
_ACT_KEYS = frozenset(
    "action actions operation operations op verb act intent event_type operationtype command commands cmd task "
    "actiontype browseraction browseractions subcommand actionname operationname apiname tool toolname function "
    "functionname operationid api call endpointname toolslug actionslug methodname rpcmethod procedure procedurename "
    "soapaction".split()
)
_WEAK_KEYS = frozenset("intent task tool toolname function functionname apiname actionname api call toolslug".split())
_AFTER_OBJECT = frozenset("update upload upsert reset set put patch import".split())
"""Changing verbs that may follow their object in the name of an operation: `mediaUpload`, `row_update`."""
_CHANGED = frozenset(
    "update change set patch put store import move copy mark label tag link complete close apply fork join leave like "
    "comment rate vote sync schedule setup confirm reset drop post upload push start stop run trigger request "
    "clear resume pause type press paste hotkey key".split()
)
_ORDERED = frozenset("lock archive grasp pick place throw break heat cool squeeze slice dirty".split())
"""Words that order an act at the start of an instruction."""
_ALONE = frozenset("on off".split()) | frozenset(
    verb for verb, what in MAY_ACT.items() if what in GRAVE or what == "changes what is stored"
) - frozenset(
    "access permit mention contact pop cut tip rate log record end finish review play input exchange commit".split()
)
"""Words that order an act if they stand alone, although they are also nouns."""
CHANGES_IT = frozenset(
    "activate deactivate update upgrade downgrade enable disable install uninstall create add start stop restart run "
    "apply push import register reset publish promote rollback".split()
)
"""Words that follow a noun to change it: `x version activate`."""
_CALLED = re.compile(r"(?m)^\s*([A-Za-z_]\w{0,60})\(")
"""The function name of an instruction written as a call: `fill('b12', 'some text')`."""
_MUTATION = re.compile(r"(?<![\w$@.])mutation\b(?=[^{}]{0,2500}\{)", re.IGNORECASE)
_LONGEST = 20_000
_APART = re.compile(r"\s*[A-Za-z](?:[ ._-][A-Za-z]){3,40}\s*")
_LITERALS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|#[^\n]*")


@lru_cache(maxsize=4096)
def only_reads(tool: str) -> bool:
    """Whether a name says that a tool reads or computes, and nothing about changes."""
    says = read_name(fold(tool)).says
    if says is Says.NOTHING:
        found = set(words(fold(tool)[:200]))
        last = next(reversed(words(fold(tool)[:200])), "")
        return bool(found & READS or last in _READERS) and not found & _CHANGES
    return says is Says.READS


@lru_cache(maxsize=4096)
def names_a_log(tool: str) -> bool:
    """Whether a name is that of a log, without an act on it: `audit_log`, not `clear_audit_log`."""
    found = words(fold(tool)[:200])
    return found[-1:] in (("log",), ("logs",), ("trail",), ("history",)) and not set(found[:-1]) & (
        _CHANGES | set(ACTS)
    )


@lru_cache(maxsize=4096)
def asks_for_act(text: str) -> bool:
    """Whether the value of an argument such as `action` is a verb for sending, paying, deleting and the like."""
    if "(" in text and (called := _CALLED.findall(text[:4_000])):
        return any(asks_for_act(name) or asks_for_deed(name) for name in called)
    plain = _pulled_together(fold(text))
    if len(plain) > 60 or plain.count(" ") > 3:
        return False
    for each in dict.fromkeys((plain, plain.lower())):
        last = words(re.split(r"[./:]", each)[-1])
        if read_name(each).says is Says.ACTS or (words(each)[:1] or ("",))[0] in _ASKS:
            return True
        if len(last) > 1 and last[0] in _ASKS:
            return True
    return False


@lru_cache(maxsize=4096)
def is_grave_act(text: str) -> bool:
    """Whether a short text begins with a verb, not also a noun, that sends, pays, deletes and the like."""
    plain = _pulled_together(fold(text))
    found = words(plain[:60].lower()) if len(plain) <= 60 else ()
    return 0 < len(found) < 5 and ACTS.get(found[0]) in GRAVE and read_name(plain).says is Says.ACTS


@lru_cache(maxsize=4096)
def asks_for_change(text: str) -> bool:
    """Whether the value of an argument such as `operation` is a verb for any change: `update`, `PUT`."""
    plain = _pulled_together(fold(text))
    if len(plain) > 60:
        return False
    for found in dict.fromkeys((words(plain.lower()), words(plain))):
        if 0 < len(found) < 4 and (found[0] in _CHANGED or _ends_with_change(found)):
            return True
    return len(words(plain.lower())) < 4 and read_name(plain.lower()).says is Says.ACTS


def _ends_with_change(found: tuple[str, ...]) -> bool:
    return len(found) == 2 and found[1] in _AFTER_OBJECT and found[0] not in READS | {"last", "latest", "on", "next"}


@lru_cache(maxsize=4096)
def asks_for_deed(text: str) -> bool:
    """The same, including any single acting verb: `create`, `disable`, `dispense`."""
    found = words(_pulled_together(fold(text)).lower()[:60])
    return (
        (len(found) == 1 and (found[0] in ACTS or found[0] in _ALONE))
        or (0 < len(found) < 5 and found[0] in _ORDERED)
        or asks_for_change(text)
    )


def is_method_that_acts(text: str) -> bool:
    """Whether an HTTP or RPC method changes anything: `PUT`, `eth_sendTransaction`."""
    return asks_for_change(text) or (len(words(text)) > 1 and asks_for_act(text))


def _pulled_together(text: str) -> str:
    """A word written with separated letters (`d e l e t e`), joined."""
    return re.sub(r"[ ._-]", "", text) if _APART.fullmatch(text) else text


def mutates(text: str) -> bool:
    """Whether a text contains a GraphQL mutation, anywhere in the document."""
    if "{" not in text or "mutation" not in text.lower():
        return False
    if len(text) > _LONGEST:
        return True
    plain = _LITERALS.sub(" ", text)
    for found in _MUTATION.finditer(plain):
        if plain.count("{", 0, found.start()) <= plain.count("}", 0, found.start()):
            return True
    return False


@lru_cache(maxsize=4096)
def is_weak_act_key(key: str) -> bool:
    """Whether an argument of this name may be the subject of a query rather than an operation: `tool`, `intent`."""
    return "".join(words(fold(key))) in _WEAK_KEYS


@lru_cache(maxsize=4096)
def is_act_key(key: str) -> bool:
    """Whether an argument of this name selects the operation of a tool."""
    return "".join(words(fold(key))) in _ACT_KEYS
