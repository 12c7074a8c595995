"""`demo`: one mission through the same operations as `run`; its held calls are approved automatically."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.app.box import Interlock
from interlock.cli import details, opening, running, screen
from interlock.core.errors import InterlockError
from interlock.desk.reading.details import deliverable, task
from interlock.desk.reading.progress import Standing
from interlock.desk.signoff import asking, signing

if TYPE_CHECKING:
    from interlock.desk.reading.progress import Progress

GOAL = "Compare three session stores for a web shop and e-mail the recommendation to board@example.com"
MODEL = "rehearsal/offline"
LOOK_AT = ("missions", "tasks", "approvals --all", "agents", "runs", "budget")
SIGNS = ("TOOL_CALL", "TASK_REVIEW")
"""Anything else would mean that the mission went wrong: that is shown, not signed away."""
NOTE = "signed off in the demo by the operator of this home"


class Signing:
    """Shows each held call as its card and approves it in the name of the operator at this terminal."""

    def __init__(self, box: Interlock) -> None:
        self.box, self.signed = box, 0

    def open_questions(self, found: "Progress") -> list[str]:
        """All pending questions."""
        return list(found.approvals)

    async def put(self, ident: str) -> None:
        """Prints the card and approves it."""
        runtime, person = self.box.runtime, self.box.person
        screen.heading("A person must sign")
        asked = await signing.approval(runtime, ident)
        details.show_card(await asking.approval_card(runtime, ident, taps=False, at_length=True))
        if asked["kind"] not in SIGNS:
            raise InterlockError(f"the demo does not sign this: look with `INTERLOCK_HOME={runtime.settings.home}`")
        card = await signing.approve(runtime, person, ident, note=NOTE)
        self.signed += 1
        screen.line()
        screen.line(f"{card['status']} by {person.name}, as `interlock approve {ident}` would", style="bold")
        screen.line()


async def demonstrate(home: Path | None) -> int:
    """Runs the demo in a home of its own; returns the exit code."""
    folder = home or Path(tempfile.mkdtemp(prefix="interlock-demo-"))
    folder = folder.absolute()
    with opening.stopping() as asked:
        async with Interlock.open(cwd=folder, env={}, surface="demo", home=folder, model=MODEL) as box:
            if not await box.start():
                raise InterlockError(
                    f"another process executes the home `{folder}` already: choose another with `--home`"
                )
            screen.line(f"goal   {GOAL}")
            screen.line(f"home   {folder}")
            screen.line(f"model  {MODEL}, which costs nothing; effects on the outside world are simulated")
            screen.line()
            mission_id = await box.submit(GOAL)
            signing_off = Signing(box)
            watching = running.watch_mission(box, mission_id, signing_off, silent=False, to_the_end=True)
            found = await running.until_asked(watching, asked)
            if found is None:
                screen.note(f"stopped; continue with `INTERLOCK_HOME={folder} interlock up`")
                return running.STOPPED
            if found.standing is not Standing.DONE:
                return await running.finish(box, found, as_json=False)
            await _tell(box, mission_id, folder)
    return 0


async def _tell(box: Interlock, mission_id: str, folder: Path) -> None:
    whole = await task(box.runtime, mission_id)
    screen.heading("The plan, done")
    rows = [(screen.state(t["status"]), t["persona"] or "–", t["title"]) for t in whole["subtasks"]]
    screen.table(("STATE", "WHO", "~TITLE"), rows, empty="")
    handed = await deliverable(box.runtime, mission_id)
    path = folder / "deliverable.md"
    path.write_bytes(handed.content)
    screen.line()
    screen.line(f"cost {screen.dollars(whole['cost_usd'])}; with a real model {details.estimated(whole)}")
    screen.heading("The deliverable")
    text = handed.content.decode("utf-8", "replace")
    screen.line("\n".join(text.splitlines()[:16]))
    screen.line(f"… {len(text.splitlines())} lines in {path}", style="dim")
    screen.heading("Where to look")
    for command in (*LOOK_AT, f"task {mission_id}"):
        screen.line(f"  INTERLOCK_HOME={folder} interlock {command}")
    screen.line()
    screen.line('next: interlock init, then interlock run "GOAL"')
