"""The outbox from the command line."""

import asyncio

from interlock.store.engine import Store
from tests.contract.desk.test_outgoing import fill
from tests.integration.cli_process import Cli


def test_dead_messages_are_shown_with_their_reason_and_tried_again(cli: Cli) -> None:
    assert cli("run", "Compare A and B", "--model", "rehearsal/offline").code == 0
    assert "everything has been delivered" in cli("outbox").out
    asyncio.run(_fill(f"sqlite:///{cli.folder / '.interlock' / 'interlock.db'}"))
    shown = cli("outbox", "--dead")
    assert shown.out.count("no such user") == 2
    assert "uncertain" in shown.out
    [refused, _] = cli("outbox", "--dead", "--json").json()
    again = cli("outbox", "retry", str(refused["id"]))
    assert (again.code, again.out) == (0, f"message {refused['id']} is tried again by email\n")
    assert [row["state"] for row in cli("outbox", "--json").json()] == ["waits", "waits", "uncertain"]
    wrong = cli("outbox", "retry", "nothing")
    assert (wrong.code, wrong.err) == (1, "interlock: no message `nothing`: `interlock outbox` lists what there is\n")
    assert cli("outbox", "retry", "--all").out == "0 dead messages are tried again\n"
    both = "interlock: name one message, or give `--all`: `interlock outbox --dead` lists them\n"
    assert [cli("outbox", "retry").err, cli("outbox", "retry", "7", "--all").err] == [both, both]


async def _fill(url: str) -> None:
    async with Store(url) as store:
        await store.write(fill)
