"""Shows a mission's progress: as lines in a pipe, as a live board on a terminal; and asks the operator there."""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rich.live import Live
from rich.table import Table
from rich.text import Text

from interlock.cli import details, screen
from interlock.core.errors import InterlockError

if TYPE_CHECKING:
    from interlock.desk.context import DeskContext, Person
    from interlock.desk.reading.progress import Progress

MOST_WORDS = 160
"""Characters of a reason in a line of progress."""
ANSWERS = "[a]pprove  [d]eny  [s]kip"
ANSWERS_TO_A_CALL = "[a]pprove  [d]eny  [e]dit the arguments  [s]kip"


class Board(Protocol):
    """A display of a mission's progress."""

    def show(self, found: "Progress") -> None:
        """Shows what is new."""

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """Pauses the display for a question."""


class Answerer(Protocol):
    """Answers held calls while a mission is watched."""

    def open_questions(self, found: "Progress") -> list[str]:
        """The questions that were not put yet."""

    async def put(self, ident: str) -> None:
        """Puts one."""


class Lines:
    """One line for each activity."""

    def __init__(self) -> None:
        self._waits_for: str | None = None

    def show(self, found: "Progress") -> None:
        for activity in found.activities:
            if words := activity_text(activity):
                screen.line(f"{activity['created_at'].astimezone():%H:%M:%S}  {words}")
        if found.reason != self._waits_for and found.standing == "moving" and found.reason:
            screen.line(f"{'waits':<14}  {_short(found.reason)}: it is tried again")
        self._waits_for = found.reason
        sys.stdout.flush()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        yield


class Silent:
    """Shows nothing: the result is printed as JSON at the end."""

    def show(self, found: "Progress") -> None:
        pass

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        yield


class LiveBoard:
    """The activities, and below them the current tasks, redrawn in place."""

    def __init__(self) -> None:
        self._live = Live(console=screen.console(), refresh_per_second=4, transient=True)

    def __enter__(self) -> "LiveBoard":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, found: "Progress") -> None:
        self._live.update(_board(found))
        for activity in found.activities:
            if words := activity_text(activity):
                self._live.console.print(Text(f"{activity['created_at'].astimezone():%H:%M:%S}  {words}", style="dim"))

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()


def _board(found: "Progress") -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=14)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for task in found.tasks:
        title = Text(screen.plain(task["title"], one_line=True))
        if task["block_reason"]:
            title.append(f"  {screen.plain(task['block_reason'], one_line=True)}", style="red")
        grid.add_row(screen.state(task["status"]), Text(task["persona"] or "–", style="dim"), title)
    if not found.tasks:
        grid.add_row(screen.state(found.status), Text(""), Text("the coordinator is planning", style="dim"))
    return grid


def activity_text(activity: Mapping[str, Any]) -> str | None:
    """An activity as text; None for those that only the audit log needs."""
    data, action = activity["data"], activity["action"]
    if action == "TASK_TRANSITION":
        why = f"  ({_short(data.get('reason'))})" if data["to"] in ("BLOCKED", "NEEDS_APPROVAL", "CANCELED") else ""
        return f"{data['to']:<14}  {_short(data.get('title'))}{why}"
    if action == "APPROVAL_ASKED":
        what = data.get("tool") or str(data.get("kind", "")).replace("_", " ").lower()
        answer = f"interlock approve {activity['subject']}"
        return f"{'held':<14}  {data.get('risk')} {_short(what)} waits for a person: {answer}"
    if action == "APPROVAL_ANSWERED":
        note = f": {_short(data['note'])}" if data.get("note") else ""
        verdict = {"approve": "approved", "deny": "denied"}.get(str(data.get("verdict")), "answered")
        who = data.get("name") or ("the policy" if activity["actor_kind"] == "system" else activity["actor_id"])
        return f"{verdict:<14}  by {_short(who)}{note}"
    if action == "COORDINATOR_DECISION":
        what = data.get("decision") or data.get("kind") or activity["subject"] or "decision"
        return f"{'decided':<14}  {_short(what)}: {_short(data.get('reason'))}"
    if action in ("BUDGET_RAISED", "BUDGET_LOWERED"):
        verb = action.partition("_")[2].lower()
        return f"{'budget':<14}  {activity['subject']} was {verb} by {_short(data.get('name'))}"
    return None


