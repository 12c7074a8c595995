"""Judges the name of a tool: it acts, it only reads, both at once, or it says nothing.

Descriptions and schemas are judged elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from interlock.policy.definitions import foreign_verbs, returned_credentials
from interlock.policy.definitions import name_words as n
from interlock.policy.definitions import verb_objects as o
from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.verb_forms import agent, gerunds, pasts, third
from interlock.policy.values.spelling import hides, parts, undisguised


class Says(Enum):
    """The judgement of a name."""

    ACTS = "acts"
    READS = "reads"
    UNCLEAR = "unclear"
    """One of its words may be a verb or a noun: the description decides; without one, it acts."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Name:
    """The judgement of a name, with the act and the word for it; for a reading name, the secret that it may reveal."""

    says: Says
    what: str = ""
    word: str = ""


def _by_word(table: Mapping[str, str]) -> dict[str, str]:
    return {word: what for what, words in table.items() for word in words.split()}


MAY_ACT = _by_word(v.MAY_ACT)
_SURE = _by_word(v.ACTS)
_AGAIN = {before + verb: what for verb, what in _SURE.items() for before in ("un", "re")}
"""What undoes or repeats an act is one: `undeploy`, `reactivate`; not `return`."""
ACTS = {verb: what for verb, what in _AGAIN.items() if verb not in v.READS and verb not in MAY_ACT} | _SURE
"""Maps base forms to what they do."""
FOREIGN = _by_word(foreign_verbs.ACTS)
THINGS = {form: what for word, what in _by_word(v.THINGS).items() for form in (word, word + "s")}
THIRDS = {third(verb): verb for verb in (*ACTS, *MAY_ACT)}
HEADS = _by_word(v.HEADS)
GERUNDS = {form: verb for verb in (*ACTS, *MAY_ACT) for form in gerunds(verb) if form != "warning"}
PASTS = {form: verb for verb in (*ACTS, *MAY_ACT) for form in pasts(verb) if verb in _SURE or verb[:2] != "un"}
"""Participles, but not adjectives such as `unauthorized`."""
READS = frozenset(
    form for verb in v.READS for form in (verb, third(verb), *gerunds(verb))
) | foreign_verbs.READS | frozenset({"querying", "reads", "has"}) - frozenset(ACTS) - frozenset(MAY_ACT)  # fmt: skip
AGENTS = {
    agent(verb): ACTS.get(verb) or MAY_ACT.get(verb, "acts")
    for verb in (*(verb for verb, what in ACTS.items() if what in v.GRAVE), *v.CALLED)
    if agent(verb) not in v.PERSONS
}
"""Agent nouns as names of tools: `closer`, `dropper`."""
_JOINS = frozenset({"and", "then", "or", "n", "plus", "also"}) | foreign_verbs.JOINS
_PAIRS = {tuple(pair.split("+")): what for pair, what in _by_word(n.PAIRS).items()}
_LOOKED_AT = frozenset(("check", "status", "history", "forecast", "estimate"))
"""Last words of names that ask about the acts before them: `restock_check`, `upgrade_downgrade_history`."""
_LAST = frozenset("set update put close upload import mark move patch reset".split())
"""Verbs that may end a name, after their object: `time_estimate_set`."""
_REQUEST = re.compile(r"(get|head|post|put|patch|delete)[\s_-]*/", re.IGNORECASE)
"""A name made of the method and the path of a request: `DELETE /berths/{id}`."""
_ONS = (("on",), ("ons",))
"""What makes `add` a noun: `list_add_ons`."""
_REQUESTED = (("batch",), ("bulk",), ("request",), ("requests",), ("api",), ("call",), ("http",), ("rest",))
"""What makes `graph` the name of a service, not a reading verb."""
_MAKES = frozenset("create insert append write".split())
_BEFORE_OBJECT = v.ORDERS | {"archive", "upload"}
_ORDERS = v.ORDERS | frozenset("start import copy patch release mute pause silence".split())
"""Verbs that act on what follows them also after the name of a service: `db_start_cluster`."""
_SERVICES = frozenset(
    "cluster compute forecast graph plan query report score snapshot transcribe translate version".split()
)
"""Reading verbs that may be the name of a service at the start of a name: `forecast_stop_resource`."""
_COLLECTIONS = frozenset(
    "group groups list lists monitor monitors quote quotes search view views query queries".split()
)
"""Reading verbs that are the object of the verb before them: `iam_update_group`."""
_RENEWED = frozenset("key keys token tokens secret secrets password credentials".split())
_SHARED_OUT = frozenset("market time screen work vote bike ride car file network folder profit revenue".split())
"""What makes `share` a noun after it: `market_share_data`."""
_FALSE = frozenset(("fake", "false", "bogus", "forged"))
_OF_TESTS = frozenset("positive positives negative negatives alarm alarms".split())
_CALCULATORS = frozenset("calculator calc math maths arithmetic".split())
_LONGEST = 256
_OBJECTS = (
    "email|emails|mail|mails|message|messages|msg|sms|file|files|user|users|money|bill|bills|invoice|record|records|"
    "event|events|tweet|post|posts|page|pages|doc|docs|document|documents|folder|table|link|flight|hotel|room|ticket|"
    "all|data|row|rows|item|items|account|funds|payment|order|task|note|command|code|query|sql|script|door"
)
_GLUED = re.compile(
    rf"(?!postcodes?\Z)(send|delete|publish|remove|pay|share|book|drop|revoke|grant|create|update|write|post|upload|execute|exec|run|"
    rf"transfer|unlock|modify|edit)(?:{_OBJECTS})"
)


