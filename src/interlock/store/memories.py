"""Memories as rows: those that fit a question by their words, those that matter most, one of them.

Which words a text has is `memory.words`'s job, the last word on rank `memory.ranking`'s; they are written in
`memory_writes`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Memory, MemoryWord, table
from interlock.store.tx import Ask, Tx

MEMORIES, WORDS = table(Memory), table(MemoryWord)
_m, _w = MEMORIES.c, WORDS.c
SIZES = (4, 16)
"""How many words a question may have; a statement for each, since most are short."""
WEIGHTY = 10
"""Memories that matter most, whatever is asked."""
MATTERS = 0.7
"""The importance from which on a memory may be recalled without a word in common."""


class Reach(NamedTuple):
    """How far it is looked: up to how many memories with a word are counted, and how many are looked at in all."""

    counted: int
    looked_at: int
    common: bool
    """Whether words are looked for beside rarer ones that more memories have than are counted."""
    best: int
    """How many of those that fit best by their words are told."""


_RECALL = Reach(counted=300, looked_at=600, common=False, best=40)
_SEARCH = Reach(counted=1_000, looked_at=4_000, common=True, best=300)
_RARITY = ((1, 100), (2, 92), (4, 84), (8, 75), (16, 66), (32, 57), (64, 48), (128, 39), (256, 31), (512, 23))
_COMMON = 16
_LIVE = _m.archived_at.is_(None)
_SHOWN = (
    _m.id, _m.person_id, _m.type, _m.text, _m.length, _m.importance, _m.decay, _m.labels, _m.run_id, _m.created_at,
)  # fmt: skip


SCOPES = ("scope", "with_person")
"""Parameters: the persona's own memories, and those that are shown to one person only."""


def _scopes(column: Any) -> Any:
    return column.in_([b(name) for name in SCOPES])


def _chosen(size: int, reach: Reach) -> Any:
    """The words of a question from the rarest on, until enough memories are to be looked at."""
    each = []
    for at in range(size):
        word = b(f"word_{at}", type_=sa.String())
        some = (
            sa.select(sa.literal_column("1"))
            .where(_w.project_id == b("project"), _scopes(_w.scope), _w.word == word)
            .limit(sa.literal_column(str(reach.counted)))
            .subquery()
        )
        number = sa.select(sa.func.count()).select_from(some).scalar_subquery()
        each.append(
            sa.select(
                sa.literal_column(str(at)).label("place"), sa.cast(word, sa.String).label("word"), number.label("many")
            )
        )
    counts = sa.union_all(*each).cte("counts")
    sums = sa.func.sum(counts.c.many).over(order_by=(counts.c.many, counts.c.place), rows=(None, 0))
    ranked = sa.select(counts.c.word, counts.c.many, (sums - counts.c.many).label("before")).where(counts.c.many > 0)
    found = ranked.cte("ranked")
    many, before = found.c.many, found.c.before
    most: Any = sa.literal_column(str(reach.looked_at))
    counted: Any = sa.literal_column(str(reach.counted))
    fits = before < most if reach.common else sa.and_(many < counted, before + many <= most)
    return sa.select(found).where(sa.or_(before == sa.literal_column("0"), fits)).cte("chosen")


def _looked_for(chosen: Any) -> Any:
    """Each chosen word at each place where it is looked for, as a table of its own: all of a key's columns come from
    there. A server without statistics would take the places for what tells most, and go through all words of a persona.
    """
    places = [sa.select(_text("project").label("project_id"), _text(name).label("scope")) for name in SCOPES]
    each = sa.union_all(*places).cte("places")
    looked = sa.select(each, chosen.c.word, chosen.c.many).join_from(chosen, each, sa.true()).cte("looked_for")
    return looked.prefix_with("MATERIALIZED", dialect="postgresql")


def _text(name: str) -> Any:
    return sa.cast(b(name, type_=sa.String()), sa.String)


def _fitting(size: int, reach: Reach) -> Any:
    """The memories that fit the words of a question best, with the weight of what they share."""
    looked = _looked_for(_chosen(size, reach))
    rarity = sa.case(
        *((looked.c.many <= sa.literal_column(str(most)), sa.literal_column(str(points))) for most, points in _RARITY),
        else_=sa.literal_column(str(_COMMON)),
    )
    often = sa.case(
        (_w.times == sa.text("1"), sa.literal_column("8")), (_w.times == sa.text("2"), sa.literal_column("11")),
        else_=sa.literal_column("13"),
    )  # fmt: skip
    weight = sa.func.sum(rarity * often).label("weight")
    hits = (
        sa.select(_w.memory_id, weight)
        .join_from(
            looked,
            WORDS,
            sa.and_(_w.project_id == looked.c.project_id, _w.scope == looked.c.scope, _w.word == looked.c.word),
        )
        .group_by(_w.memory_id)
        .order_by(sa.desc("weight"), _w.memory_id.desc())
        .limit(sa.literal_column(str(reach.best)))
        .cte("hits")
    )  # fmt: skip
    return sa.select(*_SHOWN, hits.c.weight).join_from(hits, MEMORIES, _m.id == hits.c.memory_id)


