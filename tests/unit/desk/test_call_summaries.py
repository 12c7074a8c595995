"""What a call would do, in words that a person understands; and how changes of files and arguments are shown."""

from typing import Any

import pytest

from interlock.desk.signoff import proposal
from interlock.desk.signoff.call_summaries import LONGEST, deed
from interlock.desk.signoff.proposal import Before

KEY = "sk-proj-abcdefgh12345678abcdefgh"


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        (
            "send_email", {"to": ["ana@x.y"], "subject": "Lunch", "body": "Hi"},
            "send an e-mail to ana@x.y about “Lunch”",
        ),
        (
            "send_email", {"to": ["a@x.y", "b@x.y"], "cc": ["c@x.y", "d@x.y"], "subject": "", "attachments": ["q.pdf"]},
            "send an e-mail with 1 attachment to a@x.y, b@x.y, c@x.y and 1 more",
        ),
        ("file_write", {"path": "a.md", "content": "one\ntwo\nthree"}, "write 3 lines to a.md"),
        ("file_write", {"path": "a.md", "content": "one\n", "append": True}, "add 1 line to the end of a.md"),
        ("file_write", {"path": "a.md", "content": ""}, "write 0 lines to a.md"),
        ("file_edit", {"path": "a.md", "old": "x", "new": "y"}, "change a.md"),
        ("shell", {"command": "rm -rf build\nmake"}, "run this command: rm -rf build (and 1 more line)"),
        ("code_exec", {"code": "print(1)"}, "run this code: print(1)"),
        ("web_search", {"query": "tea"}, "search the web for “tea”"),
        ("pay", {"amount": 5, "to": "bob", "note": ""}, "call pay with amount 5, to bob"),
        ("pay", {}, "call pay"),
        ("send_email", {"to": 7}, "call send_email with to 7"),
        ("file_write", "no arguments at all", "call file_write"),
    ],
)  # fmt: skip
def test_calls_are_told_in_words(tool: str, args: Any, said: str) -> None:
    assert deed(tool, args) == said


def test_what_is_told_holds_no_secret_no_second_line_and_no_end_of_words() -> None:
    told = deed("shell", {"command": f"curl -H 'Authorization: Bearer {KEY}' https://x " + "y" * 500})
    assert KEY not in told
    assert len(told) <= LONGEST
    assert "\n" not in deed("note", {"a\nb": "c\nd", "e": ["f\ng"] * 9})


def test_an_edit_of_a_file_is_shown_as_its_difference() -> None:
    args = {"path": "a.md", "old": "two", "new": "2"}
    (path, change) = proposal.arguments("file_edit", args, Before("one\ntwo\nthree\n", 1))
    assert path.text == "path: a.md"
    assert "-two\n+2" in change.text


@pytest.mark.parametrize("before", [None, Before(None, 1), Before("two two", 1), Before("one", 1)])
def test_an_edit_whose_place_is_not_sure_is_shown_with_all_its_arguments(before: Before | None) -> None:
    passages = proposal.arguments("file_edit", {"path": "a.md", "old": "two", "new": "2"}, before)
    assert "\n".join(p.text for p in passages) == "path: a.md\nold: two\nnew: 2"


def test_what_a_person_changed_is_shown_without_secrets() -> None:
    (passage,) = proposal.edits({"to": "a", "key": KEY}, {"to": "b", "key": KEY, "more": 1})
    assert '-  "to": "a"' in passage.text
    assert '+  "to": "b"' in passage.text
    assert KEY not in passage.text
