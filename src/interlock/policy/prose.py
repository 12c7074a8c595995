"""What a description says that its tool does: whether it leads with reading, and where a verb that acts stands.

Names and schemas are judged elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from interlock.policy import tongues
from interlock.policy import vocabulary as v
from interlock.policy.names import (
    ACTS,
    FOREIGN,
    GERUNDS,
    MAY_ACT,
    PASTS,
    READS,
    THINGS,
    THIRDS,
    gerunds,
    harmless,
    third,
)
from interlock.policy.spelling import fold, plain

_LONGEST = 20_000
_SENTENCE = re.compile(r"[.!?:]+(?=\s|$|[A-Z]|[^\x00-\x7f])|[;\n•|。；！]+|\s(?:[-–—*]+|->|→)\s|\s\d+[.)]\s")
_SHORT = re.compile(r"\b(?:e\.g\.|i\.e\.|etc\.)", re.IGNORECASE)
_QUOTED = re.compile(r"(?<=[a-z(,] )\"[^\"]{1,80}\"|(?<=\()\"[^\"]{1,80}\"")
_IDENTIFIER = re.compile(r"\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Za-z]\w*[a-z0-9][A-Z]\w*\b|`[^`]*`")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’]t\b)?|[,/&()]")
_BELONGS = re.compile(r"^(?:note:? )?this (?:tool|function|api) (?:belongs to|is part of)[^.]*", re.IGNORECASE)
_HEADING = re.compile(r"\b(?:tool|function|api) description\s*:", re.IGNORECASE)
_METHOD = re.compile(
    r"\b(POST|PUT|PATCH|DELETE)\b(?=[^.]{0,40}\b(?:[Rr]equests?|endpoint|HTTP|REST|API|url|URL|website|site|server|data|body)\b)"
)
_JOINS = frozenset("and then or & / , ( also subsequently finally afterwards but plus".split()) | tongues.JOINS
_BE = frozenset("be is are gets get being".split())
_PREPOSITIONS = frozenset("in to from of on for with into at by via and or , (".split())
_NOUN_BEFORE = _PREPOSITIONS - {"in", "to", "on", "for", "with", "into", "at", "via", "("} | {
    "that",
    "is",
    "are",
    "search",
}
_ADVERBS = frozenset("only always just please also then simply optionally".split())
_SOFT = frozenset({"changes what is stored", "runs something", "controls a device"})
_LISTED = (
    v.NOUNLIKE
    | {form for form, verb in THIRDS.items() if verb in v.NOUNLIKE}
    | frozenset("changes updates transfers change update transfer purchase uploads".split())
)
_LOOKS = frozenset("access accesses accessing review reviews reviewing".split())
_HELPS = frozenset("will would can it also".split())
_CONFIRMED = frozenset("that whether if identity availability existence accuracy validity".split())
_SPARED = frozenset("block mute".split())
"""Verbs of which a description says in the passive what is not let through."""
_NAMED_TOOLS = frozenset(
    "tool tools utility service api function system module program server connector plugin helper assistant agent "
    "identifier".split()
)
_LINKS = frozenset("to for that which capable used designed able intended allowing".split())
_USE = frozenset("use uses utilize utilizes utilise employ employs leverage".split())
_INTO = frozenset(
    "incorporate incorporates load loads loading integrate integrates integrating embed embeds feed feeds".split()
)
_EXPORTS = frozenset("export exports exporting extract extracts back backs".split())
_OUTSIDE = frozenset("external externally bucket partner ftp sftp webhook cloud remote outside offsite".split())
_INTO_NOTHING = frozenset(
    "memory context structure array object vector vectors embedding embeddings dataframe variable session chat".split()
)
_BY_OBJECT: dict[str, tuple[str, frozenset[str]]] = {
    form: (what, frozenset(objects.split()))
    for verb, (what, objects) in v.BY_OBJECT.items()
    for form in (verb, third(verb), *gerunds(verb))
}
_READ_TOO = frozenset("read view write list execute edit create update".split())
_PASSIVE = frozenset("sent paid overwritten sold bought withdrawn".split())
_MAKES = frozenset("make makes making file files filing".split())
_MADE_OF = {
    **dict.fromkeys(
        "payment payments purchase purchases transfer transfers donation deposit transaction".split(), "pays"
    ),
    **dict.fromkeys("reservation reservations booking bookings appointment appointments".split(), "books"),
    **dict.fromkeys("call calls complaint claim dispute lawsuit announcement".split(), "sends"),
}
_OFFERED = frozenset("invite invitation invitations request requests offer terms order call meeting pull".split())
_SUBJECTS = frozenset("it this tool function call operation request endpoint".split())
_BEFORE_ALSO = _JOINS | _SUBJECTS | {"will", "can", "would"}
_SERVICE = frozenset(
    "service services api endpoint here first tool tools function functions method identifier again another "
    "subsequent".split()
)


@dataclass(frozen=True, slots=True)
class Prose:
    """What a description says: whether its first sentence leads with reading, and what it says that acts."""

    leads_with_reading: bool = False
    act: tuple[str, str] | None = None
    """What the tool does, and the word: where a verb stands."""
    mention: tuple[str, str] | None = None
    """The same anywhere in the text, nouns too."""
    advice: tuple[str, str] | None = None
    """What a later sentence says in the imperative: the caller is told to do it where the tool reads."""


@lru_cache(maxsize=1024)
def read_prose(text: str) -> Prose:
    """What a description says that its tool does.

    A verb acts where one stands: leading a sentence, joined to the leading one ("reads and then deletes"), or passive
    ("will be deleted"). In a clause about something else ("files shared with you") it does not. Source: row C1.
    """
    if said := tongues.wide(text):
        return Prose(act=said, mention=said)
    method = _METHOD.search(text[:_LONGEST])
    act = ("sends", method.group(1)) if method else None
    mention: tuple[str, str] | None = None
    advice: tuple[str, str] | None = None
    reading: bool | None = None
    for number, tokens in enumerate(_sentences(_BELONGS.sub("", text[:_LONGEST], count=1))):
        if tokens == ["description"]:
            reading = None
            continue
        found, reads = _judge(tokens, first=reading is None)
        if reading is None and (reads or found or (number == 0 and len(tokens) > 3)):
            reading = reads
        if found is not None and found[0] in _SOFT and not (number == 0 or reading is None) and _is_advice(tokens):
            advice, found = advice or found, None
        act = act or found
        mention = mention or found or _mention(tokens)
    if len(text) > _LONGEST:
        act = act or ("is described at too great a length to be judged", "…")
    return Prose(bool(reading), act, mention or act, advice)


def _sentences(text: str) -> Iterator[list[str]]:
    """The words of each sentence; names of other tools and quoted ones are taken for one word that says nothing."""
    for sentence in _SENTENCE.split(
        _QUOTED.sub(" identifier ", _SHORT.sub(", ", _HEADING.sub(". Description. ", fold(text))))
    ):
        whole = _IDENTIFIER.sub(
            lambda found: "identifier" if found.start() else found.group().replace("_", " "), sentence
        )
        if tokens := [plain(token.lower().replace("’", "'")) for token in _TOKEN.findall(whole)]:
            yield tokens


def _judge(tokens: Sequence[str], *, first: bool) -> tuple[tuple[str, str] | None, bool]:
    """What a sentence says that acts, and whether it leads with reading."""
    lead = _lead(tokens)
    if lead is None or (not first and len(tokens) == 1 and tokens[0] in MAY_ACT):
        return None, False
    found = None if _is_noun(tokens, lead, first=first) else _verb(tokens, lead, leading=True)
    if found is not None:
        return found, False
    reads = tokens[lead] in READS or tokens[lead] in _LOOKS or _makes(tokens, lead)
    later = _later(tokens, lead, reads=reads)
    return (later if first or later is None or later[0] in v.GRAVE else None), reads


def _lead(tokens: Sequence[str]) -> int | None:
    """Where the verb of a sentence stands: after `this tool allows you to`, after `a tool of the ledger to`."""
    start = _start(tokens)
    for at in range(start, min(len(tokens), start + 14)):
        token, follows = tokens[at], tokens[at + 1 : at + 4]
        if token in ("enables", "enable", "requests", "request") and "to" in follows:
            continue
        if token == "use" and follows[:1] in (["with"], ["only"], ["case"]):
            return at
        if token in _USE and follows and not (follows[0] in v.OPENERS or follows[0] == "identifier"):
            return at
        if token in v.OPENERS or token in _USE or token in _JOINS or token == "identifier" or token.endswith("ly"):
            continue
        return at
    return None


def _start(tokens: Sequence[str]) -> int:
    """Where to look for the verb of a sentence that opens with what the tool is called: `a correction tool to …`."""
    if tokens[0] not in ("a", "an", "the", "this", "our", "your") and tokens[0] not in _USE:
        return 0
    for at, token in enumerate(tokens[1:10], 1):
        if token in _NAMED_TOOLS and tokens[at + 1 : at + 2] and tokens[at + 1] in _LINKS:
            return at
    return 0


def _is_noun(tokens: Sequence[str], lead: int, *, first: bool) -> bool:
    """Whether the first word is a noun, or what follows it is said not to happen."""
    if any(token in v.NEGATIONS for token in tokens[:lead]):
        return True
    before, word, after = tokens[lead - 1] if lead else "", tokens[lead], tokens[lead + 1 : lead + 2]
    if before in ("the", "a", "an", "each") and word not in ACTS:
        return True
    if before in ("is", "are") and word not in GERUNDS and word not in PASTS:
        return True
    if not first and after in ([","], [")"]) and (word in MAY_ACT or THIRDS.get(word) in MAY_ACT):
        return True
    return not first and tokens[lead] in _LISTED and v.DETERMINERS.isdisjoint(tokens[lead + 1 : lead + 2])


def _is_advice(tokens: Sequence[str]) -> bool:
    """Whether a later sentence leads with a bare verb, as what tells the caller what to do does."""
    lead = _lead(tokens)
    return lead is not None and (
        "you" in tokens[:lead]
        or ((tokens[lead] in ACTS or tokens[lead] in MAY_ACT) and _HELPS.isdisjoint(tokens[:lead]))
    )


def _makes(tokens: Sequence[str], lead: int) -> bool:
    """Whether a sentence leads with a verb that would act, but for its object: `add two numbers`, `run a search`."""
    verb = THIRDS.get(tokens[lead]) or tokens[lead].removesuffix("s")
    return (verb in ACTS or verb in v.CARRIERS) and _verb(tokens, lead, leading=True) is None


def _verb(tokens: Sequence[str], at: int, *, leading: bool) -> tuple[str, str] | None:
    """What the token says that acts, if it is read as a verb."""
    word, follows = tokens[at], tokens[at + 1 : at + 6]
    if word in ("make", "makes", "making") and not {"public", "admin", "publicly"}.isdisjoint(tokens[at + 1 : at + 7]):
        return "shares", word
    end = next((end for end, other in enumerate(follows) if other in _PREPOSITIONS), len(follows))
    if word in _INTO and _puts_into(tokens, at):
        return "changes what is stored", word
    if word in _EXPORTS and "to" in tokens[at + 1 : at + 8] and not _OUTSIDE.isdisjoint(tokens[at + 1 : at + 12]):
        return "sends", word
    if (by := _BY_OBJECT.get(word)) and not by[1].isdisjoint(follows[:end]) and _is_told(tokens, at):
        return by[0], word
    last = follows[end - 1] if end else ""
    if word in ("request", "requests") and last not in v.ABOUT and not v.REQUESTED.isdisjoint(follows[:end]):
        return "books", f"{word} {last}"
    if word in _MAKES and _SERVICE.isdisjoint(follows[:end]) and (made := _MADE_OF.get(last)):
        return made, word
    if word in ("return", "returns"):
        given = follows[:1] in (["some"], ["a"], ["an"], ["items"]) and not v.RETURNED.isdisjoint(follows[:3])
        return ("changes what is stored", word) if given else None
    verb = word if word in ACTS or word in MAY_ACT else THIRDS.get(word) or (GERUNDS.get(word) if leading else None)
    if verb is None:
        return (FOREIGN[word], word) if word in FOREIGN and (leading or len(word) > 4) else None
    if _only_reads(tokens, at, verb):
        return None
    what = ACTS.get(verb) or MAY_ACT[verb]
    if verb in ACTS:
        return what, word
    following = follows[0] if follows else ""
    if following in v.ABOUT or following in _NOUN_BEFORE:
        sure = leading and verb not in v.NOUNLIKE and following in ("and", "or", ",")
        return (what, word) if sure else None
    return (what, word) if leading or following in v.DETERMINERS else None


def _only_reads(tokens: Sequence[str], at: int, verb: str) -> bool:
    """Whether a verb that would act only reads, by its object: `run a search`, `open the file`, `turns X into Y`."""
    follows = tokens[at + 1 : at + 6]
    if verb in ("access", "input", "review") or (verb == "open" and v.OPENED.isdisjoint(follows)):
        return True
    carried = tokens[at + 1 : at + 8]
    carried = carried[: carried.index("to")] if "to" in carried else carried
    if verb in v.CARRIERS and (not v.CARRIED.isdisjoint(carried) or ("read" in follows[:3] and "only" in follows[:4])):
        return True
    if verb in ("run", "execute") and "show" in follows and "command" in tokens[at + 1 : at + 7]:
        return True
    if verb == "confirm" and not _CONFIRMED.isdisjoint(follows):
        return True
    if verb == "add" and not {"numeric", "elements"}.isdisjoint(follows):
        return True
    if verb == "send" and "get" in follows[:3] and not {"request", "requests"}.isdisjoint(follows):
        return True
    if verb == "accept" and _OFFERED.isdisjoint(follows):
        return True
    if verb == "turn" and ("into" in tokens[at : at + 8] or follows[:1] == ["by"]):
        return True
    if verb in ("call", "start") and not _SERVICE.isdisjoint(follows):
        return True
    end = next((end for end, word in enumerate(follows) if word in _PREPOSITIONS), len(follows))
    return harmless(verb, follows[:end])


def _puts_into(tokens: Sequence[str], at: int) -> bool:
    """Whether something is put where it stays: `loads … into the table`, never `into memory`."""
    follows = tokens[at + 1 : at + 12]
    where = next((number for number, word in enumerate(follows) if word in ("into", "onto")), None)
    return where is not None and _INTO_NOTHING.isdisjoint(follows[where : where + 5])


def _is_told(tokens: Sequence[str], at: int) -> bool:
    """Whether a report goes to somebody; other verbs with such an object act whoever gets it."""
    if not tokens[at].startswith("report"):
        return True
    rest = tokens[at + 1 : at + 14]
    return "to" in rest and rest[-1] != "to" and {"user", "caller", "you"}.isdisjoint(rest[rest.index("to") :][:3])


def _later(tokens: Sequence[str], lead: int, *, reads: bool) -> tuple[str, str] | None:
    """A verb that acts after the leading one: joined to it, or passive."""
    base, gerund = tokens[lead] in v.READS or tokens[lead] in ("review", "access"), tokens[lead].endswith("ing")
    passive = lead > 0 and tokens[lead - 1] in _BE
    for at in range(lead if passive else lead + 1, len(tokens)):
        word, before = tokens[at], tokens[at - 1]
        doing = gerund and before in _JOINS and GERUNDS.get(word) in ACTS
        twin = at == lead + 2 and before in ("and", "or", "/", "then")
        joined = (doing or (twin and gerund) or _joined(tokens, at, base=base)) and not _negated(tokens, at, lead)
        if joined and (found := _verb(tokens, at, leading=doing or (twin and (base or gerund)))):
            return found
        what = ACTS.get(GERUNDS.get(word, "")) if before in ("by", "involves", "involving") else None
        if what is not None and (not reads or (before == "by" and what in v.GRAVE)):
            return what, word
        if (before in _BE or _goes_on(tokens, at)) and _is_passive(tokens, at):
            past = PASTS.get(word)
            return (THINGS[word] if past is None else ACTS.get(past) or MAY_ACT[past]), word
    return None


def _joined(tokens: Sequence[str], at: int, *, base: bool) -> bool:
    """Whether a word is joined to the leading verb, in its form: `reads … and deletes`, `… and will then delete`."""
    word, back = tokens[at], at - 1
    while back > 0 and (tokens[back].endswith("ly") or (tokens[back] == "also" and tokens[back - 1] in _BEFORE_ALSO)):
        back -= 1
    before, earlier = tokens[back], tokens[back - 1] if back else ""
    if before in _SUBJECTS and THIRDS.get(word) in ACTS and v.SUBORDINATE.isdisjoint(tokens[max(0, back - 3) : back]):
        return True
    if word in ACTS and (
        before in ("will", "would", "also") or (before == "can" and earlier in ("it", "tool", "this"))
    ):
        return True
    if before not in _JOINS or (before in (",", "(", "/") and word in MAY_ACT):
        return False
    if word in _BY_OBJECT or word in _INTO or word in _EXPORTS:
        return not word.endswith("ing")
    if word in ACTS:
        return base and not (at > 2 and earlier in _READ_TOO and tokens[at - 3] not in _JOINS)
    if word in MAY_ACT:
        return base
    if (verb := THIRDS.get(word)) is not None:
        return not base or (verb in ACTS and before in ("and", "then", "also", "but"))
    return word in FOREIGN


def _negated(tokens: Sequence[str], at: int, lead: int) -> bool:
    """Whether it is said not to happen, or the word stands in a list of examples."""
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
    """Whether a participle goes on from another: `are moved and then deleted`, `is automatically sent`."""
    for token in reversed(tokens[max(0, at - 5) : at]):
        if token in _BE:
            return True
        if not (token in _JOINS or token in PASTS or token in THINGS or token.endswith("ly")):
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