def _weighty(scope: str) -> Any:
    found = (
        sa.select(*_SHOWN, sa.literal_column("0").label("weight"))
        .where(
            _m.project_id == b("project"), _m.scope == b(scope), _LIVE,
            _m.importance >= sa.literal_column(str(MATTERS)),
        )
        .order_by(_m.importance.desc(), _m.id.desc())
        .limit(sa.literal_column(str(WEIGHTY)))
        .subquery()
    )  # fmt: skip
    return sa.select(found)


FITTING: Mapping[int, Any] = {size: _fitting(size, _SEARCH) for size in SIZES}
"""What fits a question of so many words."""
CANDIDATES: Mapping[int, Any] = {
    size: sa.union_all(_fitting(size, _RECALL), _weighty("scope"), _weighty("with_person")) for size in SIZES
}
"""The same, and what matters most besides; rows may come twice."""
_ALL = (
    sa.select(*_SHOWN, sa.literal_column("0").label("weight"))
    .where(_m.project_id == b("project"), _scopes(_m.scope), _LIVE)
    .order_by(_m.importance.desc(), _m.id.desc())
    .limit(b("most"))
)
_ONE = sa.select(MEMORIES).where(_m.id == b("memory"))
_SCOPES_OF = sa.select(_m.scope).where(_m.project_id == b("project"), _LIVE).distinct().order_by(_m.scope)


def scope_of(persona: str, kind: str = "", person_id: str | None = None, *, rehearsal: bool = False) -> str:
    """Where a memory of `kind` belongs: a conversation is shown to nobody but whom it was with.

    What comes of rehearsals is kept apart from what is real.
    """
    mine = f"~{persona}" if rehearsal else persona
    return f"{mine}:{person_id}" if kind == "conversation" and person_id else mine


def scopes_of(persona: str, person_id: str | None, *, rehearsal: bool = False) -> frozenset[str]:
    """What a persona is shown of its memories when it talks to a person, or to nobody."""
    own = scope_of(persona, rehearsal=rehearsal)
    return frozenset({own, scope_of(persona, "conversation", person_id, rehearsal=rehearsal)})


def _asked(
    project_id: str, persona: str, words: Sequence[str], person_id: str | None, rehearsal: bool
) -> tuple[int, dict[str, Any]]:
    size = next((size for size in SIZES if len(words) <= size), SIZES[-1])
    own = scope_of(persona, rehearsal=rehearsal)
    params: dict[str, Any] = {f"word_{at}": "" for at in range(size)}
    params.update((f"word_{at}", word) for at, word in enumerate(words[:size]))
    with_person = scope_of(persona, "conversation", person_id, rehearsal=rehearsal)
    return size, {**params, "project": project_id, "scope": own, "with_person": with_person if person_id else ""}


def candidates(
    project_id: str, persona: str, words: Sequence[str], person_id: str | None = None, *, rehearsal: bool = False
) -> Ask:
    """What gives the memories of a persona from which a few are recalled, for a read together with others.

    `words` are those of `memory.words.asked_for`; `person_id` is whom the persona talks to.
    """
    size, params = _asked(project_id, persona, words, person_id, rehearsal)
    return CANDIDATES[size], params


def fitting(
    tx: Tx, project_id: str, persona: str, words: Sequence[str], person_id: str | None = None, *,
    rehearsal: bool = False,
) -> list[Any]:  # fmt: skip
    """The memories that fit some words best, with the weight of what they share."""
    size, params = _asked(project_id, persona, words, person_id, rehearsal)
    return tx.rows(FITTING[size], params)


def weightiest(
    tx: Tx, project_id: str, persona: str, most: int, person_id: str | None = None, *, rehearsal: bool = False
) -> list[Any]:
    """The memories that matter most."""
    _, params = _asked(project_id, persona, (), person_id, rehearsal)
    return tx.rows(_ALL, {**params, "most": most})


def memory(tx: Tx, memory_id: str) -> Any | None:
    """One memory, archived or not."""
    return tx.one(_ONE, {"memory": memory_id})


def scopes(tx: Tx, project_id: str) -> list[str]:
    """All scopes in which a project has memories."""
    return [row.scope for row in tx.rows(_SCOPES_OF, {"project": project_id})]
