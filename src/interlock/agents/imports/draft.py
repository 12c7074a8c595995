"""A draft of a persona file from another program's agent: an intern with at most the tools that were named.

INVARIANT: what comes of it is read back and compared before anybody sees it; trust is intern, risk YELLOW, budget and
limits are the usual ones, and no word of the file is taken for more than text.
"""

import json
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from interlock.agents.imports.foreign import MINIMAL, Foreign
from interlock.agents.persona import Persona
from interlock.agents.persona_schema import HIDDEN, LONGEST_TEXT, SCHEMA_VERSION, faults_of
from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.system_words import harmless
from interlock.core import strict_yaml
from interlock.llm.messages import ModelRef
from interlock.llm.models import KNOWN
from interlock.policy.secrets import scrub

LONGEST_NAME = 40
MOST_READ = 2 * LONGEST_TEXT
"""Characters of a text that is looked at in detail at all."""
TAKEN = "imported"
"""What the name of one is given that would stand in for a built-in persona."""
EVERYTHING = frozenset({"*", "all", "ALL", "All"})
ALIASES = {
    "sonnet": "anthropic/claude-sonnet-5-5",
    "opus": "anthropic/claude-opus-5-5",
    "haiku": "anthropic/claude-haiku-5-5",
}
_USUAL = frozenset({"inherit", "default", "auto", ""})
_SCOPED = re.compile(r"([\w*.:-]{1,80})\s*\(.*", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"[A-Za-z][\w/.-]*", re.ASCII)
_NOT_TEXT = frozenset({"true", "false", "null"})
_BREAKS = re.compile("[\x85\u2028\u2029\ufeff]")


@dataclass(frozen=True, slots=True)
class Draft:
    """A persona from a foreign agent, as the text of its file. `notes` say what was left out, each `file:line: …`."""

    persona: Persona
    text: str
    notes: tuple[str, ...]
    source: str
    line: int


def drafted(found: Foreign, builtin: Collection[str], known_tools: frozenset[str]) -> Draft | list[str]:
    """The persona for a foreign agent, or every fault that prevents one."""
    faults: list[str] = []
    name = _name(found, builtin, faults)
    soul, prompt = _clean(found, found.soul, faults), _clean(found, found.prompt or "", faults)
    title = one_line(found.name.replace("-", " ").replace("_", " ").strip().capitalize())
    data: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION, "name": name, "title": _line(found, title),
        "role": _line(found, found.role), "trust": "intern", "risk_profile": "YELLOW", "task_types": ["other"],
        "tools": list(_tools(found)),
    }  # fmt: skip
    if (model := _model(found)) is not None:
        data["model"] = model
    data["soul"] = soul
    if prompt:
        data["prompt"] = prompt
    if faults:
        return faults
    text = written(data, found)
    try:
        back = strict_yaml.parse(text, source=found.source).data
        persona = Persona.model_validate(back, context={"known_tools": known_tools})
    except ValidationError as error:
        return [f"{found.source}:{found.line}: agent `{name}`: {problem}" for _, problem in faults_of(error)]
    if back != data:
        return [f"{found.source}:{found.line}: agent `{name}`: its words cannot be written down as they are"]
    return Draft(persona, text, tuple(dict.fromkeys(found.notes)), found.source, found.line)


def _name(found: Foreign, builtin: Collection[str], faults: list[str]) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", found.name) if unicodedata.category(c) != "Mn")
    if odd := re.search(r"[^A-Za-z0-9 _-]", plain):
        char = odd.group()
        shown = f"`{char}`" if char.isascii() and char.isprintable() else f"U+{ord(char):04X}"
        faults.append(
            f"{found.source}:{found.line}: its name has {shown} in it: use letters of a to z, digits, - and _"
        )
        return ""
    name = re.sub(r"[ _-]+", "-", plain.strip().lower()).strip("-")[:LONGEST_NAME].strip("-")
    if not re.match("[a-z]", name):
        faults.append(f"{found.source}:{found.line}: its name begins with no letter: give it one that does")
        return ""
    if name in builtin:
        other = f"{name[: LONGEST_NAME - len(TAKEN) - 1]}-{TAKEN}"
        found.note(found.line, f"it is called `{other}`: `{name}` is a persona of Interlock's own")
        return other
    return name


