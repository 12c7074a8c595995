"""Who hears what is said: for every channel, thread and set of members. Row E16."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.audience import AGENT, DM, PERSON, Participant, agents_of, handles, listeners, mentions

NAMES = st.sampled_from(["ada", "bob", "coder", "qa", "research", "designer"])
ANYBODY = st.builds(Participant, st.sampled_from([PERSON, AGENT]), NAMES)
MEMBERS = st.lists(ANYBODY, max_size=8)
KINDS = st.sampled_from(["channel", "private"])


@given(ANYBODY, MEMBERS, st.sampled_from(["channel", "private", DM]), st.none() | MEMBERS, MEMBERS)
def test_nobody_hears_themselves_and_nobody_hears_from_outside(
    author: Participant,
    members: list[Participant],
    kind: str,
    thread: list[Participant] | None,
    named: list[Participant],
) -> None:
    heard = listeners(author, members, kind=kind, thread=thread, named=named)
    assert author not in heard
    assert set(heard) <= set(members)
    assert len(heard) == len(set(heard))


@given(ANYBODY, MEMBERS, KINDS, MEMBERS)
def test_all_members_of_a_channel_hear_what_is_said_there(
    author: Participant, members: list[Participant], kind: str, named: list[Participant]
) -> None:
    assert set(listeners(author, members, kind=kind, named=named)) == set(members) - {author}


@given(ANYBODY, MEMBERS, KINDS, MEMBERS, MEMBERS)
def test_of_a_thread_those_hear_who_are_in_it_or_named(
    author: Participant, members: list[Participant], kind: str, thread: list[Participant], named: list[Participant]
) -> None:
    heard = listeners(author, members, kind=kind, thread=thread, named=named)
    assert set(heard) == (set(thread) | set(named)) & set(members) - {author}


@given(ANYBODY, ANYBODY, st.none() | MEMBERS)
def test_of_a_direct_conversation_the_other_one_hears(
    one: Participant, other: Participant, thread: list[Participant] | None
) -> None:
    assert listeners(one, [one, other], kind=DM, thread=thread) == ((other,) if one != other else ())


@given(ANYBODY, MEMBERS, MEMBERS)
def test_those_named_come_first_and_the_rest_in_order(
    author: Participant, members: list[Participant], named: list[Participant]
) -> None:
    heard = listeners(author, members, kind="channel", named=named)
    first = [who for who in heard if who in named]
    order = list(dict.fromkeys(members))
    assert list(heard[: len(first)]) == first
    assert sorted(first, key=order.index) == first
    assert sorted(heard[len(first) :], key=order.index) == list(heard[len(first) :])


@given(MEMBERS, st.integers(0, 6), st.integers(1, 5), st.frozensets(NAMES))
def test_only_agents_get_turns_and_a_chain_ends(
    heard: list[Participant], depth: int, chain_depth: int, turns: frozenset[str]
) -> None:
    given_turns = agents_of(heard, depth=depth, chain_depth=chain_depth, turns=turns)
    agents = [who.name for who in heard if who.kind == AGENT]
    assert set(given_turns) <= set(agents)
    if depth == 0:
        assert list(given_turns) == agents
    elif depth >= chain_depth:
        assert given_turns == ()
    else:
        assert set(given_turns) == set(agents) - turns


def test_names_are_called_with_an_at() -> None:
    text = "Hi @Coder, (@qa) and @ana.maria-smith: write to bob@example.com or x@y, not @@research or a+@b. @coder!"
    assert mentions(text) == ("coder", "qa", "ana.maria-smith")


def test_people_are_called_by_their_whole_name_in_one_word() -> None:
    assert handles("Ana Maria") == {"anamaria", "ana-maria", "ana_maria", "ana.maria"}


@given(st.text())
def test_what_is_called_is_in_the_text(text: str) -> None:
    for name in mentions(text):
        assert f"@{name}" in text.lower()
