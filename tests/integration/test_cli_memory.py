"""`interlock memory`, typed."""

import asyncio
from pathlib import Path

from interlock import Interlock
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.memory import archive, blocks
from interlock.memory.archive import Note
from interlock.memory.blocks import Edit, Editor
from interlock.store import squad
from interlock.store.tx import Tx
from tests.integration.cli_process import Cli


async def _remember(folder: Path) -> tuple[str, str]:
    async with Interlock.open(cwd=folder, env={}, model="rehearsal/offline") as box:
        now, project = box.runtime.clock.now(), box.runtime.settings.project

        def keep(tx: Tx) -> tuple[str, str]:
            squad.ensure_project(tx, project, "UTC", now)
            note = Note(project_id=project, persona="coder", type="fact", text="The kiosk is blue.")
            memory = archive.keep(tx, note, SYSTEM, "seen in May", now)
            archive.keep(tx, note, SYSTEM, "seen in June", now)
            who = Editor(project_id=project, persona="coder", author=Actor(ActorKind.AGENT, "agt"))
            return memory.id, blocks.edit(tx, who, "places", Edit(content="The kiosk."), "because", now).id

        return await box.runtime.store.write(keep)


def test_memories_are_found_shown_restored_and_put_away(cli: Cli) -> None:
    memory, block = asyncio.run(_remember(cli.folder))
    found = {row["id"]: row for row in cli("memory", "search", "kiosks", "--json").json()}
    assert (set(found), found[memory]["importance"]) == ({memory, block}, 0.6)
    versions = cli("memory", "versions", memory)
    assert "kept again: seen in June" in versions.out
    restored = cli("memory", "restore", memory, "1")
    assert restored.out == f"{memory} is as in version 1 again, now version 3\n"
    assert cli("memory", "forget", memory, "it was sold").code == 0
    listed = cli("memory", "search")
    assert ("places: The kiosk." in listed.out, "The kiosk is blue." in listed.out) == (True, False)
    for options, told in (
        ((), "`places` is shown to qa, who may only read it\n"),
        (("--write",), "`places` is shown to qa, who may write in it\n"),
        (("--off",), "`places` is no longer shown to qa\n"),
    ):
        assert cli("memory", "share", block, "qa", *options).out == told
    assert "has no version -1" in cli("memory", "restore", memory, "-1").err
    wrong = cli("memory", "show", "mem_nothing")
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
    assert "no memory or block `mem_nothing`: `interlock memory search` lists what there is" in wrong.err
