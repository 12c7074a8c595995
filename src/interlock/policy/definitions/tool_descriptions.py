"""Analyses the description of a tool: whether it leads with a reading verb, and where acting verbs are.

Names and schemas are judged elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from interlock.policy.definitions import clauses, examples, foreign_verbs
from interlock.policy.definitions import verb_objects as o
from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.tool_names import (
    ACTS,
    FOREIGN,
    GERUNDS,
    MAY_ACT,
    PASTS,
    READS,
    THINGS,
    THIRDS,
)
from interlock.policy.definitions.verb_senses import BY_OBJECT, EXPORTS, INTO, JOINS, sense
from interlock.policy.values.spelling import fold, plain

_LONGEST = 20_000
_SENTENCE = re.compile(r"[.!?:]+(?=\s|$|[A-Z]|[^\x00-\x7f])|[;\n•|。；！]+|\s(?:[-–—*]+|->|→)\s|\s\d+[.)]\s")
_ITEM = re.compile(r"\n\s*[-–*•]\s+(?=(?:\w+[ \t]+){1,3}\w+[ \t]*(?:\n|\Z))")
"""The bullet of a short list item, as in a list of what a tool does."""
_SHORT = re.compile(r"\b(?:e\.g\.|i\.e\.|etc\.)", re.IGNORECASE)
_QUOTED = re.compile(r"(?<=[a-z(,] )\"[^\"]{1,80}\"|(?<=\()\"[^\"]{1,80}\"")
_IDENTIFIER = re.compile(r"\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Za-z]\w*[a-z0-9][A-Z]\w*\b|`[^`]*`")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’]t\b)?|[,/&()]")
_BELONGS = re.compile(r"^(?:note:? )?this (?:tool|function|api) (?:belongs to|is part of)[^.]*", re.IGNORECASE)
_WHO = r"(?:you|the user|users|an? agent|the agent|agents?|callers?|one|someone|it)"
_PREFACE = re.compile(
    r"^\s*(?:(?:(?:this|the|an?|our) )?(?:(?:tool|function|api|endpoint|helper) )?(?:(?:that|which) )?"
    rf"(?:provides?|gives?|offers?|has|exposes?|with) (?:{_WHO} )?(?:(?:the|an?) )?"
    r"(?:ability|capability|option|means|possibility|power) (?:to|for|of)|"
    r"(?:(?:it|this) is )?(?:useful|helpful|handy|good|ideal|suitable|intended|needed|use|call|invoke) "
    rf"(?:(?:this|it) )?(?:(?:tool|function|api) )?(?:for when|when(?:ever)?|if) {_WHO} "
    r"(?:(?:really|just|would|is|are) )?(?:wants?|needs?|ha(?:ve|s)|like|wish(?:es)?|asked|asks?) to|"
    r"(?:use|call|invoke) (?:this|the) (?:tool|function|api) to|"
    r"(?:(?:it|this tool|this) is )?responsible for|"
    r"(?:given|for|using|with|based on|from) (?:an?|the|some|its|your|two) [^,.;:\n]{1,80}, (?:it |this tool )?"
    r")\s*(?=\w)",
    re.IGNORECASE,
)
"""Phrases that precede the statement of what a tool does."""
_HEADING = re.compile(
    r"\b(?:tool|function|api) description\s*:|\bdescription of (?:this|the) (?:tool|function|api|endpoint) is\s*:",
    re.IGNORECASE,
)
_METHOD = re.compile(
    r"\b(POST|PUT|PATCH|DELETE)\b(?=[^.]{0,40}\b(?:[Rr]equests?|endpoint|HTTP|REST|API|url|URL|website|site|server|data|body)\b)"
)
_WHO_MAY = re.compile(
    r"(?:^|[.;:!]\s+|\b(?:and|and then|to|you|it|tool|can)\s+)"
    r"((?:chang|updat|modif|alter|adjust|edit|set|limit|restrict|control|decid|defin|configur|determin)\w*)\s+"
    r"(?:who|which (?:people|users?|teams?|groups?|roles?)) (?:all )?"
    r"(?:has|have|can|may|could|gets?|sees?|is|are) (?:access|see|view|read|open|edit|write|use|join|allowed|able)\b",
    re.IGNORECASE,
)
"""A change of access, phrased by who has access."""
_BE = frozenset("be is are gets get being".split())
_EARLY = 3
"""Number of sentences in which a description that does not begin with reading states what the tool does."""
_LISTED = (
    v.NOUNLIKE
    | {form for form, verb in THIRDS.items() if verb in v.NOUNLIKE}
    | frozenset("changes updates transfers change update transfer purchase uploads archive".split())
)
_THIRD_READS = frozenset("returns lists has exists is are".split())
_LEADING = v.READS - _THIRD_READS | (frozenset(("review", "access", *ACTS, *MAY_ACT, *o.CARRIERS)) - {"start", "call"})
"""Base forms that may lead with reading, some depending on their object: `run a search and …`."""
_LOOKS = frozenset("access accesses accessing review reviews reviewing".split())
_BY_CHANCE = frozenset("confirm correct change review access resolve".split())
"""Verbs that often read; they do unless `sense` finds that they act."""
_HELPS = frozenset("will would can it also".split())
_LETS = frozenset("allows allow lets let enables enable helps help".split())
_MODALS = frozenset("can could may might should".split())
_SPARED = frozenset("block mute archive".split())
"""Verbs whose passive usually says what is filtered out."""
_OPEN = v.NEGATIONS - {"instead"}
"""Words at the end of a sentence that negate the next one: `do not:`, but not `use the other one instead.`"""
_NAMED_TOOLS = frozenset(
    "tool tools utility service api function system module program server connector plugin helper assistant agent "
    "identifier".split()
)
_LINKS = frozenset("to for that which capable used designed able intended allowing".split())
_USE = frozenset("use uses utilize utilizes utilise employ employs leverage".split())
_READ_TOO = frozenset("read view write list execute edit create update".split())
_PASSIVE = frozenset("sent paid overwritten sold bought withdrawn".split())
_SUBJECTS = frozenset("it this tool function call operation request endpoint".split())
_BEFORE_ALSO = JOINS | _SUBJECTS | {"will", "can", "would"}


@dataclass(frozen=True, slots=True)
class Prose:
    """What a description says: whether its first sentence leads with reading, and which acts it mentions."""

    leads_with_reading: bool = False
    act: tuple[str, str] | None = None
    """What the tool does and the word for it, from the position of a verb."""
    mention: tuple[str, str] | None = None
    """The same from anywhere in the text, including nouns."""
    advice: tuple[str, str] | None = None
    """An act in the imperative of a later sentence; for a reading tool it is advice to the caller."""


@lru_cache(maxsize=1024)
def read_prose(text: str) -> Prose:
    """What a description says that its tool does.

    A verb counts as an act at the start of a sentence, coordinated with the leading verb ("reads and then deletes"), or
    in the passive ("will be deleted"), but not in a clause about something else ("files shared with you").
    Source: row C1.
    """
    if said := foreign_verbs.act_in_cjk(text):
        return Prose(act=said, mention=said)
    method = _METHOD.search(text[:_LONGEST])
    who_may = _WHO_MAY.search(text[:_LONGEST])
    act = ("sends", method[1]) if method else ("changes access", who_may[1]) if who_may else None
    mention: tuple[str, str] | None = None
    advice: tuple[str, str] | None = None
    reading: bool | None = None
    negated = False
    plain_text = clauses.without_lists(examples.without_examples(text[:_LONGEST]))
    for number, tokens in enumerate(_sentences(_PREFACE.sub("", _BELONGS.sub("", plain_text, count=1), count=1))):
        negated, before = tokens[-1] in _OPEN or (bool(reading) and clauses.introduces_situation(tokens)), negated
        if before or tokens == ["description"]:
            reading = reading if before else None
            continue
        first = reading is None
        found, reads = _judge(tokens, first=first, reading=bool(reading))
        if first and (reads or found or (number == 0 and len(tokens) > 3)):
            reading = reads
        told = not first and found is not None and found[0] in v.SOFT and (reading or number >= _EARLY)
        if told and _is_advice(tokens):
            advice, found = advice or found, None
        act = act or found
        mention = mention or found or _mention(tokens)
    if len(text) > _LONGEST:
        act = act or ("is described at too great a length to be judged", "…")
    return Prose(bool(reading), act, mention or act, advice)


def _sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence; identifiers and quotations become the neutral word `identifier`."""
    for sentence in _SENTENCE.split(
        _QUOTED.sub(
            " identifier ", _SHORT.sub(", ", _HEADING.sub(". Description. ", _ITEM.sub("\n also ", fold(text))))
        )
    ):
        whole = _IDENTIFIER.sub(clauses.identifier, sentence)
        if tokens := [plain(token.lower().replace("’", "'")) for token in _TOKEN.findall(whole)]:
            yield tokens


