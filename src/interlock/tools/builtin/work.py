"""submit_deliverable, post_progress and post_comment: an agent's actions on its own task. Rows A8, A9."""

import asyncio
from collections.abc import Mapping
from typing import Any

from interlock.core.ids import new_id
from interlock.core.values import canonical_json, digest
from interlock.policy import gate
from interlock.policy.gate import Fault, Submission
from interlock.policy.risk import highest
from interlock.store import blobs, squad
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import evidence, tasks
from interlock.store.work.evidence import GATE, Finding
from interlock.tools.builtin.schemas import arguments, choice, many, text
from interlock.tools.contract import PRIVATE, UNTRUSTED, Outcome, Tool, ToolContext, Write, write
from interlock.tools.errors import ToolError
from interlock.tools.paths import LONGEST_PATH

LONGEST_TEXT = 200_000
LARGEST_DATA = 1_000_000
LONGEST_POST = 4_000
AT_ONCE_BYTES = 100_000
"""A larger file is checked in a thread."""
_NOT_TAKEN = "this was not taken as a deliverable, mend it and hand it in again:"
VERDICTS = ("pass", "changes")
_ENDED = ("DONE", "CANCELED")


async def _submit(
    ctx: ToolContext,
    /,
    *,
    title: str,
    summary: str,
    content: str | None = None,
    data: Any = None,
    path: str | None = None,
    verdict: str | None = None,
    findings: list[str] | None = None,
) -> Outcome:
    task = await _own_task(ctx)
    _check_verdict(task, verdict, content or findings)
    if sum(part is not None for part in (content, data, path)) != 1:
        raise ToolError("a deliverable is exactly one of `content`, `data` and `path`")
    row: dict[str, Any] = {
        "id": new_id("dlv"), "task_id": task.id, "run_id": ctx.run_id, "title": title, "summary": summary,
        "verdict": verdict, "findings": findings or [], "simulated": ctx.simulated,
        **await _body(ctx, content, data, path),
    }  # fmt: skip
    of_file = ctx.workspace.labels(path) if path is not None else frozenset[str]()
    row["labels"] = sorted(ctx.labels | of_file)
    pinned = await ctx.workspace.read(path) if path is not None else None
    if pinned is not None and digest(pinned) != row["sha256"]:
        raise ToolError(f"`{path}` was changed while it was handed in: hand it in again")
    if found := await _faults(ctx, task, row, pinned):
        seen = frozenset[str]() if path is None else of_file | {PRIVATE}
        return _turned_back(ctx, row, found, seen & {UNTRUSTED, PRIVATE})
    writes = (*await ctx.changed_files(), write(hand_in, row, pinned, ctx))
    return Outcome(f"handed in `{title}` as {row['id']}, sha256 {row['sha256']}", writes=writes)


async def _body(ctx: ToolContext, content: str | None, data: Any, path: str | None) -> dict[str, Any]:
    """The columns that hold the deliverable, pinned by its digest."""
    if content is not None:
        return {"kind": "text", "text": content, "sha256": digest(content)}
    if path is not None:
        sha256 = digest(await ctx.workspace.read(path))
        return {"kind": "file", "path": path, "blob": sha256, "sha256": sha256}
    if len(canonical_json(data)) > LARGEST_DATA:
        raise ToolError(f"`data` is larger than {LARGEST_DATA:,} characters of JSON: write a file and give its `path`")
    return {"kind": "data", "data": data, "sha256": digest(data)}


def _objection(args: Mapping[str, Any]) -> str | None:
    """The agent is told to leave out a secret; no person is asked whether it may stay."""
    handed = Submission(sha256="", text=args.get("content"), data=args.get("data"))
    found = next(gate.secrets(handed), None)
    return None if found is None else f"{_NOT_TAKEN}\n- {found.name}: {found.detail}"


async def _faults(ctx: ToolContext, task: Any, row: dict[str, Any], file: bytes | None) -> list[Fault]:
    """The findings of the output gate. Source: row A15."""
    handed = Submission(
        sha256=row["sha256"], text=row.get("text"), data=row.get("data"), path=row.get("path"), content=file,
        spec=task.deliverable_spec, is_review=task.reviews_task_id is not None,
    )  # fmt: skip
    rejected: frozenset[str] = frozenset()
    if task.review_cycles and not handed.is_review:
        rejected = await ctx.store.read(evidence.rejected, task.id)
        if row["sha256"] in rejected and await ctx.store.read(evidence.wrote_files, ctx.project_id, ctx.run_id):
            rejected = frozenset()
    if file is not None and len(file) > AT_ONCE_BYTES:
        return await asyncio.to_thread(gate.faults, handed, rejected)
    return gate.faults(handed, rejected)


