"""Secrets, production systems and misshapen values in the arguments of calls."""

import math
import sys
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.arguments import inspect
from interlock.policy.secrets import scrub, scrub_value

KEY = "sk-" + "ant-api03-abcdefGHIJ"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "args",
    [
        {"text": KEY},
        {"text": "pk_" + "live_abcdefghijklmnop"},
        {"text": "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"},
        {"text": "github_" + "pat_11ABCDEFG0abcdefghijkl_mnopqrs"},
        {"text": "xoxb-" + "123456789012-abcdef"},
        {"text": "AKIA" + "IOSFODNN7EXAMPLE"},
        {"text": "https://api.telegram.org/bot123456789:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe"},
        {"text": "https://hooks." + "slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"},
        {"text": PEM},
        {"text": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.abc_def123"},
        {"headers": {"Authorization": "Bearer abc.def123456789012"}},
        {"url": "postgres://me:s3cret@db/x"},
        {"api_key": "abcd1234efgh"},
        {"password": "hunter2"},
        {"password": 12345678},
        {"list": [{"deep": [{"clientSecret": "zzzzzz"}]}]},
        {"token": "abcdefgh"},
        {"password": ["hunter22"]},
        {"secrets": ["zzzzzz", 5]},
        {"api_key": {"value": "abcd1234efgh"}},
        {"command": "export API_KEY=abcdefgh1234"},
        {"command": "PASSWORD=hunterhunter ./run"},
        {"command": "tool --password=abcdefg1"},
        {"command": "curl -H 'X-Token: abcdef123456'"},
        {"text": '{"password": "hunter22"}'},
        {"text": '{\\"password\\": \\"hunter22\\"}'},
        {"text": "db_password: 'correcthorse'"},
        {"text": "İ password=hunter22"},
        {KEY: 1},
    ],
)
def test_what_looks_like_a_secret_is_found_and_not_repeated(args: dict[str, Any]) -> None:
    seen = inspect(args)
    assert seen.secrets
    assert all(KEY not in finding.where and "hunter" not in finding.where for finding in seen.secrets)


@pytest.mark.parametrize(
    "args",
    [
        {"max_tokens": 4096}, {"token_count": 12}, {"author": "Ann Key"}, {"tokens": ["a"]}, {"key": "title"},
        {"token": ["a"]}, {"keys": ["customer-2026-report-01"]}, {"key": ["customer-2026-report-01"]},
        {"password": {"min_length": 12, "type": "text"}}, {"secrets": []}, {"api_key": {"id": "abcd1234efgh"}},
        {"primary_key": "user_id_12345678901"}, {"page_token": "abcdefgh12345678"}, {"keyboard": "qwertyuiop1234567"},
        {"session_key": "a:subagent:b12345678901"}, {"use_token": True}, {"password": ""}, {"password": None},
        {"api_key": "${API_KEY}"}, {"api_key": "{{secret:stripe}}"}, {"secretary": "Ann Smith"},
        {"code": "token = get_token(x)"}, {"code": "password = os.environ['PASSWORD']"},
        {"code": "login(password=password, token=new_token)"}, {"code": "call(max_tokens=4096, temperature)"},
        {"code": "for key, value in rows: out[key]=value"}, {"text": "Password: required"},
        {"text": "the key: understanding everything"}, {"text": "The secret: patience"},
        {"text": "sk-learn-based-approach"},
        {"text": "monkey=banana123456"}, {"text": "bearer of bad news"}, {"url": "http://localhost:8080/x@y"},
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_secret_is_not(args: dict[str, Any]) -> None:
    assert inspect(args).secrets == ()


@pytest.mark.parametrize(
    "args",
    [
        {"host": "db.prod.example.com"}, {"host": "prod01.acme.io"}, {"path": "/srv/production/app"},
        {"url": "https://api.production.acme.io/x"}, {"command": "deploy --env=prod"},
        {"command": "x --env production"},
        {"command": "kubectl -n prod get"}, {"command": "psql -h prod-db"}, {"command": "ssh admin@production"},
        {"command": "NODE_ENV=production run"}, {"env": "production"}, {"env": "PROD"}, {"target": " Production "},
        {"table": "prod_users"}, {"name": "prodDb"}, {"is_production": True}, {"prod": {"a": 1}},
        {"code": "run(env='production')"}, {"query": "deploy to production"}, {"body": "we ship to prod today"},
        {"content": "see https://prod.example.com"}, {"rows": [["production"]]},
    ],
)  # fmt: skip
def test_a_production_system_is_recognised(args: dict[str, Any]) -> None:
    assert inspect(args).production


@pytest.mark.parametrize(
    "args",
    [
        {"a": "product"}, {"a": "reproduce the bug"}, {"a": "productivity"}, {"path": "products/list.md"},
        {"query": "milk production statistics"}, {"content": "a production-ready guide"}, {"a": "non-production"},
        {"body": "used in production by many"}, {"text": "Production."}, {"text": "production-grade. Pre-production"},
        {"a": "co-production"}, {"query": "best vendors for production use"}, {"is_production": False},
    ],
)  # fmt: skip
def test_talk_about_products_and_production_names_no_system(args: dict[str, Any]) -> None:
    assert inspect(args).production == ()


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (None, "not a JSON object"),
        ([1], "not a JSON object"),
        ({"a": math.nan}, "not finite"),
        ({"a": [math.inf]}, "not finite"),
        ({1: "a"}, "a key that is not text"),
        ({"a": {"b": b"x"}}, "a bytes, which is not JSON"),
        (nested(200_000), "deeper than 64"),
        ({"a": [0] * 30_000}, "more than 20,000 values"),
        ({"a": "x" * 3_000_000}, "more than 2,000,000 characters"),
    ],
)
def test_what_no_approval_could_bind_to_is_unfit(args: Any, why: str) -> None:
    unfit = inspect(args).unfit
    assert unfit is not None
    assert why in unfit