def _judge(tokens: Sequence[str], *, first: bool, reading: bool) -> tuple[tuple[str, str] | None, bool]:
    """The act in a sentence, and whether it leads with reading; `reading`: whether an earlier sentence did."""
    if (risk := clauses.possible_side_effect(tokens)) is not None:
        return risk, False
    if first and clauses.ends_task(tokens):
        return _later(tokens, 0, reads=True), True
    if first and clauses.is_about_output(tokens):
        return _later(tokens, 1, reads=True), True
    lead = _lead(tokens)
    if lead is None or (not first and clauses.is_heading(tokens)):
        return None, False
    noun = _is_noun(tokens, lead, first=first) or (reading and clauses.is_about_a_thing(tokens, lead))
    found = None if noun else sense(tokens, lead, leading=True)
    if found is not None:
        return found, False
    told = noun and first and lead + 1 < len(tokens) and tokens[lead + 1] in ("return", "show")
    reads = (
        told
        or (tokens[lead] in READS and not (lead and tokens[lead] == "has"))
        or tokens[lead] in _LOOKS
        or _makes(tokens, lead)
    )
    reads = reads and not clauses.describes_no_reading(tokens, lead)
    later = _later(tokens, lead, reads=reads)
    return (later if first or later is None or later[0] in v.GRAVE else None), reads


