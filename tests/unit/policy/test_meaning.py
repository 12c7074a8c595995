"""What arguments mean: tables of honest and hostile calls, disguises, and properties that hold for any call."""

import base64
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.as_code.cases import answer
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.calls import Call, Caller, Decision
from interlock.policy.decide import decide
from interlock.policy.kinds import KINDS
from interlock.policy.meaning import findings
from interlock.policy.risk import Effect, Risk
from interlock.policy.rules import Policy
from tests.examples import times

HERE = Path(__file__).parent / "calls"
RULES = {kind.rule for kind in KINDS} | {"builtin:secret", "builtin:production"}
ACME = policy_from(
    """version: 1
organisation: {domains: [example.com], addresses: [partner@other.org]}
limits: {amount: 100, count: 3}
production: [db1, live-cluster]
""",
    "p.yaml",
)


@cache
def groups_of(table: str) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = yaml.safe_load((HERE / f"{table}.yaml").read_text())
    return groups


def as_calls(table: str, group: str) -> Iterator[dict[str, Any]]:
    for entry in groups_of(table)[group]:
        if group == "shell":
            yield {"tool": "code_exec", "args": {"command": entry}}
            yield {"tool": "code_exec", "args": {"code": entry, "language": "bash"}}
        elif group == "python":
            yield {"tool": "code_exec", "args": {"code": entry, "language": "python"}}
        elif group == "sql":
            yield {"tool": "database", "args": {"query": entry}}
        elif group == "fetch":
            yield {"tool": "fetch", "args": {"url": entry}}
        else:
            yield entry


GROUPS = ("shell", "python", "sql", "fetch", "calls")


@pytest.mark.parametrize("group", GROUPS)
def test_honest_calls_are_not_held(group: str) -> None:
    decided = [(call, answer(Policy.builtin(), call)) for call in as_calls("honest", group)]
    assert [(call, d.reasons) for call, d in decided if d.effect is not Effect.ALLOW] == []


@pytest.mark.parametrize("group", GROUPS)
def test_hostile_calls_are_red_by_what_they_mean(group: str) -> None:
    decided = [(call, answer(Policy.builtin(), call)) for call in as_calls("hostile", group)]
    wrong = [(call, d.rules) for call, d in decided if d.risk is not Risk.RED or not RULES.intersection(d.rules)]
    assert wrong == []


def test_the_tables_are_as_large_as_they_should_be() -> None:
    for table in ("honest", "hostile"):
        assert sum(map(len, groups_of(table).values())) >= 600


def red(tool: str, args: dict[str, Any], policy: Policy | None = None) -> Decision:
    return decide(Call(tool=tool, args=args), Caller(), policy or Policy.builtin())


CORE: list[tuple[str, str, str]] = [
    ("code_exec", "command", "rm -rf data"),
    ("code_exec", "command", "ls; curl http://x.example"),
    ("helper", "cmd", "git push origin main"),
    ("helper", "command", "cat .env"),
    ("database", "query", "DELETE FROM users"),
    ("helper", "sql", "DROP TABLE users"),
    ("fetch", "url", "http://localhost/admin"),
    ("helper", "url", "http://169.254.169.254/latest"),
    ("file_write", "path", "AGENTS.md"),
    ("file_read", "path", "../../etc/passwd"),
    ("helper", "path", "/home/me/.ssh/id_rsa"),
    ("helper", "to", "eve@evil.example"),
    ("helper", "env", "production"),
    ("helper", "host", "db.prod.example.com"),
    ("helper", "note", "password=hunter22hunter"),
    ("git_ops", "action", "push"),
    ("helper", "action", "delete_user"),
]
WIDE = {c: chr(ord(c) + 0xFEE0) for c in map(chr, range(0x21, 0x7F))}
ALIKE = {"a": "а", "e": "е", "o": "о", "p": "р", "c": "с", "x": "х", "i": "і", "s": "ѕ"}


def turned(text: str, which: list[bool], turn: Callable[[str], str]) -> str:
    return "".join(turn(c) if which[number % len(which)] else c for number, c in enumerate(text))


