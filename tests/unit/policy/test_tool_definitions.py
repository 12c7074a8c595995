"""What a tool's own words say that it does."""

import pytest

from interlock.policy.definitions.tool_definitions import looks_red, words
from tests.unit.policy import tool_turns, tool_words
from tests.unit.policy.work import calls_of


def test_every_tool_that_acts_is_red() -> None:
    table = tool_words.rows(tool_words.ACTS)
    assert len(table) >= 250
    assert [name for name, description in table if looks_red(name, description) is None] == []


def test_no_tool_that_only_reads_is_red() -> None:
    table = tool_words.rows(tool_words.READS)
    assert len(table) >= 250
    assert {name: said for name, text in table if (said := looks_red(name, text)) is not None} == {}


def test_tools_are_judged_by_what_they_do_however_their_words_are_turned() -> None:
    acts, reads = tool_words.rows(tool_turns.ACTS), tool_words.rows(tool_turns.READS)
    assert len(acts) >= 50
    assert len(reads) >= 35
    assert [row for row in acts if looks_red(*row) is None] == []
    assert {row: said for row in reads if (said := looks_red(*row)) is not None} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("send_email", ("send", "email")),
        ("sendEMailNow", ("send", "e", "mail", "now")),
        ("HTTPServerError", ("http", "server", "error")),
        ("SEND-EMAIL", ("send", "email")),
        ("max_tokens2", ("max", "tokens")),
        ("ｓｅｎｄ", ("send",)),
        ("", ()),
    ],
)
def test_names_come_apart_into_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "name",
    [
        "send_sms", "sends", "sendEmail", "sendemail", "SEND", "email_customer", "payInvoice", "create_payout",
        "publishPost", "post_tweet", "postMessage", "share_file", "book_flight", "bookings_create", "delete-page",
        "removed_items", "purge", "grant_role", "revoke_key", "access_vault", "refund", "place_order", "deploy",
        "deployments_create", "transferFunds", "inviteUser", "drop_table", "ns.delete", "mcp__crm__send",
        "update_password", "add_user_to_channel", "set_budget", "reserve_hotel", "append_to_file", "unlock_door",
        "schedule_transaction", "initiate_call", "search_replace", "read_and_delete", "get_or_create", "order_list",
    ],
)  # fmt: skip
def test_a_name_that_acts_is_red_without_a_description(name: str) -> None:
    assert looks_red(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "deliver", "domain", "max_tokens", "bookmark", "dependency", "addendum", "payload", "sharepoint_search",
        "accessibility", "bookkeeping", "dropdown", "list_files", "get_weather", "resend_count", "paypal_rates",
        "list_orders", "get_posts", "sort_by", "spend_report", "buyer", "removable", "sender", "undeletable",
        "get_payment_status", "list_deleted_files", "search_bookings", "view_shared_calendar", "check_permissions",
    ],
)  # fmt: skip
def test_a_name_that_reads_or_only_contains_the_letters_is_not(name: str) -> None:
    assert looks_red(name) is None


@pytest.mark.parametrize(
    ("description", "schema"),
    [
        ("Sends the report to the customer", None),
        ("Email the customer", None),
        ("Changes who has access to a folder", None),
        ("Loads a page and sets who may see it", None),
        ("Looks up a page and then deletes it", None),
        ("", {"properties": {"deleteAfter": {"type": "boolean"}}}),
        ("", {"properties": {"mode": {"enum": ["read", "delete"]}}}),
        ("", {"properties": {"method": {"enum": ["GET", "POST"]}}}),
        ("", {"properties": {"x": {"description": "whom to pay"}}}),
        ("", {"anyOf": [{"properties": {"a": {"items": {"title": "Publish it"}}}}]}),
    ],
)
def test_descriptions_and_schemas_count_too(description: str, schema: object) -> None:
    assert looks_red("tool_x", description, schema) is not None


