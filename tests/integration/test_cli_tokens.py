"""`interlock token`, typed."""

from tests.integration.cli_process import Cli


def test_token_is_shown_once_listed_without_itself_and_revoked(cli: Cli) -> None:
    made = cli("token", "create", "the shop", "--role", "operator", "--expires", "30d", "--json").json()
    assert made["token"].startswith("ilk_")
    assert "no good any more" in cli("token", "revoke", made["id"]).out
    listed = cli("token", "list", "--json")
    assert [(row["status"], row["role"]) for row in listed.json()] == [("revoked", "operator")]
    assert made["token"] not in listed.out
    unknown = cli("token", "revoke", "the shop")
    assert (unknown.code, unknown.err) == (
        1,
        "interlock: no token `the shop`: `interlock token list` lists what there is\n",
    )
