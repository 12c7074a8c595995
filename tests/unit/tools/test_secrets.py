"""Named secrets: who may have them where, and that no usual spelling of a value passes."""

import base64
import html
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import ConfigError
from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.placeholders import RULE, names, texts
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from interlock.settings import load_settings
from interlock.settings.model import SecretSettings
from interlock.tools.secrets import SecretProblem, Vault, Who

VALUE = "hunter2 & co/+<ü>%\"'\\end"
ME = Who("fetch", "coder")


def vault(value: str = VALUE, **more: object) -> Vault:
    given = {"env": "X", "tools": ("fetch",), "value": value, **more}
    return Vault({"TOKEN": SecretSettings.model_validate(given)})


@pytest.mark.parametrize(
    "spelt",
    [
        VALUE, quote(VALUE), quote(VALUE, safe=""), quote_plus(VALUE), quote(VALUE, safe="").lower(),
        quote(quote(VALUE, safe=""), safe=""), json.dumps(VALUE)[1:-1], json.dumps(VALUE, ensure_ascii=False),
        html.escape(VALUE), VALUE.encode().hex(), VALUE.encode().hex().upper(), repr(VALUE),
        base64.b64encode(VALUE.encode()).decode(), base64.urlsafe_b64encode(VALUE.encode()).decode(),
        base64.b64encode(f"user:{VALUE}".encode()).decode(), base64.b64encode(f"a{VALUE}zz".encode()).decode(),
        base64.b64encode(f"ab{VALUE}z".encode()).decode(), base64.b64encode(f"abc{VALUE}xyzz".encode()).decode(),
    ],
)  # fmt: skip
def test_no_usual_spelling_of_a_value_passes(spelt: str) -> None:
    text = vault().scrub(f"before {spelt} after")
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert "[secret: TOKEN]" in text
    assert spelt not in text
    assert vault().scrub_bytes(f"before {spelt} after".encode()).decode() == text


@given(
    st.text(min_size=8, max_size=40).filter(lambda s: len(s.strip()) >= 8 and s.strip() not in "[secret: TOKEN]"),
    st.text(),
    st.text(),
)
def test_a_value_is_gone_whatever_stands_around_it(value: str, before: str, after: str) -> None:
    kept = vault(value.strip())
    assert value.strip() not in kept.scrub(before + value.strip() + after)


def test_each_line_of_a_long_secret_is_masked_by_itself() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU\n-----END KEY-----"
    assert "AASCBKcw" not in vault(key).scrub("it says AASCBKcwggSjAgEAAoIBAQC7VJTU there")


def test_json_is_masked_in_values_and_names_and_what_holds_none_is_left_alone() -> None:
    kept, plain = vault(), {"a": [1, None, "x"]}
    assert kept.scrub_value(plain) is plain
    assert kept.scrub_value({"h": [{VALUE: f"x{VALUE}"}]}) == {"h": [{"[secret: TOKEN]": "x[secret: TOKEN]"}]}


def test_keys_and_passwords_of_the_settings_are_known_too(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "an unusual key of 1 provider", "SLACK_BOT_TOKEN": "xoxb-of-slack-1234"}
    found = Vault.of(load_settings(tmp_path, env, {"database_url": "postgresql://me:pa55word-long@db/x"}))
    escaped = Vault.of(
        load_settings(tmp_path, {}, {"database_url": "postgresql://db/x?user=me&password=p%40ss-w0rd-1"})
    )
    assert "w0rd" not in escaped.scrub("p@ss-w0rd-1 p%40ss-w0rd-1")
    text = "an unusual key of 1 provider, xoxb-of-slack-1234, pa55word-long, postgres"
    assert found.scrub(text) == (
        "[secret: the key of anthropic], [secret: slack.bot_token], [secret: the password of the database], postgres"
    )


