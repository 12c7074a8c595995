"""`chat`: a conversation with a persona on the terminal, with streamed answers; one message, or many.

Messages are processed by the box; held calls are put to the operator as in `run`.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.cli import opening
from interlock.cli.options import Approval, Json, Model, Project, asks_here
from interlock.cli.running import STOPPED
from interlock.core.errors import InterlockError, UsageError

if TYPE_CHECKING:
    from interlock.app.box import Interlock
    from interlock.cli.watching import Asking
    from interlock.core.events import Event
    from interlock.desk.agents.conversation import Reply
    from interlock.desk.chats.attachments import Attachment

EXITS = {"end_turn": 0, "waiting": 3, "budget": STOPPED, "cancelled": STOPPED}
"""By why a run stopped; any other reason is a failure."""
HELP = "/reset begins anew, /help shows this, /exit or Ctrl-D ends; Ctrl-C stops an answer"
QUIET_S = 15.0
"""After so long without a word it is said why."""
MOST_BYTES = 400_000
"""Of a message that comes through a pipe; more than a message may have characters."""


def chat(
    persona: Annotated[str, typer.Argument(metavar="PERSONA", help="Who to talk with; see `interlock persona list`.")],
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="[MESSAGE]", help="One message; by default a conversation, or standard input if it is a pipe."
        ),
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("--file", metavar="FILE", help="A file to attach; may be repeated.")
    ] = None,
    model: Model = None,
    project: Project = None,
    approve: Approval = None,
    as_json: Json = False,
) -> None:
    """Talk with a persona; exits with 0 when it has answered, 3 if it waits for a person, 4 if it was stopped."""
    if message is None and not sys.stdin.isatty():
        message = _piped()
    if message is None and as_json:
        raise UsageError("`--json` answers one message: write it after the persona")
    opening.load_everything()
    talk = _Conversation(
        persona, list(file or ()), model, project, asks_here(approve, as_json=as_json), as_json
    )  # fmt: skip
    raise typer.Exit(opening.run(talk.run(message)))


def _piped() -> str:
    given = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(given) > MOST_BYTES:
        raise UsageError(f"the message has more than {MOST_BYTES:,} bytes: attach it with `--file`")
    return given.decode("utf-8", "replace")


class _Conversation:
    """One `interlock chat` from its first message to its exit code."""

    def __init__(
        self, persona: str, files: list[Path], model: str | None, project: str | None, asks: bool, as_json: bool
    ) -> None:
        self.persona, self.files, self.model, self.project = persona, files, model, project
        self.asks, self.as_json = asks, as_json

    async def run(self, message: str | None) -> int:
        from interlock.app.box import Interlock
        from interlock.cli.running import report_faults
        from interlock.cli.watching import Asking

        with opening.stopping() as asked:
            await opening.tell_new_project(self.project)
            async with Interlock.open(surface="cli", project=self.project) as box:
                report_faults(box)
                asking = Asking(box.runtime, box.person, set()) if self.asks else None
                talk = _Talk(self, box, asked, asking)
                if message is not None:
                    return await talk.once(message)
                return await talk.on_and_on()


class _Talk:
    """A conversation over an open box."""

    def __init__(self, wanted: _Conversation, box: "Interlock", asked: asyncio.Event, asking: "Asking | None") -> None:
        self.wanted, self.box, self.asked, self.asking = wanted, box, asked, asking
        self._is_shown = False
        """Whether the last reply's words were heard while they were said."""

    async def on_and_on(self) -> int:
        """Sends what the operator types, message by message, until the operator ends the conversation."""
        from interlock.cli import screen

        screen.note(f"talking with {self.wanted.persona}: {HELP}")
        while (text := await self._typed()) is not None:
            if text in ("/exit", "/quit"):
                break
            if text.startswith("/"):
                await self._command(text)
            elif text:
                try:
                    await self.once(text)
                except InterlockError as error:
                    screen.note(str(error))
                self.asked.clear()
        return 0

    async def _typed(self) -> str | None:
        """A message that the operator types; None at the end of the input, or if they stop."""
        from interlock.cli.watching import typed

        writing, stop = asyncio.create_task(typed("> ")), asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({writing, stop}, return_when=asyncio.FIRST_COMPLETED)
            return writing.result() if writing.done() else None
        finally:
            for each in (writing, stop):
                each.cancel()
            await asyncio.gather(writing, stop, return_exceptions=True)
            if not writing.cancelled() and writing.exception() is None and writing.result() is None:
                print()

    async def _command(self, text: str) -> None:
        from interlock.cli import screen
        from interlock.desk.agents import sessions

        if text != "/reset":
            screen.note(HELP)
            return
        try:
            await sessions.reset(self.box.runtime, self.box.person, self.wanted.persona, project=self.wanted.project)
        except InterlockError as error:
            screen.note(str(error))
        else:
            screen.note(f"{self.wanted.persona} begins anew: it does not see earlier messages any more")

    async def once(self, text: str) -> int:
        """Sends one message and shows the answer; returns the exit code."""
        from interlock.cli import screen
        from interlock.desk.chats import attachments

        files = await asyncio.to_thread(attachments.read, self.wanted.files)
        self.wanted.files = []
        reply = await self._reply(text, files)
        while reply.stop_reason == "waiting" and (ident := await self._question(reply.run_id)) is not None:
            assert self.asking is not None
            await self.asking.put(ident)
            reply = await self._reply_of(reply.run_id)
        if self.wanted.as_json:
            screen.data(asdict(reply))
        else:
            self._show(reply)
        return EXITS.get(reply.stop_reason, 1)

    def _show(self, reply: "Reply") -> None:
        from interlock.cli import screen

        if reply.stop_reason == "waiting":
            held = [str(call["approval_id"]) for call in reply.tool_calls if call["status"] == "held"]
            what = f": `interlock approve {held[0]}`" if held else ": `interlock approvals`"
            screen.note(f"{self.wanted.persona} waits for a person{what}, and continues once somebody has answered")
        elif reply.stop_reason != "end_turn":
            why = f"`interlock trace {reply.run_id}` shows why" if self._is_shown else reply.response
            screen.note(f"{self.wanted.persona} did not finish ({reply.stop_reason}): {why}")
        elif not reply.response.strip():
            screen.note(f"{self.wanted.persona} has nothing to say: `interlock trace {reply.run_id}` shows what it did")

    async def _question(self, run_id: str) -> str | None:
        """A question of this run that has not been shown yet; None if the operator is not asked here."""
        from interlock.desk.signoff import signing

        if self.asking is None or self.asking.ended or self.asked.is_set():
            return None
        found = await signing.of_run(self.box.runtime, run_id)
        return next((ident for ident in found if ident not in self.asking.skipped), None)

    async def _reply(self, text: str, files: "Sequence[Attachment]") -> "Reply":
        from interlock.desk.agents import conversation
        from interlock.desk.events import answering

        box = self.box

        async def post(run_id: str) -> str:
            posted = await conversation.say(
                box.runtime, box.person, self.wanted.persona, text, project=self.wanted.project,
                model=self.wanted.model, files=files, run_id=run_id,
            )  # fmt: skip
            if not await box.start() and not self.wanted.as_json:
                _waits_elsewhere()
            return posted

        async with contextlib.aclosing(answering.stream_reply(box.runtime, box.answers, post)) as news:
            return await self._shown(news)

    async def _why(self, run_id: str) -> str:
        """Explains why a run gives no sign of life."""
        from interlock.desk.operations import queues

        try:
            found = await queues.of_run(self.box.runtime, run_id)
        except InterlockError as error:
            return str(error)
        if found is None or (found["status"] == "running" and not found["error"]):
            return f"{self.wanted.persona} is still at work; Ctrl-C stops it"
        if found["status"] == "running":
            return f"{self.wanted.persona} tries again; the last error: {found['error']}"
        why = "it comes next" if found["because"] == "next" else found["because"]
        return f"{self.wanted.persona} has not answered yet: {why}; Ctrl-C stops it"

    async def _reply_of(self, run_id: str) -> "Reply":
        """The reply of a run that continues after an answer."""
        from interlock.desk.events import answering

        async def there(_: str) -> str:
            return run_id

        async with contextlib.aclosing(answering.stream_reply(self.box.runtime, self.box.answers, there)) as news:
            return await self._shown(news)

    async def _shown(self, news: "AsyncGenerator[str | Event | Reply, None]") -> "Reply":
        """Shows events as they happen; returns the reply. Ctrl-C cancels the run and waits for its end."""
        from interlock.desk.agents.conversation import Reply
        from interlock.desk.work import controls

        page, run_id, stopping = _Page(quiet=self.wanted.as_json), "", asyncio.create_task(self.asked.wait())
        upcoming = asyncio.ensure_future(anext(news))
        try:
            while True:
                came, _ = await asyncio.wait({upcoming, *({stopping} if not stopping.done() else ())},
                                             return_when=asyncio.FIRST_COMPLETED, timeout=QUIET_S)  # fmt: skip
                if not came and run_id:
                    page.note(await self._why(run_id))
                if stopping.done() and not page.is_stopped and run_id:
                    page.is_stopped = True
                    await controls.cancel(self.box.runtime, self.box.person, run_id)
                if not upcoming.done():
                    continue
                item = upcoming.result()
                if isinstance(item, Reply):
                    self._is_shown = page.has_said(item.response)
                    page.end(item)
                    return item
                if isinstance(item, str):
                    run_id = item
                else:
                    page.show(item)
                upcoming = asyncio.ensure_future(anext(news))
        finally:
            for each in (upcoming, stopping):
                each.cancel()
            await asyncio.gather(upcoming, stopping, return_exceptions=True)


