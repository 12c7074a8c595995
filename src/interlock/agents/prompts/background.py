"""What an agent's prompt shows of its memories, tasks and channel messages, read concurrently with the rest of its run.

INVARIANT: nothing here is a round trip of its own, and a run that is shown none of it asks for none. How it reads in a
prompt is prompt_knowledge's job; what is kept, that of `memory`.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from interlock.agents.prompts.prompt import mode_of
from interlock.agents.prompts.prompt_input import BlockNote, MemoryNote, SaidNote, TaskNote
from interlock.agents.prompts.quoting import one_line
from interlock.memory import blocks, recall
from interlock.policy.audience import is_overheard
from interlock.policy.learning.lesson_rules import UNTRUSTED
from interlock.store.mailboxes.posting import CHILD_END
from interlock.store.messages import rooms
from interlock.store.tx import Ask, Tx
from interlock.store.work import open_tasks

T = TypeVar("T")
KINDS = frozenset({"task", "chat", "subagent", CHILD_END})
"""Of runs that are shown any of it."""
REHEARSAL = "rehearsal/"
"""What the names of models begin with whose words are kept apart from what is real."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much background to load, as of when; `model` is used for agents that name none."""

    now: datetime
    memories: int = recall.RECALLED
    messages: int = 20
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Background:
    """The background of a run. `failures` names sources that could not be read: then only essential layers are sent."""

    blocks: tuple[BlockNote, ...] = ()
    memories: tuple[MemoryNote, ...] = ()
    tasks: tuple[TaskNote, ...] = ()
    said: tuple[SaidNote, ...] = ()
    labels: frozenset[str] = frozenset()
    """Taint of what was found."""
    failures: tuple[str, ...] = ()


NOTHING = Background()
Rows = list[Any]


class Gathering:
    """Loads the background of a run in two steps: the selects to send with others, then their result."""

    def __init__(self, run: Any, wanted: Wanted | None) -> None:
        self._run, self._wanted = run, wanted
        self._person: str | None = None
        self._is_asked = False

    def asks(self, agent: Any, task: Any | None, mission: Any | None) -> tuple[Ask, ...]:
        """The selects; none if no background is shown: the run has begun, or its prompt mode is not `full`."""
        run, wanted = self._run, self._wanted
        if wanted is None or run.kind not in KINDS or run.policy_hash is not None:
            return ()
        if mode_of(agent.persona_json.get("prompt_mode"), agent.descriptor.get("kind", "")) != "full":
            return ()
        self._is_asked, self._person = True, _person(run, agent)
        rehearsal = _is_rehearsal(run, agent, mission, wanted)
        alone_with = self._person if run.channel_id is None and not _is_overheard(agent.descriptor) else None
        return (
            blocks.select_held(run.project_id, agent.persona),
            recall.candidates(run.project_id, agent.persona, _query_text(run, task), alone_with, rehearsal=rehearsal),
            open_tasks.select_open(run.project_id, agent.persona),
            *_channel_messages(run, wanted),
        )

    def found(self, answers: Sequence[Rows], in_sight: Container[str | None] = ()) -> Background:
        """The background; `answers` has the rows of each select of `asks`. Rows that make no sense are failures.

        What was talked about in the runs that are `in_sight`, as the conversation itself shows them, is not told again.
        """
        run, wanted = self._run, self._wanted
        if not self._is_asked or wanted is None:
            return NOTHING
        failures: list[str] = []
        held, known, tasks, heard = answers[0], answers[1], answers[2], answers[3:]
        core = _tried(failures, "blocks", lambda: blocks.blocks_of(held))
        best = _tried(failures, "memories", lambda: self._best(known, wanted, in_sight))
        said = _tried(failures, "messages", lambda: _in_order(run, heard, wanted.messages))
        return Background(
            blocks=tuple(BlockNote(each.label, each.content, UNTRUSTED in each.labels) for each in core),
            memories=tuple(_memory(each) for each in best),
            tasks=tuple(_task(row, run.task_id) for row in tasks),
            said=tuple(_note_of(row) for row in said),
            labels=frozenset[str]().union(*(each.labels for each in (*core, *best, *said))),
            failures=tuple(failures),
        )

    def _best(self, known: Rows, wanted: Wanted, in_sight: Container[str | None]) -> list[recall.Recalled]:
        return recall.best(known, wanted.now, wanted.memories, self._person, in_sight=in_sight)


def gather(tx: Tx, run: Any, agent: Any, task: Any | None, mission: Any | None, wanted: Wanted) -> Background:
    """The background of a run, loaded in a round trip of its own."""
    gathering = Gathering(run, wanted)
    return gathering.found(tx.gather(gathering.asks(agent, task, mission)))


def _tried(failures: list[str], name: str, work: Callable[[], list[T]]) -> list[T]:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - a lesser prompt is better than no run: row F4
        failures.append(failure(name, error))
        return []


def failure(name: str, error: BaseException) -> str:
    """A message about a source that could not be read."""
    return one_line(f"{name}: {type(error).__name__}: {error}", limit=300)


def _query_text(run: Any, task: Any | None) -> str:
    """The words that memories are looked for by."""
    if run.kind == "task" and task is not None:
        return f"{task.title}\n{task.description}"
    return str(run.payload.get("text") or run.payload.get("result") or "")


def _person(run: Any, agent: Any) -> str | None:
    """Who speaks, where that is one person."""
    if run.channel_id is not None:
        return str(run.cause_id) if run.payload.get("by") == "person" and run.cause_id else None
    if agent.descriptor.get("kind") != "user":
        return None
    user = agent.descriptor.get("user")
    return str(user) if user else None


def _is_overheard(descriptor: Mapping[str, Any]) -> bool:
    return is_overheard(str(descriptor.get("connector", "")), str(descriptor.get("channel", "")))


def _is_rehearsal(run: Any, agent: Any, mission: Any | None, wanted: Wanted) -> bool:
    named = run.model or (mission.model if mission is not None else None) or agent.persona_json.get("model")
    return bool(run.simulated) or str(named or wanted.model or "").startswith(REHEARSAL)


def _channel_messages(run: Any, wanted: Wanted) -> tuple[Ask, ...]:
    """One more than is shown, as the message that woke the run is shown by itself."""
    if run.channel_id is None:
        return ()
    return rooms.context_asks(run.channel_id, run.payload.get("thread"), wanted.messages + 1)


def _in_order(run: Any, answers: Sequence[Rows], most: int) -> Rows:
    """The rows of a room, oldest first and each once; without the last where that is what woke the run."""
    rows = {row.id: row for answer in reversed(answers) for row in reversed(answer)}
    said = list(rows.values())
    if said and said[-1].id == run.trigger_message_id:
        said.pop()
    if len(said) <= most:
        return said
    root = [said[0]] if len(answers) > 1 else []
    return [*root, *said[-most + len(root) :]]


def _memory(each: recall.Recalled) -> MemoryNote:
    return MemoryNote(each.id, each.type, each.text, each.importance, each.created_at, UNTRUSTED in each.labels)


def _task(row: Any, own: str | None) -> TaskNote:
    blocked = f"{row.block_kind}: {row.block_reason or ''}" if row.block_kind else ""
    return TaskNote(row.id, row.title, row.status, row.priority, blocked, row.id == own)


def _note_of(row: Any) -> SaidNote:
    return SaidNote(row.author_kind, row.name, row.text, row.created_at, UNTRUSTED in row.labels)