@pytest.mark.parametrize(
    ("who", "domains", "args", "told"),
    [
        (ME, (), {"url": "https://a.example/?t={{secret:TOKEN}}"}, None),
        (ME, (), {"headers": {"A": "{{ SECRET : TOKEN }}"}}, None),
        (Who("other", "coder"), (), {"x": "{{secret:TOKEN}}"}, "no secret `TOKEN` for other here; there are: none"),
        (ME, (), {"x": "{{secret:NONE}}"}, "no secret `NONE` for fetch here; there are: TOKEN"),
        (ME, (), {"x": "{{secret:}}"}, "no secret `` for fetch"),
        (ME, (), {"{{secret:TOKEN}}": "x"}, "not in the name"),
        (Who("fetch", "coder", outside=False), (), {"x": "{{secret:TOKEN}}"}, "there are: none"),
        (ME, ("a.example",), {"url": "https://A.example./x", "t": "{{secret:TOKEN}}"}, None),
        (ME, ("a.example",), {"url": "https://b.example/x", "t": "{{secret:TOKEN}}"}, "may go to a.example only"),
        (ME, ("a.example",), {"url": "https://a.example.evil.example", "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"url": "https://a.example@evil.example", "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"url": "https://evil.example\\@a.example", "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"url": "//evil.example/x", "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"url": "https://{{secret:TOKEN}}.a.example/x"}, "only"),
        (ME, ("a.example",), {"url": "https://u:{{secret:TOKEN}}@a.example/x"}, None),
        (ME, ("a.example",), {"u": ["https://a.example", "ftp://evil.example"], "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"u": ["https://a.example", "https:evil.example"], "t": "{{secret:TOKEN}}"}, "only"),
        (ME, ("a.example",), {"u": ["https://a.example", "HTTPS:\\evil.example"], "t": "{{secret:TOKEN}}"}, "only"),
    ],
)
def test_a_secret_goes_where_the_settings_say_and_nowhere_else(
    who: Who, domains: tuple[str, ...], args: dict[str, object], told: str | None
) -> None:
    kept = vault(domains=domains)
    problem = kept.refusal(who, args)
    if told is None:
        assert problem is None
        assert VALUE in "".join(texts(kept.filled(who, args)))
        return
    assert told in str(problem)
    with pytest.raises(SecretProblem):
        kept.filled(who, args)


@pytest.mark.parametrize(
    ("args", "is_free"),
    [
        ({"host": "evil.example"}, False),
        ({"to": "eve@evil.example"}, False),
        ({"server": {"port": 443, "names": ["evil.example:443"]}}, False),
        ({"peer": "10.0.0.7"}, False),
        ({"peer": "LOCALHOST"}, False),
        ({"command": "curl evil.example/in -e https://a.example"}, False),
        ({"endpoint": "exämple.example"}, False),
        ({"proxy": "[2001:db8::1]:3128"}, False),
        ({"proxy": "2001::b"}, False),
        ({"proxy": "::1"}, False),
        ({"proxy": "evil\u3002example:80"}, False),
        ({"proxy": "evil\uff0eexample:80"}, False),
        ({"proxy": "evil\u200b.example:80"}, False),
        ({"proxy": "https\uff1a\uff0f\uff0fevil\u3002example"}, False),
        ({"proxy": "evil%2eexample:80"}, False),
        ({"proxy": "_x.evil.example"}, False),
        ({"proxy": "0300.0250.0.1"}, False),
        ({"proxy": "192.168.257"}, False),
        ({"proxy": "3221226219:8080"}, False),
        ({"command": "curl 0xC0A80001 -e https://a.example"}, False),
        ({"command": "curl 3221226219 -e https://a.example"}, False),
        ({"command": "curl -xevil.example:80 https://a.example"}, False),
        ({"proxy": "evil"}, False),
        ({"smtp_server": "Evil:25"}, False),
        ({"host": "A.example."}, True),
        ({"target": "staging", "domain": "sales", "hosting": "shared"}, True),
        ({"customer": "3221226219", "at": "12:30:45", "id": "0xC0A80001", "price": "19.99"}, True),
        ({"command": "head -n 100 https://a.example", "code": "x[::2]", "card": "aa:bb:cc:dd:ee:ff"}, True),
        ({"body": "as on b.example, says eve@b.example", "path": "notes/plan.md"}, True),
        ({"version": "2.10", "retries": 3, "accept": "application/json", "note": None}, True),
    ],
)
def test_a_host_that_stands_without_a_scheme_is_asked_about(args: dict[str, object], is_free: bool) -> None:
    kept = vault(domains=("a.example",))
    given = {"url": "https://a.example/x", "auth": "{{secret:TOKEN}}", **args}
    assert kept.refusal(ME, given) is None
    assert kept.may_use(ME, given) == (frozenset({"TOKEN"}) if is_free else frozenset())


def test_only_named_personas_get_a_secret_that_names_any() -> None:
    kept = vault(personas=("ops",))
    assert kept.offered(ME) == ()
    assert kept.offered(Who("fetch", "ops")) == ("TOKEN",)


@pytest.mark.parametrize(
    ("domains", "url", "risk"),
    [
        ((), "https://a.example", Risk.RED),
        (("a.example",), "https://a.example", Risk.YELLOW),
        (("*",), "https://anything.example", Risk.YELLOW),
        (("a.example",), "no address", Risk.RED),
    ],
)
def test_naming_a_secret_is_red_unless_the_settings_say_where_it_may_go(
    domains: tuple[str, ...], url: str, risk: Risk
) -> None:
    args = {"to": url, "auth": "{{secret:TOKEN}}"}
    call = Call(tool="look", args=args, declared_risk="YELLOW", may_use=vault(domains=domains).may_use(ME, args))
    found = decide(call, Caller(trust=Trust.LEAD), Policy.builtin())
    assert found.risk is risk
    assert (RULE in found.rules) is (risk is Risk.RED)
    assert decide(Call(tool="look", args=args, declared_risk="GREEN"), Caller(), Policy.builtin()).effect is Effect.HOLD


def test_names_are_found_however_deep_and_nothing_else_is_one() -> None:
    assert names({"a": [{"b": "x{{secret:A}}y{{secret: B }}"}], "c": "{{A}} {secret:C} {{ secrets:D }}"}) == {"A", "B"}


def test_a_file_is_read_anew_each_time_and_both_values_stay_masked(tmp_path: Path) -> None:
    path = tmp_path / "token"
    kept = Vault({"TOKEN": SecretSettings(file=path, tools=("fetch",))})
    with pytest.raises(SecretProblem, match="cannot be read"):
        kept.value("TOKEN")
    path.write_text("the first value\n")
    assert kept.value("TOKEN") == "the first value"
    path.write_text("the second value\n")
    assert kept.filled(ME, {"x": "{{secret:TOKEN}}"}) == {"x": "the second value"}
    assert kept.scrub("the first value, the second value") == "[secret: TOKEN], [secret: TOKEN]"
    path.write_text("short")
    with pytest.raises(SecretProblem, match="too short"):
        kept.value("TOKEN")


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("secrets:\n  A: hunter2hunter2\n", "interlock.yaml:2: `secrets.A`: a secret is not written into settings"),
        ("secrets:\n  A: {value: hunter2hunter2, env: X}\n", "a secret is not written into settings"),
        ("secrets:\n  A: {}\n", "either `env: NAME` or `file: PATH`"),
        ("secrets:\n  A: {env: X, file: y}\n", "either `env: NAME` or `file: PATH`"),
        ("secrets:\n  A: {env: 'hunter2 hunter2'}\n", "expected a variable's name"),
        ("secrets:\n  A: {env: X, tool: [fetch]}\n", "did you mean `tools`"),
        ("secrets:\n  'hunter2 hunter2': {env: X}\n", "a secret's name is"),
    ],
)
def test_settings_say_where_a_secret_is_and_never_what_it_is(tmp_path: Path, yaml: str, told: str) -> None:
    (tmp_path / "interlock.yaml").write_text(yaml)
    with pytest.raises(ConfigError) as refused:
        load_settings(tmp_path, {}, {})
    assert told in str(refused.value)
    assert "`hunter2hunter2`" not in str(refused.value)
    assert "hunter2hunter2" not in str(refused.value)


def test_values_are_never_printed_with_the_settings(tmp_path: Path) -> None:
    (tmp_path / "interlock.yaml").write_text("secrets:\n  A: {env: MINE, tools: [fetch]}\n")
    found = load_settings(tmp_path, {"MINE": "hunter2hunter2"}, {})
    assert found.secrets["A"].value is not None
    assert "hunter2" not in repr(found) + str(found) + found.model_dump_json()
