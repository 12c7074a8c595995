"""Recognises clauses of a description that are not about the tool's own effects: about objects, callers, other tools.

Acting verbs are listed in `tool_names`; their positions in a sentence are analysed in `tool_descriptions`.
"""

import re
from collections.abc import Sequence

from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.tool_names import ACTS, GERUNDS, MAY_ACT, READS, THIRDS

_IS = frozenset("is are was were have has can may".split())
_INCLUDED = re.compile(
    r"\b(?:includ(?:ing|es?)|contain(?:s|ing)|consist(?:s|ing) of|compris(?:es|ing)|details of)(?:\s\w+){0,3}:[ \t]*"
    r"(?P<list>(?:\n[ \t]*[-–*•][ \t]+[^\n]*)+)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\n[ \t]*[-–*•][ \t]+(?:\*\*)?(?P<word>[^\W\d_]+)[^\n]*")
_USES = re.compile(
    r"\n[^\w\n]*(?:common |typical |example )?use cases?[^\w\n]*\n(?:[ \t]*[-–*•][ \t]+[^\n]*(?:\n|\Z))+", re.IGNORECASE
)
_WRAPPED = re.compile(r"(?<=[^\n]{40})(?<![.:;!?\s])[ \t]*\n[ \t]*(?=(?P<word>[a-z]+)[ ,])")
_FIRST = re.compile(r"\W*([A-Za-z]+)")
_MODALS = frozenset("may might could always sometimes".split())
_ITSELF = frozenset("it this tool function process analysis procedure call calling server".split())
_MILD = frozenset("disclose expose terminate expire settle register renew forget truncate remind".split())
"""Verbs that a reading tool may use of the things it returns, or of how it ends."""
_ENDS_VERB = frozenset("if when by in on with due for from after before at and or , ( )".split())
_PLURALS = frozenset("lists views reads checks shows scans searches queries".split())
_NO_ANSWER = frozenset("nothing none void success confirmation acknowledgement acknowledgment error errors".split())
_ENDED = frozenset("true boolean bool ok status result response message".split())
_ENDING = frozenset("success successful successfully succeeded succeeds failure fails failed".split())
_KEYS = frozenset("id ids identifier key number reference new newly".split())
_MADE = frozenset("new newly created resulting".split())
_CUT_SHORT = frozenset("truncated cut trimmed".split())
_SHOWN = frozenset("value values output outputs result results response responses text content contents lines".split())
"""Nouns for output, which a tool that returns it may truncate."""
_OUTPUT = frozenset("output outputs result results response responses".split())
_LEFT_OUT = frozenset("removed deleted discarded dropped erased".split())
_CONTAINS = frozenset("include includes contain contains are is have has can may".split())
_SIGNALS = frozenset("signal signals indicate indicates".split())
_COMPLETION = frozenset("completion complete completed done finished end".split())
_ITS_WORK = frozenset("task conversation interaction session goal turn".split())
_PEOPLE = frozenset("owners users admins administrators members people".split())
_ENTITLED = frozenset("authorized authorised entitled".split())
_INPUTS = frozenset(
    "filter filters query queries value values parameter parameters argument arguments input inputs type types format "
    "formats order orders ordering ascending descending url urls scheme schemes".split()
)
"""Nouns for input, which a reading tool may reject."""
_EACH = frozenset("the a an each every any".split())
_GIVEN = frozenset(("feedback", "necessary"))
"""Words for what a caller provides to a tool: `provides the details necessary to update …`."""
_ASKED = frozenset("is are was were do does did will to".split())
"""Words by which `when` asks a question, and does not begin a clause."""


def without_lists(text: str) -> str:
    """The text without its lists of use cases and of returned items, without line wrapping and emphasis."""
    said = text.replace("**", "").replace("JavaScript", "javascript")
    return _without_included(_unwrapped(_without_uses(said)))


def _without_uses(text: str) -> str:
    """The text of a reading tool without its list of use cases, which describes what callers do."""
    if "se case" not in text and "SE CASE" not in text and "se Case" not in text:
        return text
    first = _FIRST.match(text)
    return _USES.sub("\n", text) if first is not None and first[1].lower() in READS else text


