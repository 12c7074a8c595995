"""Files that come with a message."""

import os
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.core.errors import UsageError
from interlock.desk.reading.details import trace
from interlock.store import blobs
from interlock.store.runs import traces


async def test_an_attachment_is_stored_once_and_named_in_the_message(box: Interlock, tmp_path: Path) -> None:
    report, copy = tmp_path / "report.txt", tmp_path / "../copy of: report.txt"
    report.write_text("42 orders")
    copy.resolve().write_text("42 orders")
    first = await box.chat("research", "Look at this", files=[report])
    second = await box.chat("research", "And at this", files=[report, copy.resolve()])
    files = {row.path: row for row in await box.runtime.store.read(blobs.manifest, "default")}
    assert set(files) == {"attachments/report.txt", "attachments/copy of_ report.txt"}
    assert {row.version for row in files.values()} == {1}
    assert len({row.blob for row in files.values()}) == 1
    said = [await box.runtime.store.read(traces.run, reply.run_id) for reply in (first, second)]
    assert [len(run.payload["attachments"]) for run in said if run is not None] == [1, 2]
    told = [m for m in (await trace(box.runtime, first.run_id))["messages"] if m["message_type"] == "user_message"]
    assert "attachments/report.txt" in told[0]["content"]
    assert "42 orders" not in told[0]["content"]


async def test_a_file_that_cannot_be_attached_is_named(box: Interlock, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot attach .*gone\.txt.: no such file"):
        await box.chat("research", "Look", files=[tmp_path / "gone.txt"])
    os.mkfifo(pipe := tmp_path / "pipe")
    for endless in (pipe, Path("/dev/zero")):
        with pytest.raises(UsageError, match="is not a file"):
            await box.chat("research", "Look", files=[endless])
    with pytest.raises(UsageError, match="11 files"):
        await box.chat("research", "Look", files=[tmp_path] * 11)
