"""What a tool's own words say that it does."""

import pytest

from interlock.policy.words import inflections, looks_red, words


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


def test_inflections_are_english() -> None:
    assert inflections("delete") == {"delete", "deletes", "deleted", "deleting", "deletings"}
    assert {"dropped", "dropping", "drops"} <= inflections("drop")
    assert {"notifies", "notified", "notifying"} <= inflections("notify")
    assert {"publishes", "publishing"} <= inflections("publish")


@pytest.mark.parametrize(
    "name",
    [
        "send_sms", "sends", "sendEmail", "sendemail", "SEND", "email_customer", "payInvoice", "get_payment_status",
        "create_payout", "publishPost", "post_tweet", "postMessage", "share_file", "book_flight", "bookings_create",
        "delete-page", "removed_items", "purge", "grant_role", "revoke_key", "access_vault", "refund", "place_order",
        "deploy", "deployments_create", "transferFunds", "inviteUser", "drop_table", "ns.delete", "mcp__crm__send",
    ],
)  # fmt: skip
def test_a_name_that_acts_on_the_outside_is_red(name: str) -> None:
    assert looks_red(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "deliver", "domain", "max_tokens", "bookmark", "dependency", "addendum", "payload", "sharepoint_search",
        "accessibility", "bookkeeping", "dropdown", "list_files", "get_weather", "resend_count", "paypal_rates",
        "list_orders", "get_posts", "sort_by", "spend_report", "buyer", "removable", "sender", "undeletable",
    ],
)  # fmt: skip
def test_a_name_that_only_contains_the_letters_is_not(name: str) -> None:
    assert looks_red(name) is None


@pytest.mark.parametrize(
    ("description", "schema"),
    [
        ("Sends the report to the customer", None),
        ("Email the customer", None),
        ("Looks up a page and then deletes it", None),
        ("", {"properties": {"deleteAfter": {"type": "boolean"}}}),
        ("", {"properties": {"mode": {"enum": ["read", "delete"]}}}),
        ("", {"properties": {"x": {"description": "whom to pay"}}}),
        ("", {"anyOf": [{"properties": {"a": {"items": {"title": "Publish it"}}}}]}),
    ],
)
def test_descriptions_and_schemas_count_too(description: str, schema: object) -> None:
    assert looks_red("tool_x", description, schema) is not None


def test_a_schema_too_deep_to_read_counts_as_red() -> None:
    schema: object = {"type": "string"}
    for _ in range(5_000):
        schema = {"items": schema}
    assert looks_red("tool_x", "", schema) is not None


def test_the_reason_names_the_word() -> None:
    assert looks_red("x", "It removes old rows") == "its description says that it deletes (`removes`)"
