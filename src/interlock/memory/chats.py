"""What is remembered of a chat when it ends: its topic, and statements by the person that are worth knowing later.

INVARIANT: it is written in the transaction that ends the run, so that it is stored once or not at all, and no text
makes that fail. Sentences are selected in `remarks`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from interlock.core.values import SYSTEM
from interlock.memory import archive
from interlock.memory.archive import CONVERSATION, Note
from interlock.memory.remarks import remarks
from interlock.memory.words import words_of
from interlock.policy.secrets import scrub
from interlock.settings.agency import MemorySettings
from interlock.store.identities import speakers
from interlock.store.tx import Tx

FEWEST_WORDS = 5
"""Messages with fewer different words are not stored."""
_READ, _SAID, _ANSWERED = 4_000, 400, 400
_IMPORTANCE = 0.3
Mask = Callable[[str], str]
AfterChat = Callable[[Tx, Any, str | None, datetime], None]


def after_chat(settings: MemorySettings, mask: Mask = str) -> AfterChat:
    """A function that stores the memories of a successful chat, given its run, final text and time.

    `mask` removes the values of named secrets; it is given the whole text, because it does not recognise part of a
    value. Nothing is stored if the settings say so, of rehearsals, of private channels, of small talk, and of messages
    that are not by a person.
    """

    def keep(tx: Tx, run: Any, result: str | None, now: datetime) -> None:
        if settings.save_chats:
            _keep(tx, run, mask(str(run.payload.get("text") or ""))[:_READ], mask(result or "")[:_READ], now)

    return keep


def _keep(tx: Tx, run: Any, said: str, answered: str, now: datetime) -> None:
    found = [remark for remark in remarks(said) if archive.secret_in(remark.text) is None]
    in_a_room = run.channel_id is not None or run.trigger_message_id is not None
    is_talk = not in_a_room and bool(answered.strip()) and (found or len(words_of(said)) >= FEWEST_WORDS)
    who = speakers.speaker(tx, run.id) if found or is_talk else None
    if who is None or who.person_id is None or who.simulated or who.room == "private":
        return
    notes = [(remark.type, f"{who.name}: {remark.text}", remark.importance) for remark in found]
    if is_talk:
        text = f"{who.name} said: {_cut(said, _SAID)}\nThe answer was: {_cut(answered, _ANSWERED)}"
        notes.append((CONVERSATION, text, _IMPORTANCE))
    for kind, text, importance in notes:
        if archive.secret_in(text) is None:
            note = Note(
                project_id=run.project_id, persona=who.persona, type=kind, text=text, importance=importance,
                labels=who.labels, person_id=who.person_id, theirs_alone=bool(who.is_guest), run_id=run.id,
            )  # fmt: skip
            archive.keep(tx, note, SYSTEM, f"said in run {run.id}", now)


def _cut(text: str, most: int) -> str:
    """A text on one line, without secrets, truncated to `most` characters."""
    line = " ".join(scrub(text).split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
