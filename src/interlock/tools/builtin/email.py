"""send_email: the one built-in tool with an irreversible effect. Row G2.

It puts a letter into the outbox; delivery is done elsewhere.
"""

import asyncio
import mimetypes
from datetime import datetime
from functools import partial
from typing import Any

from interlock.settings import Settings
from interlock.store import blobs
from interlock.store.engine import Listener, Store
from interlock.store.messages import dispatch, outbox
from interlock.store.tx import Tx
from interlock.tools import postal
from interlock.tools.builtin.schemas import arguments, many, text
from interlock.tools.contract import OUTWARD, Tool, ToolContext
from interlock.tools.email_message import Attachment, Letter, address, one_line, sender
from interlock.tools.errors import PersonMustSay, ToolError
from interlock.tools.paths import LONGEST_PATH, parse

MOST_RECIPIENTS = 50
MOST_ATTACHMENTS = 10
MOST_BYTES = 10 * 1024 * 1024
LONGEST_SUBJECT = 250
LONGEST_BODY = 100_000
WAIT_S = 20.0
"""How long the call waits for the delivery of a letter."""
LOOK_S = 1.0


async def _send(
    wait_s: float,
    ctx: ToolContext,
    /,
    *,
    to: list[str],
    subject: str,
    body: str,
    cc: list[str] | None = None,
    attachments: list[str] | None = None,
) -> dict[str, Any]:
    letter = Letter(
        sender=_sender(ctx.settings),
        to=tuple(address(each) for each in to),
        cc=tuple(address(each) for each in cc or ()),
        subject=one_line(subject),
        body=body,
        attachments=await _attached(ctx, attachments or []),
        token=ctx.idempotency_token,
        written_at=ctx.now,
    )
    news = ctx.store.listener()
    await ctx.write(_post, letter, ctx.project_id, ctx.run_id, ctx.repeated_by, ctx.now)
    return _report(letter, await _fate(ctx.store, letter.token, news, wait_s))


def _post(tx: Tx, letter: Letter, project_id: str, run_id: str, repeated_by: str | None, now: datetime) -> None:
    """Puts the letter into the outbox, once per call; again only if a person has it repeated because it may be lost."""
    for each in letter.attachments:
        blobs.put(tx, each.data, now)
    outbox.letter(tx, letter.token, letter.to_json(), now, project_id, run_id)
    if repeated_by is not None:
        outbox.repeat_letter(tx, letter.token, repeated_by)


async def _fate(store: Store, token: str, news: Listener, wait_s: float) -> Any:
    """The letter's row once it was sent or given up, or as it is after `wait_s` seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_s
    while True:
        row: Any = await store.read(outbox.by_key, outbox.letter_key(token))
        left_s = until - loop.time()
        if row.status in ("delivered", "dead") or left_s <= 0:
            return row
        await news.wait(min(left_s, LOOK_S))


def _report(letter: Letter, row: Any) -> dict[str, Any]:
    if row.status == "delivered":
        return {"sent_to": list(letter.recipients), "message_id": letter.message_id, "receipt": row.remote_ref}
    if row.status == "dead" and row.holder == dispatch.UNCERTAIN:
        raise PersonMustSay(row.error)
    if row.status == "dead":
        raise ToolError(row.error)
    so_far = f" So far: {row.error}." if row.error else ""
    return {
        "queued_for": list(letter.recipients), "message_id": letter.message_id, "outbox_id": row.id,
        "note": f"It has not left yet and is tried again without you: do not send it once more.{so_far}",
    }  # fmt: skip


def _sender(settings: Settings) -> str:
    """For the From header.

    Raises ToolError if no sender is configured.
    """
    if settings.postal.base_url is not None:
        configured, name = settings.postal.sender, "INTERLOCK_POSTAL__SENDER"
        if settings.postal.api_key is None or not settings.postal.api_key.get_secret_value().strip():
            raise ToolError(f"e-mail is not set up: the operator must set {postal.KEY}")
    elif settings.smtp.host is not None:
        configured, name = settings.smtp.sender, "INTERLOCK_SMTP__SENDER"
    else:
        raise ToolError(
            "e-mail is not set up: the operator must set INTERLOCK_SMTP__HOST or INTERLOCK_POSTAL__BASE_URL"
        )
    if not configured:
        raise ToolError(f"e-mail has no sender: the operator must set {name}")
    return sender(configured, name)


async def _attached(ctx: ToolContext, paths: list[str]) -> tuple[Attachment, ...]:
    found, total = [], 0
    for path in dict.fromkeys(paths):
        data = await ctx.workspace.read(path)
        total += len(data)
        if total > MOST_BYTES:
            raise ToolError(f"the attachments are larger than {MOST_BYTES:,} bytes together: send fewer")
        kind, encoding = mimetypes.guess_type(path)
        media_type = kind if kind and not encoding and not kind.startswith("message/") else "application/octet-stream"
        found.append(Attachment(parse(path)[-1], media_type, data))
    return tuple(found)


def _reads(args: dict[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(args.get("attachments") or ()))


def _rehearsed(args: dict[str, Any]) -> str:
    people = ", ".join([*args["to"], *(args.get("cc") or ())])
    files = _reads(args)
    attached = f", attached: {', '.join(files)}" if files else ""
    return f"no e-mail was sent. To: {people}. Subject: {args['subject']}. {len(args['body']):,} characters{attached}"


_ADDRESS = text("One bare address, such as `ann@example.com`, without a name.", longest=254, shortest=3)


def send_email(wait_s: float = WAIT_S) -> Tool:
    """The tool; `wait_s` is how long it waits for delivery."""
    return Tool(
        name="send_email",
        description=(
            "Sends an e-mail at once to everyone named. It cannot be taken back, so a person approves exactly these "
            "recipients, words and attachments first."
        ),
        input_schema=arguments(
            "to",
            "subject",
            "body",
            to=many("Who it is for. All recipients see each other.", _ADDRESS, most=MOST_RECIPIENTS),
            cc=many("Who gets a copy.", _ADDRESS, least=0, most=MOST_RECIPIENTS),
            subject=text("One line that says what it is about.", longest=LONGEST_SUBJECT),
            body=text("The whole message as plain text, greeting and signature included.", longest=LONGEST_BODY),
            attachments=many(
                "Paths of workspace files to attach.",
                text("A path such as `reports/q3.pdf`.", longest=LONGEST_PATH),
                least=0,
                most=MOST_ATTACHMENTS,
            ),
        ),
        fn=partial(_send, wait_s),
        risk="RED",
        idempotent=True,
        outside=True,
        reads=_reads,
        labels=frozenset({OUTWARD}),
        timeout_s=60.0,
        simulate=_rehearsed,
    )


SEND_EMAIL = send_email()
TOOLS = (SEND_EMAIL,)
