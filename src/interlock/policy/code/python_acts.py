"""Judges calls in Python code on objects of which only the name is known: statements, deletions.

Functions of the standard library are classified in `python_names`; expressions are evaluated in `python_texts`.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.queries import sql

TextOf = Callable[[ast.AST | None], str | None]
_STATEMENTS = frozenset(
    "execute executescript executemany read_sql read_sql_query text raw exec_driver_sql sql query run_query "
    "fetch fetchall "
    "fetchone fetchval fetchrow fetch_all".split()
)
"""Methods and functions that pass their first string to a database."""
_ARRAYS = frozenset("np numpy jnp jax cupy torch tf".split())
_ON_SCREEN = frozenset("tkinter Tkinter customtkinter PyQt5 PyQt6 PySide6 pygame curses".split())
"""Modules of user interfaces, whose `delete` clears an input field."""
_ACTS = re.compile(
    r"(?:send|post|publish)_?(?:e?mails?|sms|messages?|notifications?|tweet|invoice|payment|money|report|alert)|"
    r"(?:delete|drop|purge|wipe|destroy|truncate|terminate|remove)_(?:all|many|one|users?|accounts?|tables?|databases?|"
    r"collections?|buckets?|objects?|records?|repos?|repository|clusters?|instances?|stack|documents?|indices|customers?|"
    r"orders?|messages?|events?|branch|projects?|deployments?|volumes?|snapshots?|roles?|polic(?:y|ies)|secrets?|everything)|"
    r"drop_?(?:all|database|collection)|(?:create|capture|issue|make)_(?:charge|payment|refund|transfer|payout|transaction)|"
    r"(?:transfer|withdraw|send)_(?:funds|money|payment|eth|btc|transaction)|(?:grant|revoke|assign)_(?:access|role|admin|"
    r"permissions?|privileges?)|flush_?(?:all|db)|add_collaborator|merge_pull_request|place_order|cancel_(?:order|booking|"
    r"subscription|reservation)|make_public|reset_password|shutdown_instance|reboot_instance"
)
"""Names of methods that act on any object, and of functions provided to the code."""
_ON_A_PAGE = frozenset(
    "click dblclick fill press upload_file drag_and_drop mouse_click mouse_dblclick mouse_upload_file keyboard_type "
    "keyboard_press".split()
)
"""Functions with which code for a browser acts on a page."""


def judge(
    name: str | None, node: ast.Call, text_of: TextOf, names: Mapping[str, str], made: Collection[str]
) -> Iterator[Raised]:
    """Findings for a call by its name; `names` are imported, `made` are functions that the code defines."""
    is_method = isinstance(node.func, ast.Attribute)
    last = node.func.attr if isinstance(node.func, ast.Attribute) else (name or "").rpartition(".")[2]
    if last in _STATEMENTS:
        given = [text_of(each) for each in (*node.args[:1], *(keyword.value for keyword in node.keywords))]
        for text in given:
            if text is not None and sql.looks_like(text):
                yield from sql.judge(text)
    if last in ("push", "force_push") and any(each.partition(".")[0] == "git" for each in names.values()):
        yield kinds.LEAVES
    keywords = {keyword.arg: text_of(keyword.value) for keyword in node.keywords}
    if "0.0.0.0" in (keywords.get("host"), keywords.get("hostname"), keywords.get("address")):
        yield kinds.LEAVES
    if last == "VideoCapture" and node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0:
        yield kinds.HIDDEN
    if last == "to_sql":
        yield kinds.DATABASE_DELETE if keywords.get("if_exists") == "replace" else kinds.DATABASE_WRITE
    if last in made:
        return
    if not is_method:
        if last in _ON_A_PAGE and name == last and last not in names:
            yield kinds.BROWSER_ACTS
        elif _ACTS.fullmatch(last):
            yield kinds.ACTS
        return
    deletes = last == "delete" and (name or "").partition(".")[0] not in _ARRAYS and _ON_SCREEN.isdisjoint(names)
    if deletes or _ACTS.fullmatch(last):
        yield kinds.ACTS
