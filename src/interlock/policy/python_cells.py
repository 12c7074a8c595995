"""Code as cells of notebooks have it: the lines in it that are orders to the notebook, where they do no harm.

What the code itself does is known to `python_code`.
"""

import re

_SHOWN = re.compile(
    r"(?m)^[ \t]*(?:%(?:matplotlib|pylab)(?:[ \t]+\w{1,20})?|%load_ext[ \t]+autoreload|%autoreload(?:[ \t]+\d)?|"
    r"%config[ \t]+InlineBackend\.\w{1,40}[ \t]*=[ \t]*[\w{}'\", ]{1,60}|%who(?:s)?|%pwd|%precision[ \t]+[\w.%]{1,10}|"
    r"[A-Za-z_][\w.]{0,80}\?{1,2})[ \t]*$"
)
"""Lines that set how something is shown, or ask for help."""
_TIMED = re.compile(
    r"(?m)^([ \t]*)%(?:time|timeit(?:[ \t]+-[nr][ \t]*\d{1,9})*)[ \t]+(?=\S)|\A[ \t]*%%time(?:it)?[ \t]*$"
)
"""What stands before code that is timed; the code itself is read."""


def plain(code: str) -> str:
    """The code without such lines; all others stay, and are no Python."""
    if "%" not in code and "?" not in code:
        return code
    return _TIMED.sub(lambda found: found[1] or "", _SHOWN.sub("", code))
