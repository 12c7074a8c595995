"""The quick looks at ordinary calls: none lets through what the whole look finds."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.policy import argument_names, arguments, meaning
from interlock.policy.calls import Call, Raised
from interlock.policy.rules import Policy
from tests.examples import times
from tests.unit.policy.test_meaning import ENTRIES

NAMES = st.sampled_from(
    "action path message file to url q query name title cwd body amount ids token api_key host env note code".split()
)
PIECES = st.lists(
    st.sampled_from(
        "src/app/1.py commit push delete_user notes.md .env ../x /etc/passwd ~/.ssh C:\\x http://a.b a@b.c prod "
        "db.prod.x token=abcdef12 {{secret:x}} {\"a\":1} sk-abcdefghijk12345 %70rod Zm9vYmFyYmF6cXV4 p.r.o.d 12 "
        "EUR AGENTS.md id_rsa".split()
    ),
    min_size=1, max_size=3,
).map(" ".join)  # fmt: skip
VALUES = PIECES | st.text(max_size=12) | st.integers(0, 99) | st.booleans() | st.none()
ARGS = st.dictionaries(NAMES, VALUES, max_size=3)


@times(2)
@given(st.sampled_from("helper publish_branch write_file get_page bash database".split()), ARGS)
def test_where_arguments_say_nothing_the_whole_look_finds_nothing(tool: str, args: dict[str, Any]) -> None:
    if meaning._is_harmless(args, argument_names.kind_of(tool)):
        found: dict[str, Raised] = {}
        meaning._Judgement(Call(tool=tool, args=args), Policy.builtin(), found).at(args)
        assert found == {}


def looked_at(args: dict[str, Any]) -> arguments.Inspection:
    """What is found without a quick look: one level deeper, which no quick look goes."""
    return arguments.inspect({"deep": args})


@times(2)
@given(ARGS)
def test_quiet_arguments_hold_no_secret_and_no_production(args: dict[str, Any]) -> None:
    quick, whole = arguments.inspect(args), looked_at(args)
    assert (bool(quick.secrets), bool(quick.production), quick.has_braces) == (
        bool(whole.secrets), bool(whole.production), whole.has_braces,
    )  # fmt: skip


def test_quiet_calls_of_the_tables_hold_no_secret_and_no_production() -> None:
    quiet = [entry["args"] for entry in ENTRIES if arguments._is_harmless(entry["args"])]
    assert quiet
    for args in quiet:
        assert looked_at(args) == arguments.inspect(args)