@lru_cache(maxsize=1024)
def read_name(name: str) -> Name:
    """The judgement of a tool's name.

    Of a name with a namespace (`mcp__crm__send`), the last part is judged first. After a leading reading verb, words
    are nouns (`get_payment_status`), unless another verb is coordinated with it (`read_and_delete`). Source: row C1.
    """
    if len(name) > _LONGEST:
        return Name(Says.ACTS, "has a name too long to be judged", name[:20])
    if hides(name):
        return Name(Says.ACTS, "hides what it is called", "look-alike letters")
    plain = _judge(name)
    if plain.says is not Says.ACTS and (other := undisguised(name)):
        hidden = _judge(other)
        if hidden.says is Says.ACTS:
            return hidden
    return plain


def _judge(name: str) -> Name:
    if (request := _REQUEST.match(name)) is not None:
        said, method = _judge_words(parts(name), name), request[1].lower()
        if said.says is Says.NOTHING and method not in ("get", "head"):
            return Name(Says.UNCLEAR, "changes what is stored", method)
        return said
    segments = [segment for segment in re.split(r"__|[./:]", name) if segment]
    if len(segments) > 1:
        last = _judge_words(parts(segments[-1]), segments[-1])
        if last.says is not Says.NOTHING:
            return last
    return _judge_words(parts(name), name)


def _judge_words(words: Sequence[str], name: str) -> Name:
    if words and words[-1] in ("api", "tool", "function", "action", "endpoint") and len(words) > 1:
        words = words[:-1]
    read_at = next((at for at, word in enumerate(words) if _reads(word) and not _is_act(words, at)), None)
    if words and words[-1] in v.HARMS and (words[0] not in READS or words[0] in v.READ_NOUNS):
        return Name(Says.ACTS, "does harm", words[-1])
    if (
        words
        and (read_at is None or words[0] in v.HARMFUL)
        and (harmful := v.HARMFUL.intersection(words[:-1]))
        and words[-1] not in v.GUARDS
    ):
        return Name(Says.ACTS, "does harm", min(harmful))
    false = _FALSE.intersection(words) if words and words[0] in (*_FALSE, "generate") else ()
    if false and words[-1] in o.FAKED and _OF_TESTS.isdisjoint(words):
        return Name(Says.UNCLEAR, "does harm", min(false))
    if words and not v.ATTACKERS.isdisjoint(words) and words[-1] not in v.ABOUT and words[0] not in READS - {"scan"}:
        return Name(Says.ACTS, "does harm", min(v.ATTACKERS.intersection(words)))
    if (shown := returned_credentials.in_name(words)) is not None:
        return Name(Says.ACTS, returned_credentials.WHAT, shown)
    if said := foreign_verbs.act_in_cjk(name):
        if read_at is None or words[read_at] not in v.READS:
            return Name(Says.ACTS, *said)
        return Name(Says.UNCLEAR, *said)
    if (pair := _pair(words)) is not None:
        return pair
    acts = [(at, *act) for at in range(len(words)) if (act := _act(words, at))]
    if read_at is not None:
        return _read_led(words, read_at, acts)
    if sure := next((act for act in acts if act[3]), None):
        if len(words) == 1 and sure[1] not in v.GRAVE:
            return Name(Says.UNCLEAR, sure[1], sure[2])
        return Name(Says.ACTS, sure[1], sure[2])
    if acts:
        return Name(Says.UNCLEAR, acts[0][1], acts[0][2])
    if (shown := returned_credentials.in_name_without_verb(words)) is not None:
        return Name(Says.UNCLEAR, returned_credentials.WHAT, shown)
    return Name(Says.NOTHING)


