"""Extracts notebook magics from a cell: harmless ones are removed, shell lines are returned to be judged.

The Python code itself is judged in `python_code`.
"""

import re

_DISPLAY_MAGIC = re.compile(
    r"(?m)^[ \t]*(?:%(?:matplotlib|pylab)(?:[ \t]+\w{1,20})?|%load_ext[ \t]+autoreload|%autoreload(?:[ \t]+\d)?|"
    r"%config[ \t]+InlineBackend\.\w{1,40}[ \t]*=[ \t]*[\w{}'\", ]{1,60}|%who(?:s)?|%pwd|%xmode[ \t]+\w{1,20}|"
    r"%xdel[ \t]+\w{1,80}|%load_ext[ \t]+(?:line_profiler|memory_profiler|tensorboard)|"
    r"%precision[ \t]+[\w.%]{1,10}|"
    r"[A-Za-z_][\w.]{0,80}\?{1,2})[ \t]*$"
)
"""Magics that change the display, or show help."""
_TIMING_MAGIC = re.compile(
    r"(?m)^([ \t]*)%(?:time|prun|memit|timeit(?:[ \t]+-[nr][ \t]*\d{1,9})*)[ \t]+(?=\S)|\A[ \t]*%%time(?:it)?[ \t]*$"
)
"""Magics that precede code to be timed; the code is judged."""

_SHELL_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:!(?P<shell>[^!\n][^\n]*)|%(?P<program>(?:pip|conda|mamba)[ \t][^\n]*))$",
    re.MULTILINE,
)
"""Magics that pass a line to a shell, with the program that each runs."""
_SHELL_CELL = re.compile(r"\A\s*%%(?:bash|sh)[ \t]*\n(?P<script>.*)\Z", re.DOTALL)
_OWN_PYTHON = re.compile(r"\{sys\.executable\}")


def without_magics(code: str) -> str:
    """The code without such lines; unrecognised magics stay, and are invalid Python."""
    if "%" not in code and "?" not in code and "!" not in code:
        return code
    if _SHELL_CELL.match(code):
        return ""
    return _TIMING_MAGIC.sub(
        lambda found: found[1] or "", _DISPLAY_MAGIC.sub("", _SHELL_LINE.sub(r"\g<indent>pass", code))
    )


def shell_commands(code: str) -> tuple[str, ...]:
    """The commands that a cell passes to a shell."""
    if "%" not in code and "!" not in code:
        return ()
    if cell := _SHELL_CELL.match(code):
        return (cell["script"],)
    return tuple(_OWN_PYTHON.sub("python", found["shell"] or found["program"]) for found in _SHELL_LINE.finditer(code))