def _lead(tokens: Sequence[str]) -> int | None:
    """The position of a sentence's verb, after openings such as `this tool allows you to`; None if there is none."""
    start = _start(tokens)
    for at in range(start, min(len(tokens), start + 14)):
        token, follows = tokens[at], tokens[at + 1 : at + 4]
        if (token in ("enables", "enable") and "to" in follows) or (
            token in ("requests", "request") and follows[:1] == ["to"]
        ):
            continue
        if token == "use" and follows[:1] in (["with"], ["only"], ["case"]):
            return at
        if token in _USE and follows and not (follows[0] in v.OPENERS or follows[0] == "identifier"):
            return at
        if token in v.OPENERS or token in _USE or token in JOINS or token == "identifier" or clauses.is_adverb(token):
            continue
        return at
    return None


def _start(tokens: Sequence[str]) -> int:
    """Where the search for the verb starts if a sentence opens by naming the tool: `a correction tool to …`."""
    named = ("a", "an", "the", "this", "our", "your", "identifier")
    if tokens[0] not in named and not (tokens[0] in _USE and tokens[1:2] and tokens[1] in named):
        return 0
    for at, token in enumerate(tokens[1:10], 1):
        if token in _NAMED_TOOLS and tokens[at + 1 : at + 2] and tokens[at + 1] in _LINKS:
            return at
    return 0