def _reads(word: str) -> bool:
    return word in READS or word.endswith("thinking")


def _is_act(words: Sequence[str], at: int) -> bool:
    """Whether a reading verb acts because of its object, `return_order`, or is part of a compound: `pull_request`."""
    if words[at] == "pull":
        return words[at : at + 2] in o.COMPOUNDS
    if words[at] == "show":
        return words[at : at + 2] in o.COMPOUNDS
    if words[at] == "graph":
        return words[at + 1 : at + 2] in _REQUESTED
    if words[at] in ("group", "groups"):
        return at > 0 and words[at - 1 : at + 1] in o.COMPOUNDS
    return words[at] == "return" and not o.RETURNED.isdisjoint(words[at + 1 :])


def _read_led(words: Sequence[str], read_at: int, acts: Sequence[tuple[int, str, str, bool]]) -> Name:
    """The judgement of a name with a reading verb, by the words before it and those coordinated with it."""
    reads = words[read_at]
    if (late := _ends(words, read_at)) is not None:
        return late
    for at, what, word, sure in acts:
        joined = at > 0 and (words[at - 1] in _JOINS or (word in ACTS and at == read_at + 1))
        if at > read_at:
            follows = words[at + 1] if at + 1 < len(words) else ""
            if words[at - 1] in _JOINS and (word in ACTS or word in MAY_ACT or word in FOREIGN):
                return Name(Says.ACTS, what, word)
            nouns = v.ABOUT if reads in v.READ_NOUNS or word in _MAKES else v.ABOUT | v.QUEUED
            if word in ACTS and what in v.GRAVE and follows in v.ABOUT and _has_other_object(words, at):
                return Name(Says.UNCLEAR, what, word)
            if word in ACTS and follows not in nouns and (joined or follows) and not _is_object(words, at):
                return Name(Says.UNCLEAR, what, word)
            if word in _ORDERS and follows and follows not in nouns and _is_thing_read(words, read_at, at):
                return Name(Says.UNCLEAR, what, word)
        elif sure and word in ACTS:
            looked_at = what in v.SOFT and at == 0 and words[-1] in _LOOKED_AT and _is_of_acts(words[:-1])
            looked_at = looked_at or _is_read_later(words, at)
            return Name(Says.UNCLEAR if looked_at else Says.ACTS, what, word)
        elif (
            (at == 0 and _leads_to(words, read_at))
            or (0 < at == read_at - 1 and word in _BEFORE_OBJECT and reads in _COLLECTIONS)
            or (at > 0 and word in _ORDERS)
        ):
            return Name(Says.UNCLEAR, what, word)
    if (shown := returned_credentials.possible_in_name(words)) is not None:
        return Name(Says.READS, returned_credentials.WHAT, shown)
    return Name(Says.READS)


def _is_thing_read(words: Sequence[str], at: int, act_at: int) -> bool:
    """Whether a reading verb is a noun before an act, a service or its resources: `projects_clusters_start_all`."""
    if not v.SHOWS.isdisjoint(words[:act_at]):
        return False
    if at == 0:
        return words[0] in _SERVICES or words[0].endswith("ing")
    return words[at].endswith("ing") or words[at] in v.READ_NOUNS or words[at].removesuffix("s") in v.READS


def _is_read_later(words: Sequence[str], at: int) -> bool:
    """Whether an act is part of the name of what is read after it: `restore_templates_get`, not `delete_user_get`."""
    if not _JOINS.isdisjoint(words[at:]) or (at == 0 and ACTS[words[at]] in v.GRAVE):
        return False
    if at > 0 and words[-1] == "list" and words[-2].endswith("s"):
        return True
    return not (v.SHOWS - v.SHOWN).isdisjoint(words[at + 1 :])


