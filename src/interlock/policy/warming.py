"""Loads the parsers for commands and statements in advance, for processes that decide many calls.

Without it, the first call that needs a parser waits up to half a second. Nothing is decided here.
"""

from interlock.policy.code import python_code
from interlock.policy.command_lines import commands
from interlock.policy.queries import sql
from interlock.policy.queries.sql_acts import parsed


def warm() -> None:
    """Loads the parsers that decisions may need; takes a quarter of a second, once per process."""
    commands.judge("true | cat")
    python_code.judge("1 + 1")
    sql.judge("SELECT E'\\\\', [a], $$b$$ -- '''#'''\n// c")
    parsed("SELECT `a`, [b]")
