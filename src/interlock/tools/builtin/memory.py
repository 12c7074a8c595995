"""store_memory, recall_memories, search_memories, memory_search, memory_get, update_memory. Rows G2, G3, H2 to H4, H7.

An agent can only access the memories of its own persona in its own project.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from interlock.core.errors import InterlockError, Refused
from interlock.memory import archive, blocks, recall
from interlock.memory.archive import KINDS, Kept, Note
from interlock.memory.blocks import Block, Edit, Editor
from interlock.memory.recall import Recalled
from interlock.store.errors import StoreError
from interlock.store.identities import speakers
from interlock.store.knowledge import memories
from interlock.store.tx import Tx
from interlock.tools.builtin.schemas import arguments, choice, text, whole
from interlock.tools.contract import PRIVATE, UNTRUSTED, Outcome, Tool, ToolContext, write
from interlock.tools.errors import ToolError
from interlock.tools.untrusted import untrusted

USUAL_IMPORTANCE = 0.5
MOST_FOUND = 20
_WORDS = ("content", "append", "new", "label", "reason")
"""Arguments whose text is stored."""


async def _store(
    ctx: ToolContext, /, *, content: str, type: str = "fact", importance: float = USUAL_IMPORTANCE
) -> Outcome:
    note = Note(
        project_id=ctx.project_id, persona=ctx.persona, type=type, text=content, importance=importance,
        labels=ctx.taint, run_id=ctx.run_id, call_id=ctx.call_id, rehearsal=ctx.simulated,
    )  # fmt: skip
    if not content.strip():
        raise ToolError("there is nothing to remember: `content` is blank")
    kept: Kept = await _written(ctx, _keep, ctx, note)
    message = f"remembered as {kept.id}" if kept.is_new else f"known already as {kept.id}: it counts for more now"
    return Outcome(message)


def _keep(tx: Tx, ctx: ToolContext, note: Note) -> Kept:
    who = speakers.speaker(tx, ctx.run_id)
    if who is not None:
        note = archive.attributed(note, who.person_id, theirs_alone=bool(who.is_guest))
    return archive.keep(tx, note, ctx.actor, f"kept in run {ctx.run_id}", ctx.now)


async def _recall(ctx: ToolContext, /, *, query: str = "", type: str | None = None) -> Outcome:
    return await _found(ctx, query, type, ctx.settings.memory.recall)


async def _search(
    ctx: ToolContext, /, *, query: str, type: str | None = None, limit: float = recall.RECALLED
) -> Outcome:  # fmt: skip
    return await _found(ctx, query, type, int(limit))


async def _found(ctx: ToolContext, query: str, kind: str | None, most: int) -> Outcome:
    found: list[Recalled] = await ctx.store.read(_look, ctx, query, (kind,) if kind else (), most)
    if not found:
        return Outcome(
            "nothing is remembered that fits: try other or fewer words" if query else "nothing is remembered"
        )
    uses = write(recall.used, [each.id for each in found], ctx.now)
    return Outcome(_as_text(found), writes=(uses,), labels=frozenset().union(*(each.labels for each in found)))


def _look(tx: Tx, ctx: ToolContext, query: str, kinds: Sequence[str], most: int) -> list[Recalled]:
    return recall.search(
        tx, ctx.project_id, ctx.persona, query, ctx.now, speakers.alone_with(tx, ctx.run_id), most, kinds=kinds,
        rehearsal=ctx.simulated,
    )  # fmt: skip


async def _get(ctx: ToolContext, /, *, id: str) -> Outcome:
    found = await ctx.store.read(_one, ctx, id.strip())
    if isinstance(found, Recalled):
        uses = write(recall.used, [found.id], ctx.now)
        return Outcome(_as_text([found]), writes=(uses,), labels=found.labels)
    if isinstance(found, Block):
        return Outcome(_quoted([_block(found)], is_untrusted=UNTRUSTED in found.labels), labels=found.labels)
    raise ToolError(f"no memory `{id}` of yours: memory_search finds their ids")


def _one(tx: Tx, ctx: ToolContext, ident: str) -> Recalled | Block | None:
    for block in blocks.held(tx, ctx.project_id, ctx.persona):
        if ident in (block.id, block.label):
            return block
    row = memories.memory(tx, ident)
    if row is None or row.project_id != ctx.project_id or row.archived_at is not None:
        return None
    scopes = memories.scopes_of(ctx.persona, speakers.alone_with(tx, ctx.run_id), rehearsal=ctx.simulated)
    return recall.as_recalled(row, ctx.now) if row.scope in scopes else None


async def _update(
    ctx: ToolContext,
    /,
    *,
    label: str,
    reason: str,
    content: str | None = None,
    append: str | None = None,
    old: str | None = None,
    new: str | None = None,
    version: float | None = None,
) -> Outcome:
    if sum(part is not None for part in (content, append, old)) != 1 or (old is None) != (new is None):
        raise ToolError("say one change: `content`, `append`, or `old` together with `new`")
    if ctx.simulated:
        return Outcome(f"[rehearsal: simulated] the block `{label}` would have been changed")
    change = Edit(content=content, append=append, old=old, new=new, seen=None if version is None else int(version))
    block: Block = await _written(ctx, _edit, ctx, label, change, reason)
    return Outcome(f"the block `{label}` is now version {block.version}, {len(block.content):,} characters long")


def _edit(tx: Tx, ctx: ToolContext, label: str, change: Edit, reason: str) -> Block:
    run = speakers.speaker(tx, ctx.run_id)
    if run is not None and run.is_guest:
        raise Refused("blocks are shown to everybody, and this person is a guest: `store_memory` keeps it for them")
    who = Editor(
        project_id=ctx.project_id, persona=ctx.persona, author=ctx.actor, labels=ctx.taint, run_id=ctx.run_id,
        call_id=ctx.call_id,
    )  # fmt: skip
    since = run.started_at if run is not None else None
    return blocks.edit(tx, who, label, blocks.as_seen(change, since), reason, ctx.now)


async def _written(ctx: ToolContext, unit: Any, *args: Any) -> Any:
    """The result of a unit in a transaction of its own; a repeated call is recognised.

    Raises ToolError on failure.
    """
    try:
        return await ctx.write(unit, *args)
    except StoreError:
        raise
    except InterlockError as error:
        raise ToolError(str(error)) from error


def _objection(args: Mapping[str, Any]) -> str | None:
    """The agent is told to leave out a secret; no person is asked whether it may be stored. Source: row G8."""
    for name in _WORDS:
        if isinstance(value := args.get(name), str) and (kind := archive.secret_in(value)) is not None:
            return str(archive.Secret(kind))
    return None


def _as_text(found: Sequence[Recalled]) -> str:
    """Recalled memories as JSON; untrusted ones separately, and marked as such."""
    ours = [_memory(each) for each in found if UNTRUSTED not in each.labels]
    theirs = [_memory(each) for each in found if UNTRUSTED in each.labels]
    parts = [_quoted(each, is_untrusted=is_theirs) for each, is_theirs in ((ours, False), (theirs, True)) if each]
    return "\n".join(parts)


def _quoted(found: Sequence[Mapping[str, Any]], *, is_untrusted: bool) -> str:
    value = {"memories": list(found)}
    return untrusted("memory", value) if is_untrusted else json.dumps(value, ensure_ascii=False, indent=1)


def _memory(found: Recalled) -> dict[str, Any]:
    return {
        "id": found.id, "type": found.type, "text": found.text, "importance": found.importance,
        "score": found.score, "kept_at": _day(found.created_at),
    }  # fmt: skip


def _block(block: Block) -> dict[str, Any]:
    return {
        "id": block.id, "label": block.label, "content": block.content, "version": block.version,
        "can_write": block.can_write,
    }  # fmt: skip


def _day(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


_TYPE = (
    "fact: something that is so; decision: what was decided, and why; observation: what you noticed about people or "
)
_TYPE += "work; learning: what you would do again or not; conversation: what was talked about."
_FOUND = (
    "Words that it should have, not a sentence; plurals and accents do not matter. Rare words count for more than "
    "common ones."
)
STORE_MEMORY = Tool(
    name="store_memory",
    description=(
        "Remembers something beyond this run: a fact, a decision with its reason, what you noticed or learned. You are "
        "shown what fits when you work again. Write each by itself, complete for somebody who has not seen this run, "
        "with names and dates. No secrets, and nothing that the workspace or a task holds already."
    ),
    input_schema=arguments(
        "content",
        content=text("What to remember, in a sentence or two.", longest=archive.LONGEST),
        type=choice(f"What it is; fact where it is left out. {_TYPE}", *KINDS),
        importance={
            "type": "number", "description": "How much it matters, 0 to 1; a fact of 0.9 or more is kept for good.",
            "minimum": 0, "maximum": 1, "default": USUAL_IMPORTANCE,
        },
    ),
    fn=_store,
    objects=_objection,
    risk="GREEN",
    idempotent=True,
    outside=False,
)  # fmt: skip
RECALL_MEMORIES = Tool(
    name="recall_memories",
    description=(
        "Recalls the few memories that matter most to a question, or at all where none is asked. What you are shown "
        "at the start of a run was recalled already."
    ),
    input_schema=arguments(
        query=text(_FOUND, longest=1_000, shortest=0), type=choice(f"Only of this type. {_TYPE}", *KINDS)
    ),
    fn=_recall,
    risk="GREEN",
    idempotent=True,
    outside=False,
    labels=frozenset({PRIVATE}),
)
_SEARCHED = arguments(
    "query",
    query=text(_FOUND, longest=1_000),
    type=choice(f"Only of this type. {_TYPE}", *KINDS),
    limit=whole("How many at most.", least=1, most=MOST_FOUND, default=recall.RECALLED),
)
_SEARCHES = "Searches your memories, best first: by words, importance and age."
MEMORY_SEARCH, SEARCH_MEMORIES = (
    Tool(
        name=name,
        description=description,
        input_schema=_SEARCHED,
        fn=_search,
        risk="GREEN",
        idempotent=True,
        outside=False,
        labels=frozenset({PRIVATE}),
    )
    for name, description in (
        ("memory_search", _SEARCHES),
        ("search_memories", f"{_SEARCHES} The same as memory_search."),
    )
)
MEMORY_GET = Tool(
    name="memory_get",
    description="Reads one memory by its id, or a block of your core memory with its version.",
    input_schema=arguments("id", id=text("Such as memory_search names it, or the label of a block.", longest=100)),
    fn=_get,
    risk="GREEN",
    idempotent=True,
    outside=False,
    labels=frozenset({PRIVATE}),
)
UPDATE_MEMORY = Tool(
    name="update_memory",
    description=(
        "Changes a block of your core memory, which you are shown in every run, or begins a new one: who you work for, "
        "how they want things done, what goes on. Say one change: `append` adds a line, `old` with `new` replaces a "
        "text that is in it once, `content` writes all of it anew. If others changed it in the meantime you are told "
        f"what it says now. {blocks.MOST_BLOCKS} blocks of {blocks.MOST_CHARS:,} characters fit. No secrets."
    ),
    input_schema=arguments(
        "label",
        "reason",
        label=text("Its name, a few words.", longest=blocks.LONGEST_LABEL),
        reason=text("Why it changes, in a sentence.", longest=500),
        content=text("All of it anew.", longest=blocks.MOST_CHARS, shortest=0),
        append=text("A line to add at its end.", longest=blocks.MOST_CHARS),
        old=text("What is replaced, exactly as it stands there.", longest=blocks.MOST_CHARS),
        new=text("What takes its place; nothing, to take it out.", longest=blocks.MOST_CHARS, shortest=0),
        version={
            "type": "integer", "minimum": 1,
            "description": "The version that you have read, where you were told that it was changed.",
        },
    ),
    fn=_update,
    objects=_objection,
    risk="GREEN",
    idempotent=True,
    outside=False,
)  # fmt: skip
TOOLS = (STORE_MEMORY, RECALL_MEMORIES, SEARCH_MEMORIES, MEMORY_SEARCH, MEMORY_GET, UPDATE_MEMORY)