def _has_other_object(words: Sequence[str], at: int) -> bool:
    """Whether the object of a verb has two words, of which the first is no state: `send_template_message`."""
    return at + 2 < len(words) and v.ABOUT.isdisjoint(words[-1:]) and words[-1] not in v.QUEUED


def _is_of_acts(words: Sequence[str]) -> bool:
    """Whether all words are acts: one, or several of which none is the object of another."""
    return len(words) == 1 or (len(words) < 4 and all(word in ACTS and ACTS[word] in v.SOFT for word in words))


def _leads_to(words: Sequence[str], read_at: int) -> bool:
    """Whether the leading verb acts on a reading verb used as a noun: `update_user_details`, `change_plan`."""
    verb = words[0]
    if verb in v.ORDERS:
        return True
    if verb in MAY_ACT and verb not in v.FIRST_NOUNS and (read_at > 1 or verb in v.MAY_ORDER):
        return words[1] not in v.JOINED_NOUNS
    if verb in MAY_ACT and len(words) == 2 and words[1] in v.STATES:
        return False
    return words[read_at] in v.READ_NOUNS and (verb in MAY_ACT or verb in FOREIGN) and read_at == 1


def _ends(words: Sequence[str], read_at: int) -> Name | None:
    """The judgement by the last word, for a name that begins with the object: `price_list_delete`."""
    last, at = words[-1], len(words) - 1
    if not v.SHOWS.isdisjoint(set(words[:-1]) - v.SHOWN) or _is_object(words, at) or last in v.NOUNLIKE | v.NOUNS:
        return None
    if last in ACTS and at > read_at + 1 and _act(words, at) is not None:
        sure = v.SHOWN.isdisjoint(words[:2]) or words[at - 1] in _JOINS
        return Name(Says.ACTS if sure else Says.UNCLEAR, ACTS[last], last)
    thing = read_at > 0 and (words[read_at].endswith("s") or words[read_at] in ("plan", "list", "group"))
    if last in _LAST and (at > read_at + 1 or thing):
        return Name(Says.UNCLEAR, MAY_ACT[last], last)
    return None


def harmless(verb: str, objects: Sequence[str]) -> bool:
    """Whether a verb with these objects only makes or trims the tool's output: `create_chart`, `remove_whitespace`."""
    return (
        (verb in v.MAKERS and not v.MADE.isdisjoint(objects))
        or (verb in v.STRIPPERS and not v.STRIPPED.isdisjoint(objects))
        or (verb == "correct" and not v.CORRECTED.isdisjoint(objects))
        or (verb == "roll" and not o.HARMLESS_WITH["roll"].isdisjoint(objects))
        or (verb in o.GRADUAL and not o.COMPUTED.isdisjoint(objects))
    )


def _is_object(words: Sequence[str], at: int) -> bool:
    """Whether a verb is where only a noun can be: after `to`, `can`, `last`, `by`."""
    return at > 0 and words[at - 1] in ("to", "can", "by", "last", "for", "of", "should", "allowed", "may", "on")


def _act(words: Sequence[str], at: int) -> tuple[str, str, bool] | None:
    """What a word does, the word, and whether it can only be a verb here; None if it does not act."""
    word = words[at]
    follows = words[at + 1 :]
    if _is_thing(words, at):
        return None
    if word in ACTS:
        if harmless(word, follows[-1:]):
            return None
        if word in o.CARRIERS and any(carried in o.CARRIED for carried in follows):
            return None
        if len(follows) == 1 and follows[0] in ("count", "counts", "rate", "rates") and ACTS[word] == "sends":
            return None
        return ACTS[word], word, True
    if word in FOREIGN or (word in foreign_verbs.LEADS_ONLY and at == 0 and follows):
        return FOREIGN.get(word, "acts"), word, True
    if glued := _GLUED.fullmatch(word):
        verb = glued.group(1)
        return ACTS.get(verb) or MAY_ACT[verb], word, True
    if word in MAY_ACT:
        return _may_act(words, at)
    if (verb := THIRDS.get(word)) is not None:
        noun = verb in MAY_ACT and at > 0 and (not follows or (verb in v.NOUNLIKE and follows[0] in v.ABOUT))
        noun = noun or (verb in v.NOUNLIKE and len(words) == 1)
        return None if noun else (ACTS.get(verb) or MAY_ACT[verb], word, verb in ACTS)
    if word in THINGS:
        return None if follows and follows[0] in v.ABOUT else (THINGS[word], word, False)
    if word in HEADS and not follows:
        return HEADS[word], word, False
    if word in v.DOERS and at > 0 and at == len(words) - 1:
        return "acts", word, True
    if word in AGENTS and at > 0 and not follows:
        return AGENTS[word], word, False
    if (verb := GERUNDS.get(word) or PASTS.get(word)) is not None:
        what = ACTS.get(verb) or MAY_ACT[verb]
        return (what, word, False) if what in v.GRAVE else None
    return None