def _unwrapped(text: str) -> str:
    """The text with each sentence on one line; a line that begins with an inflected verb starts a new sentence."""
    if "\n" not in text:
        return text
    return _WRAPPED.sub(lambda found: "\n" if found["word"] in THIRDS else " ", text)


def _without_included(text: str) -> str:
    """The text without lists of returned items; items that begin with a grave verb are kept."""
    if ":" not in text or "\n" not in text:
        return text
    return _INCLUDED.sub(lambda found: f"{found.group()[: -len(found['list'])]}{_ITEM.sub(_kept, found['list'])}", text)


def _kept(item: re.Match[str]) -> str:
    word = item["word"].lower()
    verb = word if word in ACTS else THIRDS.get(word) or GERUNDS.get(word)
    what = None if verb is None else ACTS.get(verb) or MAY_ACT[verb]
    return item.group() if what in v.GRAVE else ""


def identifier(found: re.Match[str]) -> str:
    """An identifier as `identifier`; at the beginning, its words, unless a verb follows: `SetSize sets the size`."""
    follows = found.string[found.end() :].split(None, 1)[:1]
    if found.start() or (follows and follows[0].lower() in THIRDS and "_" not in found.group()):
        return "identifier"
    return found.group().replace("_", " ")


def are_third(tokens: Sequence[str], lead: int, at: int) -> bool:
    """Whether two verbs are both in the third person, the second surely a verb: `retrieves and updates`."""
    verb = THIRDS.get(tokens[at], "")
    sure = verb in ACTS or MAY_ACT.get(verb) in v.GRAVE or verb not in v.NOUNLIKE
    return tokens[lead].endswith("s") and sure


def is_adverb(token: str) -> bool:
    """Whether a word is an adverb by its ending: `safely`, not `reply`."""
    return token.endswith("ly") and token not in ACTS and token not in MAY_ACT


def is_heading(tokens: Sequence[str]) -> bool:
    """Whether a sentence consists of one word that may be a noun: `Flags:`, `order -`."""
    return len(tokens) == 1 and (
        tokens[0] in MAY_ACT or THIRDS.get(tokens[0]) in MAY_ACT or tokens[0] in ("replaces", "supersedes")
    )


def is_about_a_thing(tokens: Sequence[str], lead: int) -> bool:
    """Whether a later sentence is about what a reading tool returns: `Billing groups …`, `User shares a link`."""
    word, after = tokens[lead], tokens[lead + 1] if lead + 1 < len(tokens) else ""
    if lead == 1 and tokens[0] == "user" and word in THIRDS:
        return True
    if word == "add":
        return after == "identifier"
    if word in ("enable", "enables"):
        return lead > 0 and tokens[lead - 1] == "this" and after not in v.DETERMINERS
    if GERUNDS.get(word) in MAY_ACT:
        return after not in v.DETERMINERS
    return THIRDS.get(word) in MAY_ACT and (after in ACTS or after in _IS)


def introduces_situation(tokens: Sequence[str]) -> bool:
    """Whether the text that follows describes the situation before a call: `use it when users: …`."""
    return tokens[-1] == "when" or (tokens[-1] in ("user", "users") and "when" in tokens[-3:-1])


def is_relative(tokens: Sequence[str], at: int, back: int) -> bool:
    """Whether `it` belongs to a relative clause: `the domain it impersonates, …`."""
    return (
        tokens[back] == "it"
        and back > 1
        and tokens[back - 2] in _EACH
        and (at + 1 == len(tokens) or tokens[at + 1] in (",", ")"))
    )


def is_of_the_tool(tokens: Sequence[str], at: int) -> bool:
    """Whether a passive is about the tool itself: `this tool will be removed in version 2`."""
    return "this" in tokens[: min(at, 3)] and tokens[at - 3 : at] in (
        ["tool", "will", "be"], ["function", "will", "be"], ["endpoint", "will", "be"], ["api", "will", "be"],
    )  # fmt: skip


def is_of_what_is_shown(tokens: Sequence[str], at: int) -> bool:
    """Whether a passive is about input or output: `filters are rejected`, `tags are removed from the output`."""
    word, before = tokens[at], tokens[max(0, at - 4) : at]
    if word in _ENTITLED:
        return tokens[at + 1 : at + 2] == ["to"]
    if word == "rejected":
        return not _INPUTS.isdisjoint(before)
    if word in _CUT_SHORT and not _SHOWN.isdisjoint(tokens[:at]):
        return True
    follows = tokens[at + 1 : at + 5]
    return word in _LEFT_OUT and follows[:1] == ["from"] and not _OUTPUT.isdisjoint(follows)


