"""file_read, file_list and file_write as a model uses them."""

import json
from pathlib import Path
from typing import Any

import pytest

from interlock.store import blobs
from interlock.store.engine import Store
from interlock.tools.contract import ToolContext
from interlock.tools.errors import ToolError
from interlock.tools.workspace import Workspaces
from tests.tool_calls import PROJECT, call, context, keep


@pytest.fixture
def ctx(tmp_path: Path, store: Store, workspaces: Workspaces) -> ToolContext:
    return context(tmp_path, store=store, workspace=workspaces.of(PROJECT, "run_1"))


async def test_written_file_is_read_listed_and_kept(ctx: ToolContext, store: Store) -> None:
    written = await call("file_write", ctx, path="notes/plan.md", content="# Plan\n")
    assert written.content == "wrote `notes/plan.md`, now 7 bytes"
    assert await store.read(blobs.manifest, PROJECT) == []
    await keep(store, written.writes)
    (row,) = await store.read(blobs.manifest, PROJECT)
    assert (row.path, row.version, await store.read(blobs.get, row.blob)) == ("notes/plan.md", 1, b"# Plan\n")
    assert (await call("file_read", ctx, path="notes/plan.md")).content == "# Plan\n"
    listed = json.loads((await call("file_list", ctx)).content)
    assert listed == {"files": [{"path": "notes/plan.md", "bytes": 7}]}


async def test_append_adds_and_overwrite_replaces(ctx: ToolContext, store: Store) -> None:
    for content, append in (("a\n", True), ("b\n", True)):
        await keep(store, (await call("file_write", ctx, path="log", content=content, append=append)).writes)
    assert (await call("file_read", ctx, path="log")).content == "a\nb\n"
    await keep(store, (await call("file_write", ctx, path="log", content="c")).writes)
    assert (await call("file_read", ctx, path="log")).content == "c"
    newest: Any = await store.read(blobs.latest, PROJECT, "log")
    assert newest.version == 3


async def test_line_ends_and_every_character_are_kept(ctx: ToolContext) -> None:
    text = "a\r\nb\rc\n\ufeff\U0001f600 \x1b"
    await call("file_write", ctx, path="odd", content=text)
    assert (await call("file_read", ctx, path="odd")).content == text


async def test_long_file_comes_in_parts_that_say_how_to_go_on(ctx: ToolContext) -> None:
    text = "".join(f"{n:05}" for n in range(3_000))
    await call("file_write", ctx, path="long", content=text)
    first = (await call("file_read", ctx, path="long", limit=10_000)).content
    assert first == text[:10_000] + "\n[cut: characters 0 to 10000 of 15000; read on with offset 10000]"
    assert (await call("file_read", ctx, path="long", limit=10_000, offset=10_000.0)).content == text[10_000:]
    with pytest.raises(ToolError, match="offset 15000 is past the end"):
        await call("file_read", ctx, path="long", offset=15_000)


async def test_empty_file_says_so(ctx: ToolContext) -> None:
    await call("file_write", ctx, path="empty", content="")
    assert (await call("file_read", ctx, path="empty")).content == "[`empty` is empty]"


async def test_binary_file_is_refused(ctx: ToolContext) -> None:
    for data in (b"\x89PNG\r\n\x1a\n\x00", b"\xff\xfea\x00", b"text\x00more"):
        await ctx.workspace.write("bin", data)
        with pytest.raises(ToolError, match="is not a text file"):
            await call("file_read", ctx, path="bin")


async def test_path_out_of_the_workspace_is_refused_by_every_tool(ctx: ToolContext) -> None:
    for path in ("/etc/passwd", "../x", "a/../../x", "a\\b", "./a"):
        for name, args in (("file_read", {}), ("file_write", {"content": "x"})):
            with pytest.raises(ToolError):
                await call(name, ctx, path=path, **args)
        with pytest.raises(ToolError):
            await call("file_list", ctx, folder=path)


async def test_link_in_the_workspace_leads_nowhere(ctx: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    await ctx.workspace.lay_down()
    (ctx.workspace.root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError, match="is a link"):
        await call("file_read", ctx, path="link")
    with pytest.raises(ToolError, match="is a link"):
        await call("file_write", ctx, path="link", content="changed")
    assert (tmp_path / "secret").read_text() == "secret"


async def test_reading_a_tainted_file_taints_the_run(tmp_path: Path, ctx: ToolContext, store: Store) -> None:
    tainted = context(tmp_path, store=store, workspace=ctx.workspace, labels=frozenset({"untrusted"}))
    await keep(store, (await call("file_write", tainted, path="a", content="x")).writes)
    assert (await call("file_read", ctx, path="a")).labels == {"untrusted"}


async def test_listing_of_many_files_is_cut_visibly(ctx: ToolContext) -> None:
    await ctx.workspace.lay_down()
    for number in range(510):
        (ctx.workspace.root / f"{number:03}").touch()
    listed = json.loads((await call("file_list", ctx)).content)
    assert (len(listed["files"]), listed["left_out"]) == (500, 10)
    with pytest.raises(ToolError, match="no files under `nowhere`"):
        await call("file_list", ctx, folder="nowhere")