def _is_thing(words: Sequence[str], at: int) -> bool:
    """Whether a word is part of a compound noun (`merge request`) or of a lookup (`resolve_host`)."""
    if words[at] == "resolve":
        return bool(words[at + 1 :]) and o.RESOLVED.isdisjoint(words[at + 1 :])
    if words[at] == "send" and words[at + 1 :] in (("get", "request"), ("http", "get", "request"), ("head", "request")):
        return True
    if words[at] == "add" and (not _CALCULATORS.isdisjoint(words[:at]) or (at and words[at + 1 : at + 2] in _ONS)):
        return True
    return words[at : at + 2] in o.COMPOUNDS or (at > 0 and words[at - 1 : at + 1] in o.COMPOUNDS)


def _may_act(words: Sequence[str], at: int) -> tuple[str, str, bool] | None:
    """The same for a word that may be a verb or a noun, decided by the next word."""
    word, follows = words[at], words[at + 1 :]
    what = MAY_ACT[word]
    if at == len(words) - 1 == 2 and words[1] in _JOINS and words[0] in READS:
        return what, word, True
    if word == "open" and not follows and at > 0 and words[at - 1] in n.OPENED_LAST:
        return what, word, False
    if word == "open" and not o.OPENED.intersection(follows):
        return None
    if word == "access" and at == 0 and follows and follows[-1] in n.INFORMATION and n.RESTRICTED.isdisjoint(follows):
        return what, word, False
    if word in o.CARRIERS and any(carried in o.CARRIED for carried in follows):
        return None
    if harmless(word, follows[-1:]):
        return None
    if not follows:
        is_noun = at > 0 and word in v.NOUNLIKE and words[at - 1] not in v.SURFACES
        return None if is_noun else (what, word, False)
    if word in n.FIRST_OBJECTS and len(follows) == 1 and follows[0] in n.FIRST_OBJECTS[word]:
        shares = word == "share" and words[at - 1] not in _SHARED_OUT
        return (what, word, False) if at == 0 or shares else None
    if word in v.NOUNLIKE:
        changed = at == 0 and word in o.GRADUAL and follows[-1] in v.CHANGED
        return None if follows[0] in v.ABOUT and not changed else (what, word, False)
    return what, word, at == 0 and follows[0] not in v.ABOUT


def _pair(words: Sequence[str]) -> Name | None:
    """The judgement of two words that act together, unless they are the object of a reading verb: `get_check_in`."""
    for at, word in enumerate(words):
        if at and words[at - 1] in v.SHOWS:
            continue
        for other in words[at + 1 : at + 2]:
            what = _PAIRS.get((word, other)) or _PAIRS.get((word, other.removesuffix("s")))
            if what and not v.ABOUT.intersection(words[at + 2 :]):
                return Name(Says.ACTS, what, f"{word} {other}")
        if word == "regenerate" and words[-1] in _RENEWED:
            return Name(Says.ACTS, "changes access", f"{word} {words[-1]}")
        if at == 0 and words[-1] in n.AT_END.get(word, ()):
            said = Says.UNCLEAR if word in ("file", "issue") else Says.ACTS
            return Name(said, "changes access" if word == "generate" else "sends", f"{word} {words[-1]}")
        if word in n.LOOSE:
            last = next((other for other in words[at + 1 : at + 4] if other not in n.BETWEEN), "")
            if what := _PAIRS.get((word, last)) or _PAIRS.get((word, last.removesuffix("s"))):
                return Name(Says.ACTS, what, f"{word} {last}")
    return None
