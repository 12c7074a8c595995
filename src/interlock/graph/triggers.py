"""Matching a text with the words that call for a persona; no choice is made here."""

import re
from collections.abc import Iterable, Mapping, Sequence

from interlock.agents.persona import Persona

LARGEST_GAP = 3
"""Words that may stand between those of a trigger: `fix bug` is found in "fix the login bug"."""
_WORD = re.compile(r"[\w'&/+-]+")
_BRITISH = re.compile(r"(?<=\w\w)([iy])s(?=(?:e|es|ed|ing)$)")
_HISSING = re.compile(r"(?:s|x|z|ch|sh)$")
_SENTENCE = re.compile(r"[.!?;:\n]+(?=\s|$)")


def match_triggers(text: str, personas: Mapping[str, Persona]) -> list[tuple[str, float]]:
    """The names of the personas that the text calls for, best first, each with its share of all the matches (0 to 1).

    A trigger of several words weighs as many as it has. Personas that take no tasks are left out. Source: row A3.
    """
    weights = {name: weight(find_triggers(text, p.triggers)) for name, p in personas.items() if p.takes_tasks}
    total = sum(weights.values())
    found = [(name, value / total) for name, value in weights.items() if value]
    return sorted(found, key=lambda match: (-match[1], match[0]))


def find_triggers(text: str, triggers: Iterable[str]) -> tuple[str, ...]:
    """Those of the triggers that occur in the text, by whole words, whatever their case and common endings."""
    sentences = [_WORD.findall(sentence.casefold()) for sentence in _SENTENCE.split(text)]
    return tuple(t for t in triggers if any(_occurs(t.casefold().split(), words) for words in sentences))


def weight(found: Sequence[str]) -> int:
    """What matched triggers weigh together: one for each of their words."""
    return sum(len(trigger.split()) for trigger in found)


def _occurs(wanted: Sequence[str], words: Sequence[str]) -> bool:
    for start, word in enumerate(words):
        if not _same(wanted[0], word):
            continue
        at = start
        for part in wanted[1:]:
            window = range(at + 1, min(at + 2 + LARGEST_GAP, len(words)))
            at = next((i for i in window if _same(part, words[i])), -1)
            if at < 0:
                break
        else:
            return True
    return False


def _same(wanted: str, word: str) -> bool:
    wanted, word = _BRITISH.sub(r"\1z", wanted), _BRITISH.sub(r"\1z", word)
    if wanted == word:
        return True
    stem = wanted[:-1] if wanted.endswith("e") else wanted
    doubled = stem + stem[-1]
    endings = {wanted + "s", wanted + "'s", stem + "ed", stem + "ing", doubled + "ed", doubled + "ing"}
    if _HISSING.search(wanted):
        endings.add(wanted + "es")
    if wanted.endswith("y"):
        endings |= {wanted[:-1] + "ies", wanted[:-1] + "ied"}
    return word in endings
