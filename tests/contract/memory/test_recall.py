"""What fits is found by its words, alike on both databases, and nobody is shown what is not theirs. H3, H4."""

from random import Random

import pytest

from interlock.memory import archive, recall
from interlock.store.engine import Store
from interlock.store.tx import Tx
from tests.contract.memory.notes import ANN, NOW, OTHER, after, found, keep, note, recalled


async def test_rare_words_weigh_more_than_common_ones(store: Store) -> None:
    for number in range(12):
        await keep(store, f"The deploy of Monday {number} went well.", importance=0.5)
    await keep(store, "The kiosk is out of paper.", importance=0.5)
    assert (await found(store, "deploy kiosk"))[0] == "The kiosk is out of paper."
    await keep(store, "The deploy of the kiosk is on Friday.", importance=0.5)
    assert (await found(store, "deploys kiosks"))[0] == "The deploy of the kiosk is on Friday."


async def test_importance_age_and_use_decide_where_words_do_not(store: Store) -> None:
    await keep(store, "kiosk alpha", importance=0.9, type="learning")
    await keep(store, "kiosk beta", importance=0.2, type="learning")
    await keep(store, "kiosk gamma", importance=0.2, days=-200, type="learning")
    assert await found(store, "kiosk") == ["kiosk alpha", "kiosk beta", "kiosk gamma"]


async def test_five_are_recalled_and_among_them_what_matters_anyway(store: Store) -> None:
    for number in range(9):
        await keep(store, f"The kiosk sells item{number}.", importance=0.3)
    matters = await keep(store, "Never promise dates.", importance=0.95)
    await keep(store, "It rained.", importance=0.3)
    best = await recalled(store, "kiosk")
    assert len(best) == 5
    assert [each.score for each in best] == sorted((each.score for each in best), reverse=True)
    assert [each.id for each in await recalled(store, "hello there")] == [matters.id]
    assert all(each.text != "It rained." for each in best)


async def test_what_one_person_said_matters_to_others_only_where_it_fits(store: Store) -> None:
    await keep(store, "Ann: call me Annie", importance=0.9, person_id="per_ann")
    assert [each.text for each in await recalled(store, "hi", person_id="per_ann")] == ["Ann: call me Annie"]
    assert await recalled(store, "hi", person_id="per_bob") == []
    assert [each.text for each in await recalled(store, "who is Annie", person_id="per_bob")] == ["Ann: call me Annie"]


async def test_conversations_are_recalled_only_for_the_person_they_were_with(store: Store) -> None:
    await keep(store, "Ann said: my raise", type="conversation", person_id="per_ann", importance=0.9)
    assert len(await recalled(store, "raise", person_id="per_ann")) == 1
    for other in ("per_bob", None):
        assert await recalled(store, "raise", person_id=other) == []
        assert await found(store, "raise", person_id=other) == []


async def test_no_persona_and_no_project_sees_what_is_anothers(store: Store) -> None:
    await keep(store, "kiosk", importance=0.9)
    for more in ({"persona": "qa"}, {"project": OTHER}, {"rehearsal": True}, {"persona": "coder:per_ann"}):
        assert await recalled(store, "kiosk", **more) == []
        assert await found(store, "kiosk", **more) == []
        assert await found(store, "", **more) == []


async def test_what_a_rehearsal_keeps_stays_in_rehearsals(store: Store) -> None:
    await keep(store, "kiosk", rehearsal=True)
    await keep(store, "kiosk", importance=0.2)
    assert [each.importance for each in await recalled(store, "kiosk")] == [0.2]
    assert [each.importance for each in await recalled(store, "kiosk", rehearsal=True)] == [0.5]


async def test_reading_memories_is_reading_what_is_private(store: Store) -> None:
    await keep(store, "kiosk one", labels=("untrusted",))
    await keep(store, "kiosk two")
    by_text = {each.text: each.labels for each in await recalled(store, "kiosk")}
    assert by_text == {"kiosk one": {"private", "untrusted"}, "kiosk two": {"private"}}


async def test_conversations_that_are_shown_anyway_are_left_out(store: Store) -> None:
    await keep(store, "kiosk talk", type="conversation", run_id="run_1")
    await keep(store, "kiosk fact", run_id="run_1")
    asked = recall.candidates("demo", "coder", "kiosk")
    rows = await store.read(lambda tx: tx.rows(*asked))
    assert [each.text for each in recall.best(rows, NOW, in_sight={"run_1"})] == ["kiosk fact"]
    assert len(recall.best(rows, NOW)) == 2


async def test_types_can_be_asked_for(store: Store) -> None:
    await keep(store, "kiosk fact")
    await keep(store, "kiosk decision", type="decision")
    assert await found(store, "kiosk", kinds=("decision",)) == ["kiosk decision"]


@pytest.mark.parametrize("question", ["", "?!", "what is it", "' OR 1=1 --", "%", "_", "\x00", "\ud800", "x" * 100_000])
async def test_no_question_is_an_error(store: Store, question: str) -> None:
    await keep(store, "kiosk", importance=0.9)
    assert [each.text for each in await recalled(store, question)] == ["kiosk"]
    assert await found(store, question) in ([], ["kiosk"])


async def test_rank_is_the_same_on_both_databases(store: Store) -> None:
    """The order is told here in full, so that both must keep it."""
    chance, told = Random(7), "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    texts = [" ".join(chance.choices(told, range(10, 0, -1), k=chance.randint(1, 30))) for _ in range(150)]
    await store.write(_many, texts)
    assert [texts.index(text) for text in await found(store, "gamma kappa eta", most=12)] == EXPECTED


def _many(tx: Tx, texts: list[str]) -> None:
    for place, text in enumerate(texts):
        about = note(text, importance=(place % 10) / 10, type="learning")
        archive.keep(tx, about, ANN, "test", after(-place))


EXPECTED = [9, 19, 6, 5, 7, 57, 48, 8, 17, 49, 39, 38]


async def test_words_of_very_many_memories_are_found_however_common(store: Store) -> None:
    """Where a word is in very many memories the others decide; where all are, none is lost."""
    await store.write(_many, [f"the kiosk number{place} sells" for place in range(450)])
    assert (await found(store, "kiosk number7"))[0] == "the kiosk number7 sells"
    assert len(await recalled(store, "kiosk sells")) == 5
    assert (await recalled(store, "kiosk number449 sells"))[0].text == "the kiosk number449 sells"