def _is_noun(tokens: Sequence[str], lead: int, *, first: bool) -> bool:
    """Whether the leading word is a noun, or is negated."""
    if any(token in v.NEGATIONS for token in tokens[:lead]) or clauses.begins_with_noun(tokens, lead):
        return True
    before, word, after = tokens[lead - 1] if lead else "", tokens[lead], tokens[lead + 1 : lead + 2]
    if before in ("the", "a", "an", "each") and word not in ACTS:
        return True
    if before in ("is", "are") and word not in GERUNDS and word not in PASTS:
        return True
    if (
        not first
        and tokens[0] in ("to", "for", "if", "when")
        and clauses.refers_to_another_tool(tokens[lead + 1 : lead + 14])
    ):
        return True
    if before in ("this", "that") and word in MAY_ACT and after and (after[0] in READS or after[0] in _MODALS):
        return True
    if first and 0 < lead == len(tokens) - 1 and THIRDS.get(word) in MAY_ACT:
        return True
    if THIRDS.get(word) in MAY_ACT and after and after[0] in v.READS - v.READ_NOUNS:
        return True
    if not first and word in ("add", "adds") and "to" not in tokens[lead : lead + 8]:
        return True
    if not first and after in ([","], [")"]) and (word in MAY_ACT or THIRDS.get(word) in MAY_ACT):
        return True
    return not first and tokens[lead] in _LISTED and v.DETERMINERS.isdisjoint(tokens[lead + 1 : lead + 2])


def _is_advice(tokens: Sequence[str]) -> bool:
    """Whether a later sentence leads with a bare verb or gerund, as instructions to the caller do."""
    lead = _lead(tokens)
    if lead is None or not _LETS.isdisjoint(tokens[:lead]):
        return False
    if "you" in tokens[:lead] or clauses.is_about_people(tokens, lead):
        return True
    return (
        "optionally" not in tokens[:lead]
        and _HELPS.isdisjoint(tokens[:lead])
        and any(tokens[lead] in table for table in (ACTS, MAY_ACT, GERUNDS))
    )


def _makes(tokens: Sequence[str], lead: int) -> bool:
    """Whether a sentence leads with an acting verb made harmless by its object: `add two numbers`, `run a search`."""
    verb = THIRDS.get(tokens[lead]) or tokens[lead].removesuffix("s")
    if (
        verb in o.CARRIERS
        and verb not in ACTS
        and verb not in MAY_ACT
        and o.CARRIED.isdisjoint(tokens[lead : lead + 9])
    ):
        return False
    told = not o.HARMLESS_WITH.get(verb, frozenset()).isdisjoint(tokens[lead + 1 : lead + 6])
    if not (told or verb in ACTS or verb in o.CARRIERS or verb in o.GRADUAL or verb in _BY_CHANCE):
        return False
    return sense(tokens, lead, leading=True) is None


def _later(tokens: Sequence[str], lead: int, *, reads: bool) -> tuple[str, str] | None:
    """An acting verb after the leading one: coordinated with it, or passive."""
    base, gerund = tokens[lead] in _LEADING, tokens[lead].endswith("ing")
    passive = lead > 0 and tokens[lead - 1] in _BE
    for at in range(lead if passive else lead + 1, len(tokens)):
        word, before = tokens[at], tokens[at - 1]
        doing = gerund and before in JOINS and GERUNDS.get(word) in ACTS
        twin = at == lead + 2 and before in ("and", "or", "/", "then")
        joined = (doing or (twin and gerund) or _joined(tokens, at, base=base)) and not _negated(tokens, at, lead)
        leading = doing or (twin and (base or gerund or clauses.are_third(tokens, lead, at)))
        if joined and (found := sense(tokens, at, leading=leading)):
            return found
        what = ACTS.get(GERUNDS.get(word, "")) if before in ("by", "involves", "involving") else None
        if what is not None and (not reads or (before == "by" and what in v.GRAVE)):
            return what, word
        got = before in ("get", "gets") and at == lead + 1
        if not got and (before in _BE or _goes_on(tokens, at)) and _is_passive(tokens, at):
            past = PASTS.get(word)
            return (THINGS[word] if past is None else ACTS.get(past) or MAY_ACT[past]), word
    return None


