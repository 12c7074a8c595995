"""Code as cells of notebooks have it: the lines in it that are orders to the notebook, where they do no harm.

What the code itself does is known to `python_code`.
"""

import re

_SHOWN = re.compile(
    r"(?m)^[ \t]*(?:%(?:matplotlib|pylab)(?:[ \t]+\w{1,20})?|%load_ext[ \t]+autoreload|%autoreload(?:[ \t]+\d)?|"
    r"%config[ \t]+InlineBackend\.\w{1,40}[ \t]*=[ \t]*[\w{}'\", ]{1,60}|%who(?:s)?|%pwd|%xmode[ \t]+\w{1,20}|"
    r"%xdel[ \t]+\w{1,80}|%load_ext[ \t]+(?:line_profiler|memory_profiler|tensorboard)|"
    r"%precision[ \t]+[\w.%]{1,10}|"
    r"[A-Za-z_][\w.]{0,80}\?{1,2})[ \t]*$"
)
"""Lines that set how something is shown, or ask for help."""
_TIMED = re.compile(
    r"(?m)^([ \t]*)%(?:time|prun|memit|timeit(?:[ \t]+-[nr][ \t]*\d{1,9})*)[ \t]+(?=\S)|\A[ \t]*%%time(?:it)?[ \t]*$"
)
"""What stands before code that is timed; the code itself is read."""

_TOLD = re.compile(
    r"^(?P<indent>[ \t]*)(?:!(?P<shell>[^!\n][^\n]*)|%(?P<program>(?:pip|conda|mamba)[ \t][^\n]*))$",
    re.MULTILINE,
)
"""Lines that are given to a shell, and what each of them runs."""
_SHELL_CELL = re.compile(r"\A\s*%%(?:bash|sh)[ \t]*\n(?P<script>.*)\Z", re.DOTALL)
_OWN_PYTHON = re.compile(r"\{sys\.executable\}")


def plain(code: str) -> str:
    """The code without such lines; all others stay, and are no Python."""
    if "%" not in code and "?" not in code and "!" not in code:
        return code
    if _SHELL_CELL.match(code):
        return ""
    return _TIMED.sub(lambda found: found[1] or "", _SHOWN.sub("", _TOLD.sub(r"\g<indent>pass", code)))


def told(code: str) -> tuple[str, ...]:
    """The commands that a cell gives to a shell."""
    if "%" not in code and "!" not in code:
        return ()
    if cell := _SHELL_CELL.match(code):
        return (cell["script"],)
    return tuple(_OWN_PYTHON.sub("python", found["shell"] or found["program"]) for found in _TOLD.finditer(code))