def _clean(found: Foreign, text: str, faults: list[str]) -> str:
    """A text without what is not seen, what reads as Interlock's own words, places to fill in, and secrets."""
    if len(text) > MOST_READ:
        faults.append(
            f"{found.source}:{found.line}: its prompt has {len(text):,} characters: {LONGEST_TEXT:,} are the most"
        )
        return ""
    text = "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    shown = _CONTROL.sub("", HIDDEN.sub("", text))
    if len(shown) < len(text):
        found.note(found.line, f"{len(text) - len(shown)} characters that are not seen were left out")
    safe = harmless(shown)
    if safe != shown:
        found.note(found.line, "words that read as a system message were made harmless")
    plain = safe.replace("{{", "{ {").replace("}}", "} }")
    if plain != safe:
        found.note(found.line, "`{{…}}` is text here: nothing is filled in")
    kept = scrub(plain).strip()
    if kept != plain.strip():
        found.note(found.line, "what looks like a secret was left out: name it in settings instead")
    if len(kept) > LONGEST_TEXT:
        faults.append(
            f"{found.source}:{found.line}: its prompt has {len(kept):,} characters: {LONGEST_TEXT:,} are the most"
        )
    return f"{kept}\n" if kept else ""


def _line(found: Foreign, text: str) -> str:
    """A text of one line that a persona may have for a title or a role."""
    clean = "".join(c for c in scrub(harmless(HIDDEN.sub("", text))) if c.isprintable())
    return one_line(clean) or one_line(found.name) or "Imported"


def _tools(found: Foreign) -> tuple[str, ...]:
    """INVARIANT: a tool of ours is there only where the file names one that can do as much; never more than named."""
    everything = found.tools is None or any(each.word in EVERYTHING for each in found.tools)
    if everything:
        said = "it names no tools" if found.tools is None else "it wants every tool"
        found.note(found.line, f"{said}: it gets {' and '.join(f'`{each}`' for each in MINIMAL)} alone")
    tools: list[str] = []
    for each in found.tools or ():
        shown, ours = one_line(each.word, limit=60), found.known.get(each.word)
        if each.word in EVERYTHING or (everything and ours in MINIMAL):
            continue
        if _SCOPED.match(each.word):
            found.note(each.line, f"tool `{shown}` is dropped: no tool of Interlock's can do as little")
        elif ours is None:
            found.note(each.line, f"tool `{shown}` is dropped: Interlock does not know it")
        elif " " in ours:
            found.note(each.line, f"tool `{shown}` is {ours}")
        elif everything:
            found.note(each.line, f"tool `{shown}` is dropped: who wants every tool gets the least")
        else:
            tools.append(ours)
    if EVERYTHING & found.refused:
        return ()
    denied = {found.known.get(word, word) for word in found.refused}
    unclear = [word for word in sorted(found.refused) if word not in found.known]
    if unclear:
        denied |= {ours for theirs, ours in found.known.items() if any(w.startswith(theirs) for w in unclear)}
    return tuple(dict.fromkeys(t for t in (MINIMAL if everything else tools) if t not in denied))


def _model(found: Foreign) -> str | None:
    if found.model is None or found.model.word in _USUAL:
        return None
    word = found.model.word
    for named in (ALIASES.get(word, word), f"anthropic/{word}"):
        try:
            if ModelRef.parse(named) in KNOWN and not named.startswith("rehearsal/"):
                return named
        except ValueError:
            continue
    shown = one_line(scrub(word), limit=60)
    found.note(found.model.line, f"model `{shown}` is dropped: it is none that is known here, the usual one is used")
    return None


def written(data: dict[str, Any], found: Foreign) -> str:
    """The text of a persona file, with comments at its head about what was left out."""
    head = [f"# Imported from {_comment(found.source)}. Read it before you raise its trust or give it tools."]
    head += [f"# Left out: {_comment(note.partition(': ')[2])}" for note in dict.fromkeys(found.notes)]
    return "\n".join([*head, *(f"{key}: {_value(value)}" for key, value in data.items())]).rstrip("\n") + "\n"


def _comment(text: str) -> str:
    return "".join(c for c in one_line(text, limit=300) if c.isprintable())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    if not isinstance(value, str) or (_PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT):
        return str(value)
    lines = value.split("\n")
    is_block = len(lines) > 2 or (len(lines) == 2 and not lines[1])
    if (
        is_block
        and lines[-1] == ""
        and lines[-2]
        and not lines[0].startswith((" ", "\t"))
        and not _BREAKS.search(value)
    ):
        return "|\n" + "\n".join(f"  {line}" if line else "" for line in lines[:-1])
    return _BREAKS.sub(lambda c: f"\\u{ord(c[0]):04x}", json.dumps(value, ensure_ascii=False))
