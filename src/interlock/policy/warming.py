"""Loads the parsers of commands and statements ahead, for processes that decide about many calls.

Without it the first call that needs one waits for it, up to half a second. Nothing is decided here.
"""

from interlock.policy import commands, python_code, sql
from interlock.policy.sql_acts import parsed


def warm() -> None:
    """Loads all that a decision may need; takes a quarter of a second, once in a process."""
    commands.judge("true | cat")
    python_code.judge("1 + 1")
    sql.judge("SELECT E'\\\\', [a], $$b$$ -- '''#'''\n// c")
    parsed("SELECT `a`, [b]")
