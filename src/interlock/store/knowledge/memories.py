"""Reads memories: full-text search by words, the most important ones, and single ones.

Tokenisation is in `memory.words`, the final ranking in `memory.ranking`; writing is in `memory_writes`.
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
"""The numbers of words for which there is a statement each; most queries are short."""
WEIGHTY = 10
"""The number of most important memories that are candidates for any query."""
MATTERS = 0.7
"""The least importance at which a memory may be recalled without sharing a word with the query."""


class Reach(NamedTuple):
    """Limits of a search: up to how many memories with a word are counted, and how many candidates are examined."""

    counted: int
    looked_at: int
    common: bool
    """Whether words that occur in more memories than are counted are searched for beside rarer ones."""
    best: int
    """How many of the best matches are returned."""


_RECALL = Reach(counted=300, looked_at=600, common=False, best=40)
_SEARCH = Reach(counted=1_000, looked_at=4_000, common=True, best=300)
_RARITY = ((1, 100), (2, 92), (4, 84), (8, 75), (16, 66), (32, 57), (64, 48), (128, 39), (256, 31), (512, 23))
_COMMON = 16
_LIVE = _m.archived_at.is_(None)
_SHOWN = (
    _m.id, _m.person_id, _m.type, _m.text, _m.length, _m.importance, _m.decay, _m.labels, _m.run_id, _m.created_at,
)  # fmt: skip


SCOPES = ("scope", "with_person")
"""The parameters of the scopes: the persona's own memories, and those visible to one person only."""


def _scopes(column: Any) -> Any:
    return column.in_([b(name) for name in SCOPES])


def _chosen(size: int, reach: Reach) -> Any:
    """The words of a query from the rarest on, until they yield enough candidates."""
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
    """Each chosen word in each scope, as a derived table that supplies all columns of the key. Without statistics, the
    server would otherwise take the scopes for the most selective part, and read all words of a persona.
    """
    places = [sa.select(_text("project").label("project_id"), _text(name).label("scope")) for name in SCOPES]
    each = sa.union_all(*places).cte("places")
    looked = sa.select(each, chosen.c.word, chosen.c.many).join_from(chosen, each, sa.true()).cte("looked_for")
    return looked.prefix_with("MATERIALIZED", dialect="postgresql")


def _text(name: str) -> Any:
    return sa.cast(b(name, type_=sa.String()), sa.String)


def _fitting(size: int, reach: Reach) -> Any:
    """The memories that best match the words of a query, with the weight of the shared words."""
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
"""The search statement, by number of words."""
CANDIDATES: Mapping[int, Any] = {
    size: sa.union_all(_fitting(size, _RECALL), _weighty("scope"), _weighty("with_person")) for size in SIZES
}
"""The search plus the most important memories, by number of words; rows may occur twice."""
_ALL = (
    sa.select(*_SHOWN, sa.literal_column("0").label("weight"))
    .where(_m.project_id == b("project"), _scopes(_m.scope), _LIVE)
    .order_by(_m.importance.desc(), _m.id.desc())
    .limit(b("most"))
)
_ONE = sa.select(MEMORIES).where(_m.id == b("memory"))
_SCOPES_OF = sa.select(_m.scope).where(_m.project_id == b("project"), _LIVE).distinct().order_by(_m.scope)


def scope_of(persona: str, kind: str = "", person_id: str | None = None, *, rehearsal: bool = False) -> str:
    """The scope of a memory of `kind`: a conversation is visible only to the person it was with.

    Memories of rehearsals are kept apart from real ones.
    """
    mine = f"~{persona}" if rehearsal else persona
    return f"{mine}:{person_id}" if kind == "conversation" and person_id else mine


def scopes_of(persona: str, person_id: str | None, *, rehearsal: bool = False) -> frozenset[str]:
    """The scopes that a persona may read when it talks to a person, or to nobody."""
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
    """The select of candidates for recall with its parameters, to be batched with others.

    `words` are those of `memory.words.query_terms`; `person_id` is the person whom the persona talks to.
    """
    size, params = _asked(project_id, persona, words, person_id, rehearsal)
    return CANDIDATES[size], params


def fitting(
    tx: Tx, project_id: str, persona: str, words: Sequence[str], person_id: str | None = None, *,
    rehearsal: bool = False,
) -> list[Any]:  # fmt: skip
    """The memories that best match some words, with the weight of the shared words."""
    size, params = _asked(project_id, persona, words, person_id, rehearsal)
    return tx.rows(FITTING[size], params)


def fitting_each(tx: Tx, project_id: str, scopes: Sequence[str], words: Sequence[str]) -> list[list[Any]]:
    """The same for each of several scopes by itself; all asked for together."""
    asked = [_asked(project_id, scope, words, None, rehearsal=False) for scope in scopes]
    return tx.gather([(FITTING[size], params) for size, params in asked])


def most_important(
    tx: Tx, project_id: str, persona: str, most: int, person_id: str | None = None, *, rehearsal: bool = False
) -> list[Any]:
    """The most important memories."""
    _, params = _asked(project_id, persona, (), person_id, rehearsal)
    return tx.rows(_ALL, {**params, "most": most})


def weightiest_of(tx: Tx, project_id: str, scopes: Sequence[str], types: Sequence[str], most: int) -> list[Any]:
    """The most important memories of several scopes, each with its scope; with `types`, only those."""
    query = sa.select(*_SHOWN, _m.scope, sa.literal_column("0").label("weight")).where(
        _m.project_id == project_id, _m.scope.in_(scopes), _LIVE
    )
    query = query.where(_m.type.in_(types)) if types else query
    return tx.rows(query.order_by(_m.importance.desc(), _m.id.desc()).limit(most)) if scopes else []


def memory(tx: Tx, memory_id: str) -> Any | None:
    """One memory, archived or not."""
    return tx.one(_ONE, {"memory": memory_id})


def scopes(tx: Tx, project_id: str) -> list[str]:
    """All scopes in which a project has memories."""
    return [row.scope for row in tx.rows(_SCOPES_OF, {"project": project_id})]
