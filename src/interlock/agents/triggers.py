"""Finding trigger words in a text, in any language: their positions, and whether they are negated.

What follows from them is routing's and delegation's job.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

LARGEST_GAP = 3
"""Words that may stand between those of a trigger: `fix bug` is found in "fix the login bug"."""
REACH = 4
"""Words over which one that takes back reaches."""
READ = 8
"""Texts that are kept as they were read: one is held against the triggers of every persona there is."""
TRIGGERS = 32_768
"""That are kept as they were read, which is those of some thousand personas."""
_INNER = frozenset("'&/+-.")
_JOINED = re.compile("[\u1100-\u11ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")  # fmt: skip # noqa: E501
"""Letters of scripts in which words are not set apart."""
_BRITISH = re.compile(r"(?<=\w\w)([iy])s(?=(?:e|es|ed|ing)$)")
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
_CLAUSE = re.compile(
    r"(?<![.!?;:])[.!?;:]+(?=\s|$)|[\n,。！？；：、，…]|\s[–—-]\s|\b(?:but|sondern|mais|sino|aber|pero|но)\b"
)
_SENTENCE = re.compile(r"(?<![.!?;:\n])[.!?;:\n]+(?=\s|$)|[。！？；：\n]")
_NEGATIONS = frozenset(
    "no not never without don't dont doesn't didn't won't isn't aren't cannot can't couldn't shouldn't wouldn't "
    "neither nor nothing instead rather avoid skip stop nicht kein keine keinen keiner keines ohne nie niemals statt "
    "ne pas sans jamais sin nunca jamás non senza mai não nao sem nie bez niet geen zonder не без никогда нет "
    "inte utan ikke uden değil".split()
)
_NEGATED_JOINED = re.compile("不要|不用|别|別|不是|没有|沒有|無需|无需|しない|しなく|せずに|하지")
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»]*«|「[^「」]*」|『[^『』]*』|\"[^\"\n]*\""
    r"|(?<!\w)['‘][^'‘’\n]*['’](?!\w)",
    re.DOTALL,
)
_CITED = re.compile(r"^[ \t]*(?:>|&gt;).*$", re.MULTILINE)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://\S+|\bwww\.\S+|(?<!\S)[^\s@]+@\S+|(?<!\w)[@#]\w+|(?<!\w)(?:~|\.{1,2})?/[\w./-]+", re.IGNORECASE)  # fmt: skip # noqa: E501


@dataclass(frozen=True, slots=True)
class Hit:
    """A trigger that was found. `at` counts words from the beginning of its sentence."""

    trigger: str
    at: int
    negated: bool

    @property
    def weight(self) -> int:
        """One for each of its words."""
        return len(self.trigger.split())


def own_words(text: str, *, most_quoted: int = 0) -> str:
    """The author's own words in a text: without quotations, code and addresses.

    Quotations of at most `most_quoted` words stay, such as a name.
    """

    def kept(found: re.Match[str]) -> str:
        return found[0] if len(found[0].split()) <= most_quoted else " … "

    return _ADDRESS.sub(" … ", _QUOTED.sub(kept, _CITED.sub(" … ", text)))


def find_triggers(text: str, triggers: Iterable[str]) -> tuple[str, ...]:
    """The triggers that occur in the text, by whole words, ignoring case and common endings."""
    plain, sentences, known = _sentences(text)
    return tuple(
        t for t in triggers if _may_occur(parts := _parts(t), known) and _occurs_anywhere(parts, plain, sentences)
    )


def hits(text: str, triggers: Iterable[str]) -> Iterator[Hit]:
    """Every trigger that occurs: its first position, and the first where it is negated."""
    clauses, known = _read(text)
    for trigger in triggers:
        parts = _parts(trigger)
        if not _may_occur(parts, known):
            continue
        found = [
            Hit(trigger, before + at, _taken_back(words, at, clause))
            for clause, words, before in clauses
            if (at := _place(parts, clause, words)) >= 0
        ]
        yield from (min(those, key=lambda hit: hit.at) for those in _sides(found) if those)


def _sides(found: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    return [hit for hit in found if not hit.negated], [hit for hit in found if hit.negated]


def weight(found: Sequence[str]) -> int:
    """The weight of matched triggers: one for each of their words."""
    return sum(len(trigger.split()) for trigger in found)


def folded(text: str) -> str:
    """A text folded for comparison: composed, without case, with one kind of apostrophe.

    The Turkish dotted and dotless i count as the i that they are spelled as elsewhere.
    """
    if text.isascii():
        return text.lower()
    same = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i").replace("ı", "i")
    return unicodedata.normalize("NFC", same).replace("’", "'")


def words_of(text: str) -> list[str]:
    """The words of a folded text; a name with dots, such as a file's, is one word."""
    if text.isascii():
        return [word for each in _ASCII_WORD.findall(text) if (word := each.strip("'&/-."))]
    words, current = [], ""
    for char in text:
        if char.isalnum() or char == "_" or char in _INNER or unicodedata.category(char)[0] == "M":
            current += char
        elif current:
            words.append(current)
            current = ""
    return [word for each in (*words, current) if (word := each.strip("'&/-."))]


