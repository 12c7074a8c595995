"""Determines the sense of a verb in a description by its context: `open the file` reads, `open the door` acts.

The positions of verbs in a sentence are analysed in `tool_descriptions`.
"""

import itertools
from collections.abc import Sequence

from interlock.policy.definitions import foreign_verbs
from interlock.policy.definitions import verb_objects as o
from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.tool_names import ACTS, FOREIGN, GERUNDS, MAY_ACT, THIRDS, harmless
from interlock.policy.definitions.verb_forms import gerunds, third

JOINS = frozenset("and then or & / , ( also subsequently finally afterwards but plus".split()) | foreign_verbs.JOINS
_PREPOSITIONS = frozenset("in to from of on for with into at by via and or , (".split())
_NOUN_BEFORE = _PREPOSITIONS - {"in", "to", "on", "for", "with", "into", "at", "via", "("} | {
    "that",
    "is",
    "are",
    "search",
}
_IS = frozenset("is are has exists exist".split())
_CONFIRMED = frozenset("that whether if identity availability existence accuracy validity".split())
INTO = frozenset(
    "incorporate incorporates enter enters entering "
    "load loads loading integrate integrates integrating embed embeds feed feeds".split()
)
EXPORTS = frozenset("export exports exporting extract extracts back backs".split())
_OUTSIDE = frozenset(
    "external externally bucket partner ftp sftp webhook cloud remote outside offsite storage registry".split()
)
_INTO_NOTHING = frozenset(
    "memory context structure array object vector vectors embedding embeddings dataframe variable session chat".split()
)
BY_OBJECT: dict[str, tuple[str, frozenset[str]]] = {
    form: (what, frozenset(objects.split()))
    for verb, (what, objects) in o.BY_OBJECT.items()
    for form in (verb, third(verb), *gerunds(verb))
}
PHRASAL: dict[str, tuple[str, frozenset[str]]] = {
    form: (what, frozenset(particles.split()))
    for verb, (what, particles) in o.PHRASAL.items()
    for form in (verb, third(verb))
}
_SHOWN_TO = frozenset("public admin publicly visible accessible".split())
_VISIBLE = frozenset(("public", "private"))
_SENSITIVE = frozenset(("sensitive", "confidential", "proprietary"))
_SCREEN = frozenset("stdout stderr console".split())
_MUTATIONS = frozenset(("mutation", "mutations"))
_SURELY = frozenset("update set put move clear reset".split())
_PERFORMS = frozenset("perform performs performing conduct conducts conducting".split())
_MAKES = frozenset("make makes making file files filing".split())
_ISSUES = frozenset("issue issues issuing".split())
_CHOOSES = frozenset("select selects choose chooses pick picks".split())
_PRODUCES = frozenset(
    "generate generates produce produces create creates make makes write writes compose composes draft drafts".split()
)
_FALSE = frozenset("fake false fabricated forged bogus".split())
_MADE_OF = {
    **dict.fromkeys(
        "payment payments purchase purchases transfer transfers donation deposit transaction".split(), "pays"
    ),
    **dict.fromkeys("reservation reservations booking bookings appointment appointments".split(), "books"),
    **dict.fromkeys(
        "call calls complaint complaints claim claims dispute disputes lawsuit lawsuits case cases motion motions "
        "grievance grievances patent patents announcement taxes declaration declarations "
        "charges application applications "
        "petition appeal".split(),
        "sends",
    ),
}
_OFFERED = frozenset("invite invitation invitations request requests offer terms order call meeting pull".split())
_FIRST = frozenset(("here", "first"))
_THIS = (["operation"], ["action"], ["api"])
"""Words for the tool in its own description: `this operation applies to …`, `call this action`."""
_CALLED = _FIRST | frozenset(
    "service services api endpoint tool tools function functions method operation identifier again".split()
)
_ARTICLES = frozenset("la le les l un une des du ce cette ces mon ma".split())
_WHAT = v.MASS | {"what", "whatever"}
_ADDED = (["a", "and", "b"], ["x", "and", "y"])
_TOLD_TO = frozenset("you user users caller us".split())
_GIVEN_AWAY = frozenset("access control command rights permission permissions keys dose possession custody".split())
_ASKED = frozenset("customer customers client clients user users supplier vendor patient employee employees".split())
"""People of whom something is requested; a database does not have them."""
_CALLS = frozenset("another api further subsequent tool function identifier".split())


