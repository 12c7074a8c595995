"""Evaluates single acceptance checks (files, texts, schemas, commands) in a copy of the workspace.

When they run, and what follows from them, is up to `checking` and the coordinator.
"""

import json
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from interlock.core.values import canonical_json
from interlock.oversight.check_programs import Programs
from interlock.policy import formats
from interlock.policy.checks import Check
from interlock.policy.secrets import scrub
from interlock.tools.children import Ended
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.workspace import Workspace

MATCH_S = 10
"""The timeout of a regular expression or schema, which untrusted text may make slow."""
LONGEST_DETAIL = 1_500
"""How many characters of the end of a command's output are shown."""
NOTHING_STARTED = 127
SIGNALS = range(129, 160)
"""Exit codes of programs in the sandbox, and of shells, for what a signal ended."""
_MATCH = """
import json, re, sys
given = json.load(sys.stdin)
sys.exit(0 if re.search(given["regex"], given["text"], re.MULTILINE) else 1)
"""
_FITS = """
import json, sys
import jsonschema
from referencing import Registry
given = json.load(sys.stdin)
kind = jsonschema.validators.validator_for(given["schema"], default=jsonschema.Draft202012Validator)
kind.check_schema(given["schema"])
found = next(kind(given["schema"], registry=Registry()).iter_errors(given["data"]), None)
if found is not None:
    at = "/".join(map(str, found.absolute_path))
    sys.stdout.write(("at `" + at + "`: " if at else "") + found.message[:400])
    sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a check passed, with an explanation."""

    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked: a deliverable's bytes, and the workspace that contains it, if it is a file."""

    content: bytes
    path: str | None
    workspace: Workspace
    programs: Programs


async def judged(check: Check, subject: Subject) -> Outcome:
    """Evaluates a check. One that fails to be run counts as not passed, with the reason.

    Raises NoSandbox for a command if there is no sandbox for it on this machine.
    """
    try:
        match check.kind:
            case "file_exists":
                found = await subject.workspace.read(check.path or "")
                return Outcome(bool(found), f"{len(found):,} bytes" if found else f"`{check.path}` is empty")
            case "contains":
                return await _contains(check, await _bytes(check, subject), subject)
            case "json_schema":
                return await _fits(check, await _bytes(check, subject), subject)
            case "command":
                return await _succeeds(check, subject)
        return Outcome(False, f"nothing here runs a check of kind {check.kind}")
    except (ToolError, OutcomeUnknown) as error:
        return Outcome(False, str(error))


async def _bytes(check: Check, subject: Subject) -> bytes:
    return subject.content if check.path is None else await subject.workspace.read(check.path)


async def _contains(check: Check, content: bytes, subject: Subject) -> Outcome:
    text = content.decode("utf-8", "replace")
    if check.text is not None:
        return Outcome(True) if check.text in text else Outcome(False, "the text is not in it")
    given = json.dumps({"regex": check.regex, "text": text}).encode()
    ended = await _evaluated(_MATCH, given, subject)
    return Outcome(True) if ended.code == 0 else Outcome(False, _why(ended, "nothing in it matches"))


async def _fits(check: Check, content: bytes, subject: Subject) -> Outcome:
    try:
        data: Any = formats.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Outcome(False, f"it is not JSON: {error}"[:LONGEST_DETAIL])
    given = canonical_json({"schema": check.schema, "data": data}).encode("utf-8", "surrogatepass")
    ended = await _evaluated(_FITS, given, subject)
    return Outcome(True) if ended.code == 0 else Outcome(False, _why(ended, "it does not match"))


async def _evaluated(program: str, given: bytes, subject: Subject) -> Ended:
    """Evaluates in a child process, so that a hostile text cannot keep the worker busy beyond the timeout."""
    return await subject.programs.evaluate([sys.executable, "-I", "-c", program], MATCH_S, given)


def _why(ended: Ended, otherwise: str) -> str:
    if ended.code == 1 and not ended.errors.strip():
        return scrub(ended.output.strip()[:LONGEST_DETAIL]) or otherwise
    return f"it could not be judged: {scrub(ended.errors.strip()[-400:]) or f'exit code {ended.code}'}"


async def _succeeds(check: Check, subject: Subject) -> Outcome:
    subject.workspace.take()
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    if subject.path is not None:
        env["INTERLOCK_DELIVERABLE"] = subject.path
    ended = await subject.programs.command(check.argv, check.timeout_s, subject.content, env)
    if ended.code == 0:
        return Outcome(True, "it ended with 0")
    said = scrub("\n".join(part.strip() for part in (ended.output, ended.errors) if part.strip()))[-LONGEST_DETAIL:]
    how = f"it was ended by signal {-ended.code}" if ended.code < 0 else f"it ended with {ended.code}"
    if ended.code in SIGNALS:
        how += f" (signal {ended.code - SIGNALS.start + 1})"
    if ended.code == NOTHING_STARTED and "cannot start" in ended.errors:
        how = "it cannot be started on this machine"
        if shutil.which(check.argv[0]) is not None:
            how += ", as it does not lie in a folder that the sandbox shows: name the folder in `sandbox.readable`"
    return Outcome(False, f"{how}:\n{said}" if said else how)