def _turned_back(ctx: ToolContext, row: dict[str, Any], found: list[Fault], seen: frozenset[str]) -> Outcome:
    """Nothing is submitted: the agent is told why, with the labels of what was checked; this is recorded."""
    lines = [f"- {fault.name}: {fault.detail}" for fault in found]
    why = [
        Finding(position=place, name=fault.name, passed=False, detail=fault.detail)
        for place, fault in enumerate(found)
    ]  # fmt: skip
    kept = write(
        evidence.record, row["task_id"], row["id"], row["sha256"], GATE, why, ctx.now, run_id=ctx.run_id
    )  # fmt: skip
    return Outcome("\n".join([_NOT_TAKEN, *lines]), is_error=True, writes=(kept,), labels=seen)


def _check_verdict(task: Any, verdict: str | None, reasons: object) -> None:
    if task.reviews_task_id is None:
        if verdict is not None:
            raise ToolError("this task is not a review: leave `verdict` out")
    elif verdict is None:
        raise ToolError("this task is a review: give the `verdict`, pass or changes")
    elif verdict == "changes" and not reasons:
        raise ToolError("the verdict `changes` needs `findings`: what must be changed, one each")


def hand_in(tx: Tx, row: dict[str, Any], file: bytes | None, ctx: ToolContext) -> None:
    """A unit: the deliverable becomes its task's current one, with a message in the thread.

    Its risk is the higher of the persona's profile and the calls executed for the task so far.
    Source: decisions, "Review".
    """
    if file is not None:
        blobs.put(tx, file, ctx.now)
    agent = squad.agent(tx, ctx.agent_id)
    profile = "RED" if agent is None else agent.persona_json.get("risk_profile", "RED")
    executed = traces.executed_risks(tx, row["task_id"])
    tasks.hand_in(tx, {**row, "risk": str(highest((profile, *executed)))}, ctx.now)
    said = f"handed in {row['id']} ({row['kind']}): {row['title']}, sha256 {row['sha256']}"
    tasks.add_message(tx, row["task_id"], "ARTIFACT", ctx.actor, said, ctx.now, run_id=ctx.run_id)


async def _progress(ctx: ToolContext, /, *, message: str) -> Outcome:
    return await _post(ctx, "PROGRESS", message)


async def _comment(ctx: ToolContext, /, *, message: str) -> Outcome:
    return await _post(ctx, "COMMENT", message)


async def _post(ctx: ToolContext, kind: str, message: str) -> Outcome:
    task = await _own_task(ctx)
    said: Write = write(tasks.add_message, task.id, kind, ctx.actor, message, ctx.now, run_id=ctx.run_id)
    return Outcome("posted in the task's thread", writes=(said,))


async def _own_task(ctx: ToolContext) -> Any:
    task = None if ctx.task_id is None else await ctx.store.read(tasks.task, ctx.task_id)
    if task is None:
        raise ToolError("this run works on no task: there is nothing to hand in or to post to")
    if task.status in _ENDED:
        raise ToolError(f"the task is {task.status}: nothing can be added to it any more")
    return task


SUBMIT_DELIVERABLE = Tool(
    name="submit_deliverable",
    description=(
        "Hands in the result of your task: exactly one of `content` (text, usually Markdown), `data` (JSON) and `path` "
        "(a file of the workspace). It is pinned by its hash; handing in again replaces it. A task without a "
        "deliverable cannot be finished."
    ),
    input_schema=arguments(
        "title",
        "summary",
        title=text("What it is, in a line.", longest=200),
        summary=text(
            "What it says, for somebody who decides whether to open it: two to five sentences.", longest=4_000
        ),
        content=text("The result itself as text. Leave out `data` and `path`.", longest=LONGEST_TEXT),
        data={
            "type": ["object", "array"],
            "description": "The result itself as JSON. Leave out `content` and `path`.",
        },
        path=text("A file of the workspace that is the result. Leave out `content` and `data`.", longest=LONGEST_PATH),
        verdict=choice(
            "Only of a review, and required there: `pass`, or `changes` to send the work back with your findings.",
            *VERDICTS,
        ),
        findings=many(
            "Of a review: each finding by itself, the most harmful first: where, what happens, what should happen.",
            text("One finding.", longest=4_000),
            least=0,
            most=100,
        ),
    ),
    fn=_submit,
    objects=_objection,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
POST_PROGRESS = Tool(
    name="post_progress",
    description=(
        "Adds a line on the progress of your task to its thread: what is done and what comes next. For the people and "
        "the coordinator who watch; nobody answers."
    ),
    input_schema=arguments("message", message=text("One to three sentences.", longest=LONGEST_POST)),
    fn=_progress,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
POST_COMMENT = Tool(
    name="post_comment",
    description=(
        "Adds a comment to the thread of your own task: an assumption you made, something the coordinator or the next "
        "agent must know. It is not the deliverable, and not a question to the operator."
    ),
    input_schema=arguments("message", message=text("The comment.", longest=LONGEST_POST)),
    fn=_comment,
    risk="GREEN",
    idempotent=True,
    outside=False,
)
TOOLS = (SUBMIT_DELIVERABLE, POST_PROGRESS, POST_COMMENT)
