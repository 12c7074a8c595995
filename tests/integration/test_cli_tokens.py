"""`interlock token`, typed."""

from tests.integration.cli_process import Cli


def test_token_is_shown_once_listed_without_itself_and_revoked(cli: Cli) -> None:
    made = cli("token", "create", "the shop", "--role", "operator", "--expires", "30d", "--json").json()
    assert made["token"].startswith("ilk_")
    assert "is revoked" in cli("token", "revoke", made["id"]).out
    listed = cli("token", "list", "--json")
    assert [(row["status"], row["role"]) for row in listed.json()] == [("revoked", "operator")]
    assert made["token"] not in listed.out
    unknown = cli("token", "revoke", "the shop")
    assert (unknown.code, unknown.err) == (
        1,
        "interlock: no token `the shop`: `interlock token list` lists what there is\n",
    )


def test_a_token_is_named_by_a_part_of_its_id_as_everything_else_is(cli: Cli) -> None:
    first, second = (cli("token", "create", name, "--json").json()["id"] for name in ("one", "two"))
    both = cli("token", "revoke", "tok_")
    assert (both.code, f"`tok_` could be any of `{first}`, `{second}`: give more of it" in both.err) == (2, True)
    assert first in cli("token", "revoke", first[-8:].upper()).out
    assert [row["status"] for row in cli("token", "list", "--json").json()] == ["revoked", "good"]
    assert f"did you mean `{second}`" in cli("token", "revoke", second[:-1] + "~").err


def test_two_good_tokens_of_somebody_are_not_told_apart_by_ids_alone(cli: Cli) -> None:
    first = cli("token", "create", "the shop", "--json").json()["id"]
    again = cli("token", "create", "The  Ｓhop")
    assert (again.code, again.out) == (2, "")
    assert f"has a token `the shop` already (`{first}`): give another name, or revoke that one" in again.err
    cli("token", "revoke", first)
    assert cli("token", "create", "the shop").code == 0