DISGUISES: dict[str, Callable[[str, list[bool]], str]] = {
    "as it is": lambda text, which: text,
    "case": lambda text, which: turned(text, which, str.swapcase),
    "full width": lambda text, which: turned(text, which, lambda c: WIDE.get(c, c)),
    "look-alikes": lambda text, which: turned(text, which, lambda c: ALIKE.get(c, c)),
    "invisible": lambda text, which: turned(text, which, lambda c: c + "\u200b"),
    "soft hyphens": lambda text, which: turned(text, which, lambda c: c + "\u00ad"),
    "from right to left": lambda text, which: turned(text, which, lambda c: "\u202e" + c),
    "spaces around": lambda text, which: f" \t{text}\n ",
}


@times(3)
@given(st.sampled_from(CORE), st.sampled_from(sorted(DISGUISES)), st.lists(st.booleans(), min_size=3, max_size=9))
def test_disguise_of_a_value_does_not_lower_red(core: tuple[str, str, str], how: str, which: list[bool]) -> None:
    tool, key, value = core
    assert red(tool, {key: DISGUISES[how](value, which)}).risk is Risk.RED


EXTRA = st.dictionaries(
    st.from_regex(r"x_[a-z]{1,8}", fullmatch=True), st.text(max_size=30) | st.integers(), max_size=3
)


@times(2)
@given(st.sampled_from([core for core in CORE if core[0] == "helper"]), EXTRA, st.integers(0, 5))
def test_wrapping_a_call_does_not_lower_red(core: tuple[str, str, str], extra: dict[str, Any], how: int) -> None:
    _, key, value = core
    inner: dict[str, Any] = {key: value, **extra}
    wrapped: list[dict[str, Any]] = [
        inner,
        {"args": inner, **extra},
        {"items": [extra, [inner]]},
        {"input": json.dumps(inner)},
        {"input": json.dumps({"params": json.dumps(inner)})},
        {"batch": [json.dumps(inner)]},
    ]
    assert red("helper", wrapped[how]).risk is Risk.RED


ENTRIES = [call for table in ("honest", "hostile") for group in GROUPS for call in as_calls(table, group)]


@times(3)
@given(st.sampled_from(ENTRIES), EXTRA)
def test_more_arguments_never_lower_a_risk(call: dict[str, Any], extra: dict[str, Any]) -> None:
    before = answer(Policy.builtin(), call)
    after = answer(Policy.builtin(), {**call, "args": {**extra, **call["args"]}})
    assert after.risk >= before.risk
    assert set(before.rules) <= set(after.rules)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(
    "command code sql query url path to amount ids action method body headers input language".split()
)
TOOLS = st.sampled_from(
    "code_exec fetch browser database file_read file_write git_ops helper bash http_request".split()
)


@times(1.5)
@given(TOOLS, st.dictionaries(KEYS | st.text(max_size=8), JSON, max_size=4), st.booleans())
def test_any_arguments_are_judged_without_an_error(tool: str, args: dict[str, Any], ours: bool) -> None:
    call = Call(tool=tool, args=args, is_builtin=ours)
    first = tuple(findings(call, ACME))
    assert first == tuple(findings(call, ACME))
    assert len({found.rule for found in first}) == len(first)


def test_reasons_carry_no_value_of_the_arguments() -> None:
    secret = "zanzibar"
    for text in (
        f"curl http://{secret}.example",
        f"rm {secret}",
        f"{secret} --now",
        f"git {secret}",
        f"make {secret}=1",
    ):
        said = answer(Policy.builtin(), {"tool": "code_exec", "args": {"command": text}})
        assert secret not in " ".join(said.reasons)


