"""Judges whether the definition of a tool says that it acts: sends, pays, publishes, shares, books, deletes.

Only names, descriptions, schemas and annotations are judged here; arguments are judged elsewhere.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.policy.definitions import returned_credentials
from interlock.policy.definitions import verb_objects as o
from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.choices import chooses, chosen
from interlock.policy.definitions.tool_descriptions import Prose, read_prose
from interlock.policy.definitions.tool_names import ACTS, MAY_ACT, THIRDS, Says, harmless, read_name
from interlock.policy.values import desired_state
from interlock.policy.values.spelling import parts, words

__all__ = ["looks_red", "words"]

_DEEPEST = 32
_MOST = 4096
_CHOICES = frozenset("action actions operation op method mode command cmd verb do task".split())
_STRIPPED = v.STRIPPED | frozenset("scripts script styles style meta ads links images".split())
"""What a reading tool leaves out of what it returns: `removeScripts`."""
_ANSWERS = frozenset("answer final_answer response result message summary thought task_completed success".split())
"""Arguments by which an agent tells its user what it has found."""
_MARKET = frozenset(
    "symbol pair ticker market instrument exchange depth limit levels trading_pair currency_pair".split()
)
"""Arguments that name a market and how much of it is shown."""
_FIELD_NOUNS = v.ABOUT | frozenset(
    "key token mask by at from until since period fields field window flag format path url uri".split()
)
_seen: dict[tuple[str, str, int, int, tuple[tuple[str, str], ...]], tuple[Any, Any, str | None]] = {}


def looks_red(
    name: str, description: str = "", schema: Any = None, hints: Mapping[str, Any] | None = None, args: Any = None
) -> str | None:
    """Why a tool looks RED by its definition, such as "its name says that it sends (`send`)"; None if it does not.

    After a leading reading verb, words of a name are nouns; an acting description counts regardless. Annotations only
    raise. If `args` choose one of several operations, the others do not count. Results are cached. Source: row C1.
    """
    hints = hints or None
    reason = _cached_judgement(name, description, schema, hints, ())
    if reason is None:
        return _state_given(name, description, args)
    if _gives_answer(name, description, args) or _shows_order_book(name, description, args):
        return None
    if not (choices := chooses(args)):
        return reason
    return _cached_judgement(name, description, schema, hints, choices)


def _cached_judgement(
    name: str, description: str, schema: Any, hints: Mapping[str, Any] | None, choices: tuple[tuple[str, str], ...]
) -> str | None:
    key = (name, description, id(schema), id(hints), choices)
    if (known := _seen.get(key)) is not None:
        return known[2]
    kept = chosen(name, description, schema, choices) if choices else None
    if choices and kept is None:
        return _cached_judgement(name, description, schema, hints, ())
    reason = _judge(*(kept or (name, description, schema)), hints or {})
    if len(_seen) >= _MOST:
        _seen.clear()
    _seen[key] = (schema, hints, reason)
    return reason


def _gives_answer(name: str, description: str, args: Any) -> bool:
    """Whether a call only ends the agent's own work with an answer to its user: `finish` with `answer`."""
    if (
        type(args) is not dict
        or not args
        or not _ANSWERS.issuperset(args)
        or name.lower() not in ("finish", "complete")
    ):
        return False
    return not description or read_prose(description).act is None


def _shows_order_book(name: str, description: str, args: Any) -> bool:
    """Whether a call asks for the orders of a market, and orders no book: `order_book` with `symbol`."""
    if parts(name)[-2:] != ("order", "book") or type(args) is not dict or _MARKET.isdisjoint(args):
        return False
    return _MARKET.issuperset(args) and read_prose(description).act in (None, ("pays", "order"))


def _state_given(name: str, description: str, args: Any) -> str | None:
    """Why a tool named after a thing acts: its arguments give the thing's new state."""
    if read_name(name).says is not Says.NOTHING or (key := desired_state.state_argument(name, args)) is None:
        return None
    if read_prose(description).leads_with_reading:
        return None
    return f"its arguments say what is to be (`{key}`)"


