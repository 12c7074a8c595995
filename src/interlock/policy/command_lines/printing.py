"""Evaluates `echo`, `printf` and `$'…'`, which a script can use to disguise text."""

import re

UNKNOWN = "\ufffd"
"""Stands for a part that is known only at run time."""
DECODERS = frozenset("base64 base32 basenc xxd rev uudecode openssl".split())
"""Programs that decode or transform their input."""
_ENCODES = re.compile(r"(?:base64|base32)(?!.*\s-(?:\w*[dDi]|-d))")
_WHICH = re.compile(r"which\s+([A-Za-z][\w.+-]*)")
_ANSI = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def program(command: str) -> str:
    """The program of a command as written; `encode` for `base64` or `base32` without an option to decode."""
    return "encode" if _ENCODES.match(command) else next(iter(command.split()), "")


def which_output(command: str) -> str | None:
    """The path that `which` prints for a program, reduced to its name."""
    match = _WHICH.fullmatch(command.strip())
    return f"/usr/bin/{match[1]}" if match else None


def unescaped(text: str) -> str:
    """The text with escapes such as `\\x41` replaced by their characters."""
    return _ANSI.sub(_letter, text)


def printed(words: tuple[str, ...]) -> str:
    """The output of `echo` or `printf` for these words; UNKNOWN if it is not known."""
    rest = list(words[1:])
    escapes = words[0] == "printf"
    while words[0] == "echo" and rest and re.fullmatch(r"-[neE]+", rest[0]):
        escapes |= "e" in rest.pop(0)
    if words[0] == "printf":
        if not rest or rest[0] == "-v":
            return UNKNOWN
        form, values = rest[0], rest[1:]
        parts = re.split(r"%(?:-?\d*)?[sbq]", form)
        if any("%" in part.replace("%%", "") for part in parts):
            return UNKNOWN
        values += [""] * (len(parts) - 1 - len(values))
        text = parts[0] + "".join(value + part for value, part in zip(values, parts[1:], strict=False))
        text += "".join(values[len(parts) - 1 :]) if len(parts) > 1 else ""
    else:
        text = " ".join(rest)
    return (unescaped(text) if escapes else text).rstrip("\n")


def _letter(match: re.Match[str]) -> str:
    if (digits := match[1] or match[2] or match[3]) is not None:
        code = int(digits, 16)
    elif match[4] is not None:
        code = int(match[4], 8)
    else:
        return _ANSI_NAMED.get(match[5], match[5] if match[5] in "\\'\"?" else match[0])
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else UNKNOWN
