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


def test_somebodys_data_is_exported_into_a_private_file_and_erased_once_that_is_meant(cli: Cli) -> None:
    cli("people", "add", "Ana")
    assert "ana.json: Ana: " in cli("people", "export", "Ana", "-o", "ana.json").out
    assert ((cli.folder / "ana.json").stat().st_mode & 0o777) == 0o600
    refused = cli("people", "erase", "Ana")
    assert (refused.code, refused.err) == (2, "interlock: erasing Ana cannot be undone: say so with `--yes`\n")
    assert "in records: 0 chats erased" in cli("people", "erase", "Ana", "--yes").out
    assert "Ana" not in [person["name"] for person in cli("people", "list", "--json").json()]
