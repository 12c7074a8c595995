"""Recognises SQL that makes more rows or text than a database can hold: `generate_series(1, 10^12)`.

What else a statement does is judged in `sql_acts` and `sql_names`.
"""

import math
import re
from collections.abc import Sequence

MOST = 100_000_000
"""The most rows or characters that a function may be asked to make."""
_MAKERS = frozenset(
    "generate_series generate_subscripts range numbers numbers_mt zeros zeros_mt generator generate_array "
    "array_generate_range generate_timestamp_array sequence series repeat replicate rpad lpad space randomblob "
    "zeroblob random_bytes gen_random_bytes array_fill array_repeat repeat_string list_resize generaterandom "
    "randomstring randomprintableascii".split()
)
_ROWS = frozenset("generate_series range numbers generate_array array_generate_range sequence series".split())
_NUMBER = re.compile(r"\d[\d_]*(?:\.\d*)?(?:e\+?\d{1,3})?|0x[\da-f]+", re.IGNORECASE)
_COMPARES = frozenset("<>!=")
_MOST_WORDS = 60


def makes_too_much(words: Sequence[str]) -> bool:
    """Whether a statement calls a function that makes rows or text, with a number beyond measure."""
    for at, word in enumerate(words[:-1]):
        if words[at + 1] == "(" and word.lower() in _MAKERS and _is_vast(_arguments(words, at + 1), word.lower()):
            return True
    return False


def counts_too_far(words: Sequence[str]) -> bool:
    """Whether a condition only ends at a number beyond measure: `WHERE n < 1000000000000`."""
    return any(words[at - 1] in _COMPARES and value(word) > MOST for at, word in enumerate(words) if at)


def value(word: str) -> float:
    """The value of a literal number; 0 for any other word."""
    if not word[:1].isdigit() or len(word) > 40 or not _NUMBER.fullmatch(word):
        return 0
    return float(int(word, 16)) if word[:2] in ("0x", "0X") else float(word.replace("_", ""))


def _arguments(words: Sequence[str], at: int) -> list[list[str]]:
    """The arguments of a call whose parenthesis opens at this position, each as its words."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words[at : at + _MOST_WORDS]:
        if word == "(":
            depth += 1
            if depth == 1:
                continue
        elif word == ")":
            depth -= 1
            if not depth:
                break
        if word == "," and depth == 1:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _is_vast(arguments: Sequence[Sequence[str]], name: str) -> bool:
    plain = [value(each[0]) for each in arguments if len(each) == 1 and value(each[0])]
    if name in _ROWS and len(plain) == len(arguments) and len(plain) > 1:
        return abs(plain[1] - plain[0]) / (plain[2] if len(plain) > 2 else 1) > MOST
    return any(_computed(each) > MOST for each in arguments)


def _computed(words: Sequence[str]) -> float:
    """The greatest number that an argument may come to, its operators being taken as products and powers."""
    numbers = [each for each in map(value, words) if each]
    if not numbers:
        return 0
    joined = "".join(words).lower()
    if len(numbers) > 1 and ("^" in joined or "**" in joined or "pow" in joined or "<<" in joined or "exp(" in joined):
        base = 2.0 if "<<" in joined else max(numbers[0], 2.0)
        return math.pow(10, min(numbers[-1] * math.log10(base), 30.0))
    if len(numbers) > 1 and "*" in words:
        product = 1.0
        for number in numbers[:12]:
            product *= min(number, 1e20)
        return product
    return max(numbers)