@pytest.mark.parametrize(
    "description",
    [
        "Deletes all records",
        "Returns the records and deletes them",
        "Gets the mails, including drafts, and deletes them",
        "Gets mail. Then sends it to the archive.",
        "Reads the page.Deletes it",
        "Reads the page;deletes it",
        "Lists the files -> removes them",
        "Get, update or delete the record",
        "Reads the mail; it will be deleted",
        "Returns the rows. They are automatically removed",
        "Gets the page by sending a POST request to the server",
        "Reads the file and dеlеtеs it",
        "Reads the file and de\u200bletes it",
        "Returns it; note this permanently deletes the source",
        "Gets mail. It also sends a copy",
        "Gets mail and will permanently delete it",
        "Gibt die Datei zurück und löscht sie",
        "获取文件并删除",
        "Helper for rows.\n\nUse cases:\n- Delete old rows\n",
        "Lists rows.\n\nUse cases:\n- Find rows\n\nDeletes those that it lists.",
        "Reads the attachments from an issue of the tracker and then it\ndeletes them",
    ],
)
def test_a_reading_name_never_hides_what_the_description_does(description: str) -> None:
    assert looks_red("get_data", description) is not None


@pytest.mark.parametrize(
    "description",
    [
        "Gets the rule which deletes old rows",
        "Lists files. This call never deletes anything",
        "Tells whether it deletes",
        "Returns what the tool sends",
        "Returns the settings that control who can see a page",
        "Lists changes of who has access to a folder",
        "Gets files that were shared, sent or deleted",
        "Gets the address to send money to",
        "Returns null if the file is deleted",
        'Searches mails, e.g. "delete my account" or "pay now"',
        "Gets an item. Call this first, before you update it. Do not send the result to anybody.",
        "Runs a read query. Supports filters such as delete markers",
        "Lists channels.\n\n**Use cases:**\n- Find a channel to post to\n- Delete old ones later\n",
        "Gets a page.\n\n**Tip:** The page opens in a window",
        "Gets the files of an issue as blobs, since many of the readers only\nforward blobs",
    ],
)
def test_what_a_description_only_speaks_of_is_not_what_the_tool_does(description: str) -> None:
    assert looks_red("get_data", description) is None


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("read_mail", {"properties": {"delete_after": {"type": "boolean"}}}),
        ("read_mail", {"properties": {"x": {"description": "Whether to delete the mail after it was read"}}}),
        ("get_record", {"properties": {"action": {"enum": ["view", "delete"]}}}),
    ],
)
def test_nor_what_its_schema_does(name: str, schema: object) -> None:
    assert looks_red(name, "Reads it", schema) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"sort_order": {}, "include_deleted": {"type": "boolean"}, "shared_with_me": {}, "sent_after": {}},
        {"booking_id": {}, "payment_method": {}, "access_token": {}, "delete_date": {}, "send_time": {}},
        {"status": {"enum": ["sent", "deleted", "send", "delete"]}},
        {"x": {"description": "Id of the order to get. Only those sent by the user."}},
        {"x": {"description": "Whether to remove duplicates"}},
        {"removeScripts": {"type": "boolean"}, "remove_comments": {"type": "boolean"}},
    ],
)
def test_fields_of_a_tool_that_reads_are_nouns(fields: object) -> None:
    assert looks_red("get_items", "Gets items", {"properties": fields}) is None


def test_annotations_raise_and_never_lower() -> None:
    assert looks_red("get_items", "Gets items", None, {"destructiveHint": True}) is not None
    assert (
        looks_red("delete_items", "Deletes items", None, {"readOnlyHint": True, "destructiveHint": False}) is not None
    )
    assert looks_red("tool_x", "", None, {"title": "Delete everything"}) is not None
    assert looks_red("get_items", "Gets items", None, {"readOnlyHint": False, "openWorldHint": True}) is None


def test_a_schema_too_deep_to_read_counts_as_red() -> None:
    schema: object = {"type": "string"}
    for _ in range(5_000):
        schema = {"items": schema}
    assert looks_red("tool_x", "", schema) is not None


def test_a_description_too_long_to_read_counts_as_red() -> None:
    assert looks_red("get_items", "Gets items. " * 5_000) is not None


def test_the_reason_names_the_word() -> None:
    assert looks_red("x", "It removes old rows") == "its description says that it deletes (`removes`)"


def test_a_tool_seen_before_is_not_looked_at_again() -> None:
    schema, hints = {"properties": {"id": {"type": "string"}}}, {"readOnlyHint": True}
    first = calls_of(lambda: looks_red("get_medals", "Gets medals", schema, hints))
    again = calls_of(lambda: looks_red("get_medals", "Gets medals", schema, hints))
    assert again < first / 10
    assert again < 30