@pytest.mark.parametrize(
    ("args", "inside"),
    [
        ({"to": "ann@example.com"}, True),
        ({"to": "Ann Lee <ann@EXAMPLE.com>"}, True),
        ({"to": ["ann@example.com", "partner@other.org"]}, True),
        ({"to": "other@other.org"}, False),
        ({"to": "ann@sub.example.com"}, False),
        ({"to": "ann@example.com.evil.org"}, False),
        ({"to": "ann@examp1e.com"}, False),
        ({"to": "ann@exаmple.com"}, False),
        ({"to": "ann@ｅxample.com"}, False),
        ({"to": "ann@example.com, eve@evil.org"}, False),
        ({"to": "ann@example.com\nBcc: eve@evil.org"}, False),
        ({"to": "ann@example.com <eve@evil.org>"}, False),
        ({"to": '"ann@example.com"@evil.org'}, False),
        ({"to": "eve%evil.org@example.com"}, False),
        ({"to": "@evil.org:ann@example.com"}, False),
        ({"to": "xn--exmple-cua@example.com"}, True),
        ({"recipients": [{"name": "Ann", "email": "ann@example.com"}]}, True),
        ({"recipients": [{"name": "Ann", "email": "ann@evil.org"}]}, False),
        ({"attendees": ["Somebody"]}, False),
        ({"body": "write to eve@evil.org"}, True),
        ({"deliver": "eve", "domain": "evil.org", "max_tokens": 3}, True),
    ],
)
def test_recipients_are_inside_or_outside(args: dict[str, Any], inside: bool) -> None:
    rules = red("helper", args, ACME).rules
    assert ("builtin:recipient" not in rules) is inside


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"amount": 99, "currency": "EUR"}, None),
        ({"amount": 101, "currency": "EUR"}, "builtin:amount"),
        ({"amount": "EUR 1,000.00", "currency": "EUR"}, "builtin:amount"),
        ({"amount": "1.000,50 €"}, "builtin:amount"),
        ({"amount": "-5000"}, "builtin:amount"),
        ({"amount": 10**400}, "builtin:amount"),
        ({"iban": "DE89370400440532013000", "amount": 50}, None),
        ({"iban": "DE89370400440532013000", "amount": 500}, "builtin:pays"),
        ({"iban": "DE89370400440532013000"}, "builtin:pays"),
        ({"ids": [1, 2, 3]}, None),
        ({"ids": [1, 2, 3, 4]}, "builtin:bulk"),
        ({"ids": "1,2,3,4,5"}, "builtin:bulk"),
        ({"quantity": 4}, "builtin:bulk"),
        ({"users": "ALL"}, "builtin:bulk"),
        ({"host": "db1"}, "builtin:production"),
        ({"host": "ＤＢ１.internal.example"}, "builtin:production"),
        ({"host": "db12"}, None),
        ({"host": "mydb1"}, None),
    ],
)
def test_limits_and_production_are_those_of_the_policy(args: dict[str, Any], rule: str | None) -> None:
    rules = red("helper", args, ACME).rules
    assert rules == () if rule is None else rule in rules


@pytest.mark.parametrize("text", ["db.prod.example.com", "password=hunter22hunter22"])
def test_encoded_secrets_and_production_are_found(text: str) -> None:
    raw = text.encode()
    for hidden in (
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        raw.hex(),
        quote(text, safe="").replace("p", "%70"),
        quote(quote(text.replace("p", "%70"))),
        "".join(f"&#{byte};" for byte in raw),
        "".join(f"\\u{byte:04x}" for byte in raw),
        json.dumps(json.dumps({"a": text})),
        base64.b64encode(base64.b64encode(raw)).decode(),
        f"see {base64.b64encode(raw).decode()} there",
    ):
        assert {"builtin:secret", "builtin:production"}.intersection(red("helper", {"note": hidden}).rules), hidden


HUGE = 100_000
BOMBS = {
    "open brackets": "(" * HUGE, "quotes": '"' * HUGE, "substitutions": "$(" * (HUGE // 2), "escapes": "\\" * HUGE,
    "here-documents": "<<a " * (HUGE // 4), "percent": "%41" * (HUGE // 3), "base64": "QUJD" * (HUGE // 4),
    "addresses": "a@b.c," * (HUGE // 6), "letters": "a" * HUGE, "foreign": "а" * HUGE,
    "spaced": "p r o d " * (HUGE // 8), "wraps": "env " * 4_000 + "rm",
    "slashes": "../" * (HUGE // 3), "nested": '{"a":' * (HUGE // 5), "NUL": "\x00" * HUGE, "halves": "\ud800" * HUGE,
    "minus": "-" * 30_000 + "1", "comments": "/*" * (HUGE // 2), "deep sql": "SELECT " + "(" * 9_000,
    "digits": "1" * HUGE, "functions": "f(){ f; };" * 1_500,
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_text_is_judged(name: str) -> None:
    """What took exponential time would never come to its end here."""
    for tool, key in (("code_exec", "command"), ("helper", "code"), ("database", "query"), ("fetch", "url"),
                      ("helper", "to"), ("helper", "input"), ("file_read", "path")):  # fmt: skip
        decision = red(tool, {key: BOMBS[name]})
        assert "builtin:undecided" not in decision.rules


def test_parsers_write_no_statement_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    for table in ("honest", "hostile"):
        for call in as_calls(table, "sql"):
            answer(Policy.builtin(), call)
    assert [record.name for record in caplog.records] == []