def sense(tokens: Sequence[str], at: int, *, leading: bool) -> tuple[str, str] | None:
    """The act that a word says if it is a verb, and the word; `leading`: it is where only a verb can be."""
    word, follows = tokens[at], tokens[at + 1 : at + 6]
    if tuple(tokens[at : at + 2]) in o.COMPOUNDS:
        return None
    if (act := _act_on_object(tokens, at, leading=leading)) is not None:
        return act
    if word in ("return", "returns"):
        given = follows[:1] in (["some"], ["a"], ["an"], ["items"]) and not o.RETURNED.isdisjoint(follows[:3])
        return ("changes what is stored", word) if given else None
    verb = word if word in ACTS or word in MAY_ACT else THIRDS.get(word) or (GERUNDS.get(word) if leading else None)
    if verb is None:
        if word == "modifier" and _ARTICLES.isdisjoint(follows[:1]):
            return None
        return (FOREIGN[word], word) if word in FOREIGN and (leading or len(word) > 4) else None
    if _only_reads(tokens, at, verb):
        return None
    what = ACTS.get(verb) or MAY_ACT[verb]
    return (what, word) if verb in ACTS or _is_verb(tokens, at, verb, leading=leading) else None


def _act_on_object(tokens: Sequence[str], at: int, *, leading: bool) -> tuple[str, str] | None:
    """The act of a word that acts with certain objects only: `make it public`, `file the tax return`."""
    word, follows = tokens[at], tokens[at + 1 : at + 6]
    if word in ("make", "makes", "making") and not _SHOWN_TO.isdisjoint(tokens[at + 1 : at + 7]):
        return "shares", word
    end = next((end for end, other in enumerate(follows) if other in _PREPOSITIONS), len(follows))
    if word in _PERFORMS and not o.DONE.isdisjoint(follows[:end]):
        return "changes what is stored", word
    if word in INTO and _stores(tokens, at):
        return "changes what is stored", word
    if word in ("convert", "converts") and _becomes_visible(tokens[at + 1 : at + 12]):
        return "changes access", word
    if word in EXPORTS and not _SENSITIVE.isdisjoint(follows):
        return "sends", word
    if leading and (by := PHRASAL.get(word)) and not by[1].isdisjoint(tokens[at + 1 : at + 8]):
        return by[0], word
    if word in EXPORTS and "to" in tokens[at + 1 : at + 8] and not _OUTSIDE.isdisjoint(tokens[at + 1 : at + 12]):
        return "sends", word
    if (by := BY_OBJECT.get(word)) and not by[1].isdisjoint(follows[:end]) and _is_sent_to_somebody(tokens, at):
        return by[0], word
    last = follows[end - 1] if end else ""
    if word in _ISSUES and not o.ANNOUNCED.isdisjoint(follows[:end]):
        return "sends", word
    if leading and word in _CHOOSES and last in o.CHOSEN:
        return "books", word
    if leading and word in _PRODUCES and _is_false(follows):
        return "does harm", word
    if word in ("file", "files") and leading and follows[:end][-2:] == ["tax", "return"]:
        return "sends", word
    if word in ("request", "requests") and last not in v.ABOUT and not o.REQUESTED.isdisjoint(follows[:end]):
        return "books", f"{word} {last}"
    if word in ("request", "requests") and follows[:1] == ["that"]:
        return "books", word
    made = _MADE_OF.get(last) if word in _MAKES and _CALLS.isdisjoint(follows) else None
    return (made, word) if made else None


def _is_verb(tokens: Sequence[str], at: int, verb: str, *, leading: bool) -> bool:
    """Whether a word that can also be a noun is a verb here, by what follows it."""
    word, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else ""
    if word == "changes" and following == "to" and not leading:
        return False
    if leading and verb == "reply" and following == "to":
        return True
    if leading and following in v.CHANGED and verb not in v.NOUNLIKE and (word != verb or verb in _SURELY):
        return True
    if leading and word in o.GRADUAL and following in v.CHANGED:
        return True
    if following in v.ABOUT or following in _NOUN_BEFORE:
        return leading and verb not in v.NOUNLIKE and following in ("and", "or", ",")
    return leading or following in v.DETERMINERS or following in _WHAT