def _short(text: object) -> str:
    words = screen.plain(text or "", one_line=True)
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"


def forget_typed() -> None:
    """Discards pending input of the terminal: nothing typed before a question was shown is an answer to it.

    Otherwise, the second line of a pasted text would be taken for the answer.
    """
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def typed(prompt: str) -> str | None:
    """A line that the operator types; None at the end of the input. Cancellable."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = bytearray()
    while not line.endswith(b"\n"):
        await _readable(sys.stdin.fileno())
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode("utf-8", "replace").strip() if line else None


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a plain file is always readable
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


@dataclass(slots=True)
class Asking:
    """Puts each of a mission's questions to the operator at this terminal once."""

    context: "DeskContext"
    person: "Person"
    skipped: set[str]
    ended: bool = False
    """Whether there is nobody left to answer."""

    def open_questions(self, found: "Progress") -> list[str]:
        """The questions that were not put yet."""
        return [] if self.ended else [ident for ident in found.approvals if ident not in self.skipped]

    async def put(self, ident: str) -> None:
        """Shows a card and carries out the operator's answer; if that fails, prints the error and asks again.

        INVARIANT: on a terminal only what is typed after the card is shown is an answer to it.
        """
        from interlock.desk.signoff import asking, signing
        from interlock.desk.signoff.signing import Changed

        screen.line()
        card = await signing.approval(self.context, ident)
        details.show_card(await asking.approval_card(self.context, ident, taps=False, at_length=True))
        forget_typed()
        answers = ANSWERS if card["tool"] is None else ANSWERS_TO_A_CALL
        while ident not in self.skipped:
            answer = await typed(f"{answers} > ")
            try:
                await self._act(ident, answer, card["mark"])
            except Changed as error:
                return screen.note(str(error))
            except InterlockError as error:
                screen.note(str(error))
                if (await signing.approval(self.context, ident))["status"] != "pending":
                    self.skipped.add(ident)
        return None

    async def _act(self, ident: str, answer: str | None, mark: str | None) -> None:
        """`mark` is of the card that was shown.

        Raises Changed if the question has to be shown as it is now.
        """
        from interlock.desk.signoff import signing, typed_arguments
        from interlock.desk.signoff.signing import Changed

        if answer is None:
            self.ended = True
            self.skipped.add(ident)
        elif answer in ("a", "approve"):
            await signing.approve(self.context, self.person, ident, mark=mark)
            self.skipped.add(ident)
        elif answer in ("d", "deny"):
            await signing.deny(self.context, self.person, ident, reason=await typed("reason > ") or "")
            self.skipped.add(ident)
        elif answer in ("e", "edit"):
            given = typed_arguments.parsed(await typed("arguments as JSON > ") or "")
            found = await signing.approve(self.context, self.person, ident, args=given)
            if found["asks_anew"]:
                raise Changed(ident)
            self.skipped.add(ident)
        elif answer in ("s", "skip"):
            self.skipped.add(ident)


async def watch(
    news: "AsyncGenerator[Progress, None]", board: Board, asking: Answerer | None, *, to_the_end: bool
) -> "Progress":
    """Shows a mission's progress until it has ended or nothing moves without a person who is not here.

    With `to_the_end`, also waits for the lessons that are learned from it.
    """
    from interlock.desk.reading.progress import Standing

    async for found in news:
        board.show(found)
        if asking is not None and (questions := asking.open_questions(found)):
            with board.aside():
                await asking.put(questions[0])
        elif found.standing is not Standing.MOVING and not (found.busy and to_the_end):
            return found
    raise InterlockError("stopped following the mission")
