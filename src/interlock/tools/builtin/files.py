"""file_read, file_list and file_write: text files of the project's workspace. Row G4."""

from dataclasses import replace

from interlock.tools.builtin.schemas import arguments, text, whole
from interlock.tools.contract import PRIVATE, UNTRUSTED, Outcome, Tool, ToolContext
from interlock.tools.errors import ToolError
from interlock.tools.paths import LONGEST_PATH

MOST_READ = 50_000
USUAL_READ = 20_000
MOST_WRITTEN = 1_000_000
MOST_LISTED = 500
_PATH = (
    "Path inside the project's workspace with `/` between folders, such as `notes/plan.md`. No `..`, no leading `/`."
)


async def _read(ctx: ToolContext, /, *, path: str, offset: float = 0, limit: float = USUAL_READ) -> Outcome:
    data = await ctx.workspace.read(path)
    try:
        content = data.decode()
    except UnicodeDecodeError:
        content = "\x00"
    if "\x00" in content:
        raise ToolError(f"`{path}` is not a text file ({len(data):,} bytes): only UTF-8 text can be read")
    start, end = int(offset), int(offset) + int(limit)
    if start and start >= len(content):
        raise ToolError(f"offset {start} is past the end of `{path}`: it has {len(content):,} characters")
    part = content[start:end] if content else f"[`{path}` is empty]"
    if end < len(content):
        part += f"\n[cut: characters {start} to {end} of {len(content)}; read on with offset {end}]"
    return Outcome(part, labels=ctx.workspace.labels(path) & {UNTRUSTED, PRIVATE})


async def _list(ctx: ToolContext, /, *, folder: str = "") -> Outcome:
    found = await ctx.workspace.files(folder)
    if folder and not found:
        raise ToolError(f"there are no files under `{folder}`: leave `folder` out to list all")
    files = [{"path": path, "bytes": size} for path, size in found[:MOST_LISTED]]
    left_out = len(found) - len(files)
    listed = {"files": files, **({"left_out": left_out, "hint": "name a `folder` to see the rest"} if left_out else {})}
    named = frozenset[str]().union(*(ctx.workspace.labels(path) for path, _ in found[:MOST_LISTED]))
    return replace(Outcome.of(listed), labels=named & {UNTRUSTED, PRIVATE})


async def _write(ctx: ToolContext, /, *, path: str, content: str, append: bool = False) -> Outcome:
    size = await ctx.workspace.write(path, content.encode(), append=append)
    done = f"{'added to' if append else 'wrote'} `{path}`, now {size:,} bytes"
    return Outcome(done, writes=await ctx.changed_files())


FILE_READ = Tool(
    name="file_read",
    description=(
        "Reads a text file of the project's workspace. Long files come in parts: the end of a part says with which "
        "`offset` to read on. Binary files are refused."
    ),
    input_schema=arguments(
        "path",
        path=text(_PATH, longest=LONGEST_PATH),
        offset=whole("First character to read, counted from 0.", least=0, most=100_000_000, default=0),
        limit=whole("How many characters to read.", least=1, most=MOST_READ, default=USUAL_READ),
    ),
    fn=_read,
    risk="GREEN",
    read_only=True,
    outside=False,
    labels=frozenset({PRIVATE}),
)
FILE_LIST = Tool(
    name="file_list",
    description=(
        "Lists the files of the project's workspace with their sizes in bytes, folders within folders included. "
        f"Shows at most {MOST_LISTED} files."
    ),
    input_schema=arguments(
        folder=text(
            "Only what is below this folder, such as `notes`. Leave it out for all files.", longest=LONGEST_PATH
        )
    ),
    fn=_list,
    risk="GREEN",
    read_only=True,
    outside=False,
    labels=frozenset({PRIVATE}),
)
FILE_WRITE = Tool(
    name="file_write",
    description=(
        "Writes a text file into the project's workspace: makes it, replaces it whole, or adds to its end. Missing "
        "folders are made. Earlier versions are kept."
    ),
    input_schema=arguments(
        "path",
        "content",
        path=text(_PATH, longest=LONGEST_PATH),
        content=text("The text to write, exactly as the file shall hold it.", longest=MOST_WRITTEN, shortest=0),
        append={
            "type": "boolean",
            "description": "true adds `content` to the end of the file; false replaces the whole file.",
            "default": False,
        },
    ),
    fn=_write,
    risk="YELLOW",
    idempotent=True,
    outside=False,
)
TOOLS = (FILE_READ, FILE_LIST, FILE_WRITE)
