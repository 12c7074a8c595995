"""A call of a tool of many is judged by what its arguments choose: what reads runs, what acts is held."""

from typing import Any

import pytest

from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.definitions.tool_definitions import looks_red
from interlock.policy.risk import Risk, Trust
from interlock.policy.rules import Policy
from tests.unit.policy.work import calls_of

LEAD = Caller(agent_name="a", trust=Trust.LEAD)
BADGES = {"type": "object", "properties": {"action": {"enum": ["list", "get", "issue", "delete"]}, "id": {}}}
CALLS = {"type": "object", "properties": {"method": {"enum": ["GET", "POST", "DELETE"]}, "url": {}, "body": {}}}
NOTES = {"properties": {"action": {"enum": ["note_list", "note_add", "board_create_list", "merge"]}, "params": {}}}
TOLD = {"properties": {"operation": {"type": "string", "description": "One of `list`, `merge` or `purge`"}}}


def risk(tool: str, args: dict[str, Any], description: str = "", schema: Any = None, **more: Any) -> Risk:
    call = Call(tool=tool, args=args, description=description, input_schema=schema, **more)
    return decide(call, LEAD, Policy.builtin()).risk


@pytest.mark.parametrize(
    ("tool", "args", "description", "schema"),
    [
        ("manage_badges", {"action": "list"}, "Manages badges: list, get, issue or delete them", BADGES),
        ("manage_badges", {"action": "get", "id": 3}, "Deletes badges, or gets one", BADGES),
        ("merge_request", {"action": "note_list"}, "Manages merge requests and their notes", NOTES),
        ("http_request", {"method": "GET", "url": "https://example.com/a"}, "Makes an HTTP request", CALLS),
        ("ledgers", {"operation": "list"}, "Merges, purges and lists ledgers", TOLD),
        ("orders", {"action": "list"}, "Orders of the shop", None),
        ("find_flats", {"intent": "buy"}, "Finds flats", None),
        ("describe_tool", {"tool": "send_letter"}, "Describes a tool", None),
        ("query_graph", {"query": "query { crew { name } }"}, "Queries the graph", None),
        ("query_graph", {"query": 'query { genes(of: "mutation {") { mutation { id } } }'}, "Queries the graph", None),
        ("find_notes", {"filter": "status:open"}, "Finds notes", None),
        ("find_notes", {"labels": ["brand:acme"], "sort": "created:desc"}, "Finds notes", None),
        ("get_trips", {"source": "New York", "destination": "Boston"}, "Gets trips", None),
        ("get_prices", {"data_source": "the exchange"}, "Gets prices", None),
        ("compare_tables", {"method": "merge"}, "Compares two tables", None),
        ("str_replace_editor", {"command": "view", "path": "tides.py"}, "", None),
        ("finish", {"answer": "The tide is high"}, "", None),
        ("order_book", {"symbol": "TIDE", "depth": 5}, "Order book of a market", None),
        ("fish_exchange_order_book", {"pair": "COD-EUR"}, "", None),
        ("complete", {"response": "The tide is high"}, "", None),
        ("text_editor", {"command": "view", "path": "tides.py"}, "Views, creates and edits files", None),
    ],
)
def test_what_is_chosen_to_be_read_is_not_held(tool: str, args: dict[str, Any], description: str, schema: Any) -> None:
    assert risk(tool, args, description, schema) is Risk.YELLOW