def is_about_output(tokens: Sequence[str]) -> bool:
    """Whether a sentence is about what is returned: `Response includes …`, `Results are …`."""
    return len(tokens) > 1 and tokens[0] in _OUTPUT and tokens[1] in _CONTAINS


def ends_task(tokens: Sequence[str]) -> bool:
    """Whether a sentence only says that the agent has done its task: `Signals the completion of the task.`"""
    return tokens[0] in _SIGNALS and not _ITS_WORK.isdisjoint(tokens) and not _COMPLETION.isdisjoint(tokens[1:8])


def is_about_people(tokens: Sequence[str], lead: int) -> bool:
    """Whether a sentence says what people may do: `Owners can manage settings`."""
    return lead > 1 and tokens[0] in _PEOPLE and tokens[lead - 1] in ("can", "may")


def begins_with_noun(tokens: Sequence[str], lead: int) -> bool:
    """Whether a sentence begins with a noun that is also a verb: `Terminal requests are …`, `Orders include …`."""
    word, follows = tokens[lead], tokens[lead + 1 : lead + 6]
    if not follows or (lead and tokens[lead - 1] not in ("only", "currently")):
        return False
    if THIRDS.get(word) in v.NOUNLIKE:
        return follows[0] in _CONTAINS
    if word not in v.NOUNLIKE or follows[0] in v.DETERMINERS:
        return False
    at = next((at for at, token in enumerate(follows) if token in _IS), 0)
    return at > 0 and v.SUBORDINATE.isdisjoint(follows[:at]) and v.DETERMINERS.isdisjoint(follows[:at])


def describes_no_reading(tokens: Sequence[str], lead: int) -> bool:
    """Whether a sentence with a reading verb describes the outcome of an act, an input, or a plural noun."""
    word, follows = tokens[lead], [token for token in tokens[lead + 1 : lead + 10] if token not in _EACH]
    if (
        tokens[-1] == "first"
        or (word == "when" and follows[:1] != [] and follows[0] not in _ASKED)
        or word in ("accept", "accepts")
        or (word in _PLURALS and follows[:1] in (["are"], ["can"], ["may"]))
    ):
        return True
    if word in ("provide", "provides", "defines"):
        return not _GIVEN.isdisjoint(follows)
    if word not in ("return", "returns") or not follows:
        return False
    if follows[0] in _NO_ANSWER or follows in (["result"], ["results"]):
        return True
    if follows[0] in _ENDED:
        return not _ENDING.isdisjoint(follows)
    return follows[0] in _KEYS and not _MADE.isdisjoint(follows[:6])


def refers_to_another_tool(tokens: Sequence[str]) -> bool:
    """Whether a sentence refers to another tool: `to cancel it, use …`."""
    at = next((at for at, word in enumerate(tokens) if word in ("use", "call", "see", "try")), None)
    return at is not None and tokens[at + 1 : at + 2] not in ([], ["this"], ["it"])


def possible_side_effect(tokens: Sequence[str]) -> tuple[str, str] | None:
    """A possible side effect that a sentence mentions: `the analysis may overwrite data`, `it always deletes`."""
    noted = next((at for at, word in enumerate(tokens[:12]) if word == "that" and tokens[at - 1] == "note"), -1)
    tokens = tokens[noted + 1 :]
    modal = next((at for at, token in enumerate(tokens) if token in _MODALS), 0)
    if not modal or _ITSELF.isdisjoint(tokens[:modal]) or not v.SUBORDINATE.isdisjoint(tokens[1:modal]):
        return None
    at = next((at for at in range(modal + 1, len(tokens)) if not is_adverb(tokens[at])), len(tokens))
    while at < len(tokens):
        verb, follows = THIRDS.get(tokens[at], tokens[at]), tokens[at + 1 : at + 2]
        what = ACTS.get(verb)
        if what in v.GRAVE and verb not in _MILD and follows and follows[0] not in _ENDS_VERB:
            return what, tokens[at]
        if follows not in (["or"], ["and"]):
            return None
        at += 2
    return None