_ASCII_WORD = re.compile(r"[\w'&/+.-]+")


@lru_cache(maxsize=READ)
def _sentences(text: str) -> tuple[str, tuple[list[str], ...], frozenset[str]]:
    """A text folded, the words of each of its sentences, and all of them."""
    plain = folded(text)
    sentences = tuple(_spelled(sentence) for sentence in _SENTENCE.split(plain))
    return plain, sentences, frozenset(word for words in sentences for word in words)


@lru_cache(maxsize=READ)
def _read(text: str) -> tuple[tuple[tuple[str, list[str], int], ...], frozenset[str]]:
    """The clauses of a text, and all of its words."""
    clauses = tuple(_clauses(folded(text)))
    return clauses, frozenset(word for _, words, _ in clauses for word in words)


def _clauses(plain: str) -> Iterator[tuple[str, list[str], int]]:
    """Each clause with its words, and how many words of its sentence stand before it."""
    for sentence in _SENTENCE.split(plain):
        before = 0
        for clause in _CLAUSE.split(sentence):
            words = _spelled(clause or "")
            yield clause or "", words, before
            before += len(words)


def _spelled(text: str) -> list[str]:
    """The words of a folded text in one spelling."""
    return [_BRITISH.sub(r"\1z", word) for word in words_of(text)]


@lru_cache(maxsize=TRIGGERS)
def _parts(trigger: str) -> tuple[str, ...]:
    return tuple(folded(trigger).split())


def _may_occur(parts: Sequence[str], known: frozenset[str]) -> bool:
    """Whether the first word of a trigger is among those of a text; where words are not set apart, nobody can tell."""
    return bool(parts) and (not _endings(parts[0]).isdisjoint(known) or any(_JOINED.search(part) for part in parts))


def _occurs_anywhere(parts: Sequence[str], plain: str, sentences: Sequence[Sequence[str]]) -> bool:
    return any(_place(parts, plain, words) >= 0 for words in sentences)


def _place(parts: Sequence[str], clause: str, words: Sequence[str]) -> int:
    """The word at which a trigger begins; -1 where it does not occur."""
    if not parts:
        return -1
    if any(_JOINED.search(part) for part in parts):
        return 0 if all(part in clause for part in parts) else -1
    return _occurs(parts, words)


def _occurs(wanted: Sequence[str], words: Sequence[str]) -> int:
    first = _endings(wanted[0])
    for start, word in enumerate(words):
        if word not in first:
            continue
        at = start
        for part in wanted[1:]:
            window = range(at + 1, min(at + 2 + LARGEST_GAP, len(words)))
            at = next((i for i in window if words[i] in _endings(part)), -1)
            if at < 0:
                break
        else:
            return start
    return -1


def _taken_back(words: Sequence[str], at: int, clause: str) -> bool:
    """Whether a word like `not` stands shortly before in the same clause, or `pas` right after."""
    if _NEGATED_JOINED.search(clause):
        return True
    near = (*words[max(0, at - REACH) : at], *words[at + 1 : at + 2])
    return any(word in _NEGATIONS or word.endswith("n't") for word in near)


@lru_cache(maxsize=TRIGGERS)
def _endings(wanted: str) -> frozenset[str]:
    wanted = _BRITISH.sub(r"\1z", wanted)
    stem = wanted[:-1] if wanted.endswith("e") else wanted
    doubled = stem + stem[-1:]
    endings = {wanted, wanted + "s", wanted + "'s", stem + "ed", stem + "ing", doubled + "ed", doubled + "ing"}
    if _HISSING.search(wanted):
        endings.add(wanted + "es")
    if wanted.endswith("y"):
        endings |= {wanted[:-1] + "ies", wanted[:-1] + "ied"}
    return frozenset(endings)