def test_scrubbing_masks_the_value_and_keeps_the_rest() -> None:
    text = f"my key is {KEY}, password=abc123! and postgres://me:s3cret@db/x"
    assert scrub(text) == (
        "my key is [secret: provider key], password=[secret: value of a secret name] and "
        "postgres://me:[secret: password in a URL]@db/x"
    )
    assert scrub(f"a {PEM} b") == "a [secret: private key] b"


def test_a_cut_private_key_is_masked_to_its_end() -> None:
    assert scrub(PEM[:45]) == "[secret: private key]"


def test_scrubbing_a_value_masks_names_and_shapes_at_any_depth() -> None:
    value = {"a": [{"password": "hunter2"}, KEY], "n": 3, "deep": nested(100)}
    cleaned = scrub_value(value)
    assert cleaned["a"] == [{"password": "[secret: value of a secret name]"}, "[secret: provider key]"]
    assert cleaned["n"] == 3
    assert scrub_value({"password": ["hunter2"]}) == {"password": "[secret: value of a secret name]"}
    assert "too deep to show" in str(cleaned["deep"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=" + "a1b2" * 300, "password=[secret: value of a secret name]"),
        ("key: " + "MIIEv" * 90 + "7", "key: [secret: value of a secret name]"),
        ("key: " + "aaaa" * 200, "key: " + "aaaa" * 200),
        ("max_token=abcdef12 token=abcdef12", "max_token=abcdef12 token=[secret: value of a secret name]"),
        (
            "Token=API_KEY: a1b2c3d4e5f6g7h8",
            "Token=[secret: value of a secret name] [secret: value of a secret name]",
        ),
        ("tokenkey_secret = 'hunter22x'", "tokenkey_secret = '[secret: value of a secret name]'"),
        ("token=$TOKEN token=abcdef12(x)", "token=$TOKEN token=abcdef12(x)"),
        ("password=://me:s3cret@db/x", "password=[secret: value of a secret name]"),
    ],
)
def test_values_under_names_are_masked_to_their_end_however_long(text: str, shown: str) -> None:
    assert scrub(text) == shown


@pytest.mark.parametrize(
    "piece", ["token=", "key=", "max_token=", "token=$a", "key=1", "tokenkey", "secret: a=", "pwd=a "]
)
def test_names_of_secrets_cost_a_look_each_and_their_values_one_for_all(piece: str) -> None:
    def looks(size: int) -> tuple[int, int]:
        found: Counter[str] = Counter()
        sys.setprofile(lambda frame, event, arg: found.update([getattr(arg, "__name__", event)]))
        try:
            scrub((piece * size)[:size])
        finally:
            sys.setprofile(None)
        return found.total(), found["search"]

    some, more = looks(5_000), looks(10_000)
    assert more[0] <= 2.1 * some[0] + 20
    assert more[0] <= 10_000 * 4
    stretches = 10_000 // len(piece) if " " in piece else 1
    assert more[1] <= 2 * stretches + 8


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_key_between_any_words_is_scrubbed(before: str, after: str) -> None:
    assert KEY not in scrub(f"{before} {KEY} {after}")


@given(st.text(max_size=300))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "key",
        "a-",
        "eyJ",
        "-----BEGIN PRIVATE" + " KEY-----",
        "://",
        "password: ",
        "prod-",
        "sk-",
        "bearer ",
        "to ",
        "token=",
        "key=",
        "max_token=",
        "token=$a",
        "key=1",
        "key:a-",
    ],
)
def test_looking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        begun = time.process_time()
        inspect({"text": text})
        scrub(text)
        return time.process_time() - begun

    assert seconds(400_000) < 40 * max(seconds(40_000), 0.02)
