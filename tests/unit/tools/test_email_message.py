"""Addresses and headers: nothing that is sent can become more than it says."""

import json
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools.email_message import Attachment, Letter, address, one_line, sender
from interlock.tools.errors import ToolError


def letter(**changes: Any) -> Letter:
    fields: dict[str, Any] = {
        "sender": "Interlock <ops@example.com>", "to": ("ann@example.com",), "cc": (), "subject": "Hello",
        "body": "Hi.\n", "attachments": (), "token": "t", "written_at": datetime(2026, 3, 1, tzinfo=UTC),
    }  # fmt: skip
    return Letter(**{**fields, **changes})


def parsed(made: Letter) -> EmailMessage:
    message = message_from_bytes(made.mime(), policy=default)
    assert isinstance(message, EmailMessage)
    return message


def test_letter_that_was_kept_is_the_same_to_the_last_byte() -> None:
    file = Attachment("a.csv", "text/csv", b"a,b\n")
    made = letter(cc=("bob@example.com",), subject="Grüße", attachments=(file,))
    kept = json.loads(json.dumps(made.to_json()))
    again = Letter.from_json(kept, {kept["attachments"][0]["blob"]: file.data})
    assert again == made
    assert again.headers == made.headers


@pytest.mark.parametrize("text", ["ann@example.com", "a.b+c@sub.example.co.uk", "x'y@example.com"])
def test_plain_address_is_taken_as_it_is(text: str) -> None:
    assert address(text) == text


def test_domain_in_other_letters_becomes_ascii() -> None:
    assert address("ann@bücher.example") == "ann@xn--bcher-kva.example"


@pytest.mark.parametrize(
    "text",
    [
        "", "ann", "@example.com", "ann@", "ann@localhost", "ann@example..com", ".ann@example.com", "a..b@example.com",
        "Ann <ann@example.com>", "ann@example.com, bob@example.com", "ann@example.com\nBcc: bob@example.com",
        "ann@example.com\r\n", "ann @example.com", "ann@exa mple.com", "a@b@example.com", "änn@example.com",
        "ann@[127.0.0.1]", "ann@-x.com", "a" * 65 + "@example.com", "ann@" + "a" * 64 + ".com", '"a b"@example.com',
        "ann@example.com>", "ann@example.com;x", "ann@example.com\x00",
    ],
)  # fmt: skip
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(ToolError, match="is not an e-mail address") as caught:
        address(text)
    assert str(caught.value).isprintable()


@given(st.text(st.characters(), max_size=30) | st.text(st.sampled_from("a@.<>, \r\n"), max_size=15))
def test_what_passes_as_an_address_is_one_bare_ascii_address(text: str) -> None:
    try:
        found = address(text)
    except ToolError:
        return
    assert found.isascii()
    assert found.count("@") == 1
    assert not set(found) & set(' <>,;:\\"()[]\r\n\t\x00')


@given(st.text(st.characters(), min_size=1, max_size=250), st.text(st.characters(exclude_categories=["Cs"])))
def test_no_subject_or_body_adds_a_header_or_a_recipient(subject: str, body: str) -> None:
    try:
        made = letter(subject=one_line(subject), body=body)
    except ToolError:
        return
    message = parsed(made)
    assert {name.lower() for name in message} == {
        "from", "to", "subject", "date", "message-id", "x-interlock-idempotency", "content-type",
        "content-transfer-encoding", "mime-version",
    }  # fmt: skip
    assert message["To"] == "ann@example.com"
    assert message["Subject"].split() == subject.split()


def test_body_and_attachments_arrive_unchanged() -> None:
    files = (
        Attachment('größe "x".csv', "text/csv", b"a,b\n\xff"),
        Attachment("p.pdf", "application/pdf", bytes(range(256))),
    )
    message = parsed(
        letter(body="Grüße,\n.\nFrom here\n" + "x" * 5_000 + "\n", attachments=files, cc=("b@example.com",))
    )
    body = message.get_body()
    assert body is not None
    assert body.get_content().splitlines() == ["Grüße,", ".", "From here", "x" * 5_000]
    assert message["Cc"] == "b@example.com"
    got = [
        (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        for part in message.iter_attachments()
    ]
    assert got == [(each.name, each.media_type, each.data) for each in files]


def test_message_id_is_the_same_for_every_try_and_differs_between_calls() -> None:
    assert letter().message_id == letter(body="other").message_id
    assert letter().message_id != letter(token="u").message_id
    assert parsed(letter())["Message-ID"] == letter().message_id
    assert letter().message_id.endswith("@example.com>")


def test_everyone_gets_one_copy() -> None:
    made = letter(to=("a@example.com", "b@example.com"), cc=("a@example.com", "c@example.com"))
    assert made.recipients == ("a@example.com", "b@example.com", "c@example.com")


@pytest.mark.parametrize("text", ["", "nobody", "Ops <ops@localhost>", "a@example.com\nBcc: b@example.com"])
def test_sender_that_is_no_address_names_the_setting(text: str) -> None:
    with pytest.raises(ToolError, match="INTERLOCK_SMTP__SENDER"):
        sender(text, "INTERLOCK_SMTP__SENDER")


def test_sender_may_have_a_name() -> None:
    assert letter(sender=sender("Ops, Köln <ops@example.com>", "S")).from_address == "ops@example.com"
    assert sender("ops@example.com", "S") == "ops@example.com"
