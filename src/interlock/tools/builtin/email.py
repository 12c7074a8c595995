"""send_email: the one built-in tool with an effect that cannot be taken back. Row G2."""

import mimetypes
from typing import Any

from interlock.settings import Settings
from interlock.tools.builtin.shapes import arguments, many, text
from interlock.tools.contract import OUTWARD, Tool, ToolContext
from interlock.tools.errors import ToolError
from interlock.tools.letter import Attachment, Letter, address, one_line, sender
from interlock.tools.paths import LONGEST_PATH, parse
from interlock.tools.postal import send_by_postal
from interlock.tools.smtp import send_by_smtp

MOST_RECIPIENTS = 50
MOST_ATTACHMENTS = 10
MOST_BYTES = 10 * 1024 * 1024
LONGEST_SUBJECT = 250
LONGEST_BODY = 100_000


async def _send(
    ctx: ToolContext,
    /,
    *,
    to: list[str],
    subject: str,
    body: str,
    cc: list[str] | None = None,
    attachments: list[str] | None = None,
) -> dict[str, Any]:
    by_postal, source = _way(ctx.settings)
    letter = Letter(
        sender=source,
        to=tuple(address(each) for each in to),
        cc=tuple(address(each) for each in cc or ()),
        subject=one_line(subject),
        body=body,
        attachments=await _attached(ctx, attachments or []),
        token=ctx.idempotency_token,
        written_at=ctx.now,
    )
    if by_postal:
        receipt = await send_by_postal(ctx.settings.postal, letter)
    else:
        receipt = await send_by_smtp(ctx.settings.smtp, letter)
    return {"sent_to": list(letter.recipients), "message_id": letter.message_id, "receipt": receipt}


def _way(settings: Settings) -> tuple[bool, str]:
    """Whether Postal is used, and the sender.

    Raises ToolError where nothing is set up.
    """
    if settings.postal.base_url is not None:
        by_postal, configured, name = True, settings.postal.sender, "INTERLOCK_POSTAL__SENDER"
    elif settings.smtp.host is not None:
        by_postal, configured, name = False, settings.smtp.sender, "INTERLOCK_SMTP__SENDER"
    else:
        raise ToolError(
            "e-mail is not set up: the operator must set INTERLOCK_SMTP__HOST or INTERLOCK_POSTAL__BASE_URL"
        )
    if not configured:
        raise ToolError(f"e-mail has no sender: the operator must set {name}")
    return by_postal, sender(configured, name)


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
SEND_EMAIL = Tool(
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
    fn=_send,
    risk="RED",
    idempotent=False,
    outside=True,
    reads=_reads,
    labels=frozenset({OUTWARD}),
    timeout_s=60.0,
    simulate=_rehearsed,
)
TOOLS = (SEND_EMAIL,)
