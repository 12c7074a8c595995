"""The forms of English verbs: third person, participles and agent nouns. Which verbs count is in `vocabulary`."""

import re


def third(verb: str) -> str:
    """The third person singular: sends, pushes, copies."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")


def agent(verb: str) -> str:
    """The agent noun: closer, dropper, payer."""
    if verb.endswith("e"):
        return verb + "r"
    return verb + (verb[-1] if re.fullmatch(r".*[^aeiou][aeiou][bdgklmnprt]", verb) else "") + "er"


def gerunds(verb: str) -> frozenset[str]:
    """The -ing forms, with the last letter doubled or not."""
    stem = verb.removesuffix("e") if not verb.endswith(("ee", "oe")) else verb
    return frozenset({stem + "ing", stem + stem[-1] + "ing"})


def pasts(verb: str) -> frozenset[str]:
    """The -ed forms, with the last letter doubled or not."""
    stem = verb.removesuffix("e")
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return frozenset({verb[:-1] + "ied"})
    return frozenset({stem + "ed", stem + stem[-1] + "ed"})