def _waits_elsewhere() -> None:
    from interlock.cli import screen

    screen.note("another process executes this home: the answer comes from there, in one piece")


class _Page:
    """A streamed answer on the screen: its text as it arrives, and a line for each tool that runs."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.is_stopped = quiet, False
        self._noted = ""
        self._said = ""
        """Since the last tool; without what the terminal would take for orders."""

    def show(self, event: "Event") -> None:
        """Adds an event."""
        from interlock.cli import screen

        if self.quiet:
            return
        if event.name == "assistant":
            words = screen.plain(event.payload["delta"])
            self._said += words
            sys.stdout.write(words)
            sys.stdout.flush()
        elif event.name == "lifecycle" and event.payload["phase"] == "start" and self._said:
            self._break()
            screen.note("… the answer broke off and starts again")
        elif event.name == "tool" and "args" in event.payload:
            self._break()
            screen.note(f"… {event.payload['name']}")
        elif event.name == "compaction":
            self._break()
            screen.note("… earlier messages are being summarised")

    def has_said(self, text: str) -> bool:
        """Whether this text was shown last."""
        from interlock.cli import screen

        words = screen.plain(text).strip()
        return bool(words) and self._said.strip().endswith(words)

    def note(self, words: str) -> None:
        """Prints a remark beside the answer, once."""
        from interlock.cli import screen

        if words != self._noted:
            self._noted = words
            if not self.quiet:
                self._break()
            screen.note(words)

    def end(self, reply: "Reply") -> None:
        """Completes the answer with text that was not streamed."""
        from interlock.cli import screen

        if self.quiet:
            return
        words = screen.plain(reply.response).strip()
        if reply.stop_reason == "end_turn" and words and not self.has_said(reply.response):
            self._break()
            sys.stdout.write(words)
            self._said = words
        self._break()

    def _break(self) -> None:
        if self._said and not self._said.endswith("\n"):
            sys.stdout.write("\n")
        self._said = ""
        sys.stdout.flush()