def _judge(name: str, description: str, schema: Any, hints: Mapping[str, Any]) -> str | None:
    if hints.get("destructiveHint") is True:
        return "its annotations say that it destroys (`destructiveHint`)"
    called, prose = read_name(name), read_prose(description)
    if called.says is Says.ACTS:
        return f"its name says that it {called.what} (`{called.word}`)"
    asks = called.says is Says.READS and prose.act is not None and prose.act[1] in ("request", "requests")
    if prose.act is not None and not asks:
        return f"its description says that it {prose.act[0]} (`{prose.act[1]}`)"
    if called.says is Says.UNCLEAR and not prose.leads_with_reading:
        return f"its name says that it {called.what} (`{called.word}`)"
    reads = called.says is Says.READS or prose.leads_with_reading
    if reads and not returned_credentials.is_about_identified_things(description):
        if called.word and called.says is Says.READS:
            return f"its name says that it {called.what} (`{called.word}`)"
        if shown := returned_credentials.in_description(description):
            return f"its description says that it {returned_credentials.WHAT} (`{shown}`)"
    if not reads and prose.advice is not None:
        return f"its description says that it {prose.advice[0]} (`{prose.advice[1]}`)"
    if not reads and prose.mention is not None:
        return f"its description says that it {prose.mention[0]} (`{prose.mention[1]}`)"
    title = hints.get("title")
    if isinstance(title, str) and (act := _title(title)):
        return f"its title says that it {act[0]} (`{act[1]}`)"
    if found := _schema(schema, reads=reads):
        return f"its schema says that it {found[0]} (`{found[1]}`)"
    return None


def _title(title: str) -> tuple[str, str] | None:
    called = read_name(title)
    return (called.what, called.word) if called.says is Says.ACTS else None


def _schema(schema: Any, *, reads: bool) -> tuple[str, str] | None:
    """The act in a schema: in names of fields that are verbs, in choices, and in descriptions of fields."""
    for text, kind in _schema_texts(schema):
        if act := _field(text, reads=reads) if kind == "field" else _text_act(text, kind, reads=reads):
            return act
    return None


def _text_act(text: str, kind: str, *, reads: bool) -> tuple[str, str] | None:
    if kind == "choice":
        found = parts(text)
        word = found[0] if found else ""
        what = ACTS.get(word) or (MAY_ACT.get(word) if len(found) == 1 and not reads else None)
        return (what, word) if what is not None and not (reads and word == "truncate") else None
    if kind == "deep":
        return "is described too deep to be judged", text
    prose = read_prose(text)
    if reads:
        return _act_switched_on(text)
    return _grave(prose)


def _grave(prose: Prose) -> tuple[str, str] | None:
    """A grave act in a field's description, as a verb in the present tense: "whom to pay"."""
    for act in (prose.act, prose.mention):
        if act is not None and act[0] in v.GRAVE and (act[1] in ACTS or act[1] in THIRDS or act[1] in MAY_ACT):
            return act
    return None


def _act_switched_on(text: str) -> tuple[str, str] | None:
    """The act that a field of a reading tool switches on: "whether to delete the source", "if true, sends a copy"."""
    found = parts(text[:2000])
    for at, word in enumerate(found[:12]):
        if word in ("whether", "true", "set", "enabled"):
            for verb in found[at + 1 : at + 4]:
                base = verb if verb in ACTS else verb.removesuffix("s") if verb.removesuffix("s") in ACTS else ""
                if base and ACTS[base] in v.GRAVE and not harmless(base, found[at:]):
                    return ACTS[base], verb
    return None


def _field(name: str, *, reads: bool) -> tuple[str, str] | None:
    """The act in a field's name: `delete_after`, but not `deleted_at`, `sort_order` or `payment_id`."""
    found = parts(name)
    if not found or (len(found) > 1 and found[1] in _FIELD_NOUNS and found[1] != "by") or found[:2] in o.COMPOUNDS:
        return None
    what = ACTS.get(found[0])
    if reads and found[0] in v.STRIPPERS and len(found) == 2 and found[1] in _STRIPPED:
        return None
    if what in v.GRAVE and (len(found) > 1 or not reads or what in ("deletes", "sends")):
        return what, found[0]
    return None


def _schema_texts(schema: Any) -> Iterator[tuple[str, str]]:
    """Names of fields, their descriptions and choices; a schema nested too deeply yields a text of kind `deep`."""
    rest: list[tuple[Any, int, str]] = [(schema, 0, "text")]
    while rest:
        node, depth, kind = rest.pop()
        if depth > _DEEPEST:
            yield "…", "deep"
        elif isinstance(node, str):
            yield node, kind
        elif isinstance(node, Mapping):
            for key, value in node.items():
                if key == "properties" and isinstance(value, Mapping):
                    yield from ((str(name), "field") for name in value)
                    rest.extend((item, depth + 2, _kind(str(name))) for name, item in value.items())
                elif key in ("enum", "const"):
                    if kind == "choices":
                        rest.append((value, depth + 1, "choice"))
                elif key in ("description", "title"):
                    rest.append((value, depth + 1, "text"))
                elif isinstance(value, (Mapping, list, tuple)):
                    rest.append((value, depth + 1, kind))
        elif isinstance(node, (list, tuple)):
            rest.extend((item, depth + 1, kind) for item in node)


def _kind(name: str) -> str:
    return "choices" if any(part in _CHOICES for part in parts(name)) else "text"
