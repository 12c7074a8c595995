"""`interlock people`, typed."""

from tests.integration.cli_process import Cli


def test_people_are_entered_linked_changed_and_unlinked_before_anything_else_was_done(cli: Cli) -> None:
    assert "Ana is an operator (per_" in cli("people", "add", "Ana").out
    assert "Ana (operator) is known as slack:U0123ABCD" in cli("people", "link", "ana", "slack:u0123abcd").out
    assert "Ana is a viewer, was an operator" in cli("people", "role", "Ana", "viewer").out
    cli("people", "add", "Ben", "--role", "admin")
    assert "is known as slack:U0123ABCD, no longer Ana's" in cli("people", "link", "Ben", "slack:U0123ABCD").out
    assert "slack:U0123ABCD is nobody's now; Ben: no other" in cli("people", "unlink", "slack:U0123ABCD").out
    found = {p["name"]: (p["role"], p["identities"]) for p in cli("people", "list", "--json").json()}
    assert (found["Ana"], found["Ben"]) == (("viewer", []), ("admin", []))
    assert len(found) == 3


def test_the_last_admin_is_not_lost_from_the_command_line(cli: Cli) -> None:
    (me,) = cli("people", "list", "--json").json()
    done = cli("people", "role", me["id"], "viewer")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"interlock: {me['name']} is the last admin at a terminal: make somebody else one first, with an identity "
        "such as `local:1000`\n"
    )