def _only_reads(tokens: Sequence[str], at: int, verb: str) -> bool:
    """Whether an acting verb only reads with its object: `run a search`, `open the file`, `turns X into Y`."""
    follows = tokens[at + 1 : at + 6]
    if verb in ("access", "input", "review") or (verb == "open" and o.OPENED.isdisjoint(follows)):
        return True
    carried = tokens[at + 1 : at + 8]
    carried = carried[: carried.index("to")] if "to" in carried else carried
    if (
        verb in o.CARRIERS
        and _MUTATIONS.isdisjoint(tokens[at + 1 : at + 8])
        and (not o.CARRIED.isdisjoint(carried) or ("read" in follows[:3] and "only" in follows[:4]))
    ):
        return True
    if verb in ("run", "execute") and "show" in follows and "command" in tokens[at + 1 : at + 7]:
        return True
    if verb in o.GRADUAL and not o.COMPUTED.isdisjoint(tokens[at + 1 : at + 8]):
        return True
    confirmed = follows[: follows.index("that")] if "that" in follows[1:] else follows
    if verb == "confirm" and not (_CONFIRMED.isdisjoint(confirmed) and _IS.isdisjoint(confirmed)):
        return True
    end = next((end for end, word in enumerate(follows) if word in _PREPOSITIONS), len(follows))
    if verb == "give" and follows[:1] == ["the"] and follows[end : end + 1] == ["of"]:
        return _GIVEN_AWAY.isdisjoint(follows[:end]) and not _is_given_to_others(tokens[at + 1 : at + 10], verb)
    if verb == "resolve" and o.RESOLVED.isdisjoint(follows[:end] or follows):
        return True
    if verb in o.HARMLESS_WITH and not o.HARMLESS_WITH[verb].isdisjoint(follows[:end]):
        return not _is_given_to_others(tokens[at + 1 : at + 10], verb)
    if verb == "warn" and (not follows or follows[0] in (",", ")", "/", "or", "error", "messages")):
        return True
    if verb == "replace" and not {"deprecated", "legacy", "former"}.isdisjoint(follows):
        return True
    if verb == "send" and "progress" in follows[:3]:
        return True
    if verb == "change" and {"working", "current"}.intersection(follows) and "directory" in follows:
        return True
    if verb == "add" and (
        not {"numeric", "elements", "tensors", "matrices", "vectors"}.isdisjoint(follows) or follows[:3] in _ADDED
    ):
        return True
    if verb == "send" and "get" in follows[:3] and not {"request", "requests"}.isdisjoint(follows):
        return True
    if verb == "accept" and (_OFFERED.isdisjoint(follows) or tokens[at - 1 : at] in (["endpoint"], ["api"])):
        return True
    if verb == "apply" and (follows[:2] == ["only", "to"] or (tokens[at - 1 : at] in _THIS and follows[:1] == ["to"])):
        return True
    if verb in ("call", "authorize") and follows[:1] == ["this"] and follows[1:2] in _THIS:
        return True
    if verb == "control" and follows[:1] in (["how"], ["which"], ["what"]) and "you" in tokens[max(0, at - 2) : at]:
        return True
    if verb == "print" and not _SCREEN.isdisjoint(follows):
        return True
    if verb == "order" and not {"ascending", "descending"}.isdisjoint(follows):
        return True
    if verb == "turn" and ("into" in tokens[at : at + 8] or follows[:1] == ["by"]):
        return True
    if (verb == "call" and (not _CALLED.isdisjoint(follows) or follows[:1] == ["it"])) or (
        verb == "start" and not _FIRST.isdisjoint(follows)
    ):
        return True
    return harmless(verb, follows[:end])


def _becomes_visible(follows: Sequence[str]) -> bool:
    """Whether something is made public or private: `to a private channel`, not `to a private key`."""
    if "to" not in follows or not {"key", "keys", "ip"}.isdisjoint(follows):
        return False
    return not _VISIBLE.isdisjoint(follows[follows.index("to") + 1 :][:2])


def _is_given_to_others(follows: Sequence[str], verb: str) -> bool:
    """Whether something is given to others than the caller, or requested of a person."""
    if verb not in ("give", "request"):
        return False
    if verb == "give":
        to = follows.index("to") + 1 if "to" in follows[:-1] else 0
        whom = follows[to] if to else ""
        return (whom in v.DETERMINERS or whom.endswith("s")) and _TOLD_TO.isdisjoint(follows)
    return "from" in follows and not _ASKED.isdisjoint(follows)


def _is_false(follows: Sequence[str]) -> bool:
    """Whether what is produced is false and does harm as such: `a fake video`, not `fake test data`."""
    return any(one in _FALSE and other in o.FAKED for one, other in itertools.pairwise(follows))


def _stores(tokens: Sequence[str], at: int) -> bool:
    """Whether something is put into permanent storage: `loads … into the table`, not `into memory`."""
    follows = tokens[at + 1 : at + 12]
    where = next((number for number, word in enumerate(follows) if word in ("into", "onto")), None)
    return where is not None and _INTO_NOTHING.isdisjoint(follows[where : where + 5])


def _is_sent_to_somebody(tokens: Sequence[str], at: int) -> bool:
    """Whether a `report` is sent to somebody; True for any other verb."""
    if not tokens[at].startswith("report"):
        return True
    rest = tokens[at + 1 : at + 14]
    return "to" in rest and rest[-1] != "to" and {"user", "caller", "you"}.isdisjoint(rest[rest.index("to") :][:3])