@pytest.mark.parametrize(
    ("tool", "args", "description", "schema"),
    [
        ("manage_badges", {"action": "delete", "id": 3}, "Manages badges", BADGES),
        ("manage_badges", {}, "Manages badges", BADGES),
        ("finish", {}, "", None),
        ("order_book", {"title": "Tides"}, "", None),
        ("order_book", {"symbol": "TIDE", "quantity": 3}, "", None),
        ("order_book", {"symbol": "TIDE"}, "Sends an order to the market", None),
        ("complete", {"response": "x", "order_id": 4}, "", None),
        ("complete", {"response": "x"}, "Completes the order of a customer", None),
        ("str_replace_editor", {"command": "create", "path": "tides.py"}, "", None),
        ("str_replace_editor", {"command": "view"}, "Sends files to the harbour master", None),
        ("http_request", {"method": "GET", "url": "https://a.example/x?_method=PUT"}, "Makes an HTTP request", CALLS),
        ("http_request", {"method": "GET", "url": "https://a.example/b/1/delete"}, "Makes an HTTP request", CALLS),
        ("manage_badges", {"action": "list "}, "Manages badges", BADGES),
        ("manage_badges", {"action": ["list"]}, "Manages badges", BADGES),
        ("manage_badges", {"action": "lost"}, "Manages badges", BADGES),
        ("manage_badges", {"action": "list", "operation": "delete"}, "Manages badges", BADGES),
        ("manage_badges", {"action": "list", "Action": "delete"}, "Manages badges", BADGES),
        ("manage_badges", {"action": "list", "more": {"action": "delete"}}, "Manages badges", BADGES),
        ("manage_badges", {"action": "list"}, "Manages badges", None),
        ("merge_request", {"action": "board_create_list"}, "Manages merge requests and their notes", NOTES),
        ("merge_request", {"action": "note_add"}, "Manages merge requests and their notes", NOTES),
        ("manage_badges", {"action": "list"}, "Manages badges. Sends a letter to the owner each time", BADGES),
        ("delete_badges", {"action": "list"}, "", BADGES),
        ("sendBadges", {"action": "list"}, "", BADGES),
        ("send_webhook", {"method": "GET", "url": "https://example.com/a"}, "Sends a webhook", CALLS),
        ("http_request", {"method": "DELETE", "url": "https://example.com/a"}, "Makes an HTTP request", CALLS),
        ("call_endpoint", {"method": "DELETE", "path": "/crew/3"}, "Reads from the registry", None),
        ("gateway", {"method": "patch", "resource": "crew"}, "", None),
        ("ledgers", {"operation": "purge"}, "Merges, purges and lists ledgers", TOLD),
        ("orders", {"action": "update", "id": 3}, "Orders of the shop", None),
        ("orders", {"operation": "set_price"}, "Orders of the shop", None),
        ("query_graph", {"query": "mutation { dropCrew(id: 3) { id } }"}, "Queries the graph", None),
        ("query_graph", {"query": "query A { a } mutation B($i: ID!) @x { b(i: $i) { id } }"}, "Queries", None),
        ("query_graph", {"query": ",#x\n\ufeffmutation #y\n{ dropCrew { id } }"}, "Queries", None),
        ("query_graph", {"query": 'query A($x: S = "{") { a } mutation { b }'}, "Queries", None),
        ("dispatcher", {"tool": "send_letter", "arguments": {}}, "", None),
        ("gateway", {"function_name": "pay_invoice"}, "", None),
        ("find_notes", {"target": "javascript:alert(1)"}, "Finds notes", None),
        ("get_item", {"source": "import os; os.system('x')"}, "Gets an item", None),
    ],
)
def test_what_is_chosen_to_act_is_held(tool: str, args: dict[str, Any], description: str, schema: Any) -> None:
    assert risk(tool, args, description, schema) is Risk.RED


def test_an_annotation_is_not_lowered_by_a_choice() -> None:
    hints = {"destructiveHint": True}
    assert risk("manage_badges", {"action": "list"}, "Manages badges", BADGES, hints=hints) is Risk.RED


def test_without_arguments_the_worst_counts() -> None:
    assert looks_red("manage_badges", "Manages badges", BADGES) is not None
    assert looks_red("manage_badges", "Manages badges", BADGES, None, {"action": "list"}) is None
    assert looks_red("manage_badges", "Manages badges", BADGES) is not None


def test_a_choice_made_before_is_not_looked_at_again() -> None:
    args = {"action": "list", "id": 3}
    first = calls_of(lambda: looks_red("manage_medals", "Manages medals", BADGES, None, args))
    again = calls_of(lambda: looks_red("manage_medals", "Manages medals", BADGES, None, args))
    assert again < first / 10
    assert again < 60


EDITOR = {
    "properties": {
        "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "undo_edit"]},
        "path": {"type": "string"},
        "file_text": {"type": "string"},
    }
}
EDITS = "Tool for viewing, creating and editing files. The `undo_edit` command will revert the last edit."


def edited(tool: str, args: dict[str, Any], schema: Any = EDITOR) -> Risk:
    return decide(Call(tool=tool, description=EDITS, args=args, input_schema=schema), LEAD, Policy.builtin()).risk


@pytest.mark.parametrize("tool", ["str_replace_editor", "str_replace_based_edit_tool"])
def test_a_name_that_is_made_of_another_choice_says_nothing_of_a_look(tool: str) -> None:
    assert edited(tool, {"command": "view", "path": "src/pier.py"}) is Risk.YELLOW
    assert edited(tool, {"command": "create", "path": "src/pier.py", "file_text": "x"}) is Risk.RED
    assert edited(tool, {"command": "undo_edit", "path": "src/pier.py"}) is Risk.RED
    assert edited(tool, {"command": "view", "path": ".env"}) is Risk.RED
    assert edited(tool, {"command": "view; rm x", "path": "src/pier.py"}) is Risk.RED
    assert edited(tool, {"path": "src/pier.py"}) is Risk.RED


def test_a_name_that_acts_is_held_whatever_its_tool_offers() -> None:
    schema = {"properties": {"command": {"enum": ["view", "delete_labels"]}}}
    assert edited("delete_labels", {"command": "view"}, schema) is Risk.RED
    assert edited("purge_str_replace", {"command": "view"}, EDITOR) is Risk.RED