def _joined(tokens: Sequence[str], at: int, *, base: bool) -> bool:
    """Whether a word is coordinated with the leading verb, in its form: `reads … and deletes`, `… and will delete`."""
    word, back = tokens[at], at - 1
    while back > 0 and (
        clauses.is_adverb(tokens[back]) or (tokens[back] == "also" and tokens[back - 1] in _BEFORE_ALSO)
    ):
        back -= 1
    before, earlier = tokens[back], tokens[back - 1] if back else ""
    if before in _SUBJECTS and THIRDS.get(word) in ACTS and v.SUBORDINATE.isdisjoint(tokens[max(0, back - 3) : back]):
        return not clauses.is_relative(tokens, at, back)
    if before == "it" and earlier == "after" and word in THIRDS:
        return True
    if (
        word in ACTS
        and "how" not in tokens[max(0, back - 5) : back]
        and (before in ("will", "would", "also") or (before == "can" and earlier in ("it", "tool", "this")))
    ):
        return True
    if before not in JOINS or (before in (",", "(", "/") and word in MAY_ACT):
        return False
    if before in ("(", "/") and base and tokens[at + 1 : at + 2] in (["/"], [","], [")"]):
        return False
    if before == "/" and at + 1 < len(tokens) and tokens[at + 1] in v.ABOUT:
        return False
    if word in BY_OBJECT or word in INTO or word in EXPORTS:
        return not word.endswith("ing")
    if word in ACTS:
        return base and not (at > 2 and earlier in _READ_TOO and tokens[at - 3] not in JOINS)
    if word in MAY_ACT:
        return base
    if (verb := THIRDS.get(word)) is not None:
        return not base or (verb in ACTS and before in ("and", "then", "also", "but"))
    return word in FOREIGN


def _negated(tokens: Sequence[str], at: int, lead: int) -> bool:
    """Whether a word is negated, or is in a list of examples."""
    listed = v.DETERMINERS.isdisjoint(tokens[at + 1 : at + 2])
    said = tokens[lead:at]
    if listed and (not {"including", "like"}.isdisjoint(said) or "to" in said[-3:-1]):
        return True
    for token in reversed(tokens[max(0, at - 8) : at]):
        if token in v.NEGATIONS:
            return True
        if token in (",", "but", "then"):
            return False
    return False


def _goes_on(tokens: Sequence[str], at: int) -> bool:
    """Whether a participle continues a passive: `are moved and then deleted`, `is automatically sent`."""
    for token in reversed(tokens[max(0, at - 5) : at]):
        if token in _BE:
            return True
        if not (token in JOINS or token in PASTS or token in THINGS or clauses.is_adverb(token)):
            return False
    return False


def _is_passive(tokens: Sequence[str], at: int) -> bool:
    word = tokens[at]
    verb = PASTS.get(word)
    grave = word in _PASSIVE or (
        verb is not None
        and (ACTS.get(verb) or MAY_ACT[verb]) in v.GRAVE
        and verb not in v.NOUNLIKE
        and verb not in _SPARED
        and verb != "access"
    )
    if not grave:
        return False
    if clauses.is_of_the_tool(tokens, at) or clauses.is_of_what_is_shown(tokens, at):
        return False
    if tokens[at + 1 :] in (["to"], ["from"], ["in"], ["by"], ["with"]) or not _MODALS.isdisjoint(
        tokens[max(0, at - 6) : at]
    ):
        return False
    return not any(token in v.SUBORDINATE or token in v.NEGATIONS for token in tokens[max(0, at - 9) : at])


def _mention(tokens: Sequence[str]) -> tuple[str, str] | None:
    """A grave verb or noun anywhere in a sentence."""
    for at, word in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if not v.NEGATIONS.isdisjoint(tokens[max(0, at - 2) : at]) or (word in THINGS and following in v.ABOUT):
            continue
        if word in THINGS or word in FOREIGN:
            return THINGS.get(word) or FOREIGN[word], word
        verb = word if word in ACTS else THIRDS.get(word) or GERUNDS.get(word) or PASTS.get(word)
        what = None if verb is None else ACTS.get(verb) or MAY_ACT[verb]
        if what in v.GRAVE and verb not in ("access", "request") and (verb in ACTS or verb not in v.NOUNLIKE):
            return what, word
        asked = at == 0 or tokens[at - 1] in ("to", "and", "then", "or", "will", "can", "you")
        if word in MAY_ACT and word not in ("open", "access") and asked and following in v.DETERMINERS - {"to", "of"}:
            return MAY_ACT[word], word
    return None
