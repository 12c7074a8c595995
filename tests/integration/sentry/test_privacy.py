"""What never leaves for Sentry: prompts, arguments, outputs, answers, notes, texts of errors, secrets, the host."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import sentry_sdk
from hypothesis import strategies as st
from sentry_sdk.scope import Scope

from interlock.integrations.sentry import scrubbing
from interlock.integrations.sentry.vocabulary import ATTRIBUTES
from interlock.llm.messages import Text, Thinking, ToolUse
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import Stage
from tests.integration.sentry.receiver import receiving
from tests.integration.sentry.scene import KEY, WORDS, played, sentry_for

WORD = st.text(max_size=8)
JSON = st.none() | st.booleans() | st.integers() | st.just("x" * 1000) | WORD | st.lists(WORD, max_size=2)


async def _everything(stage: Stage) -> None:
    """A run in which every place where words can be has some that must stay here."""
    await stage.think(f"{WORDS['prompt']} {KEY}", name=WORDS["name"])
    await stage.work()
    await stage.approve((await stage.the_question()).id, f"{WORDS['note']} {KEY}")
    await stage.work()
    await stage.approve((await stage.the_question()).id, args={"to": WORDS["args"]})
    await stage.work()
    await stage.deny((await stage.the_question()).id, reason=WORDS["reason"])
    await stage.work()
    crashed = await stage.chat(WORDS["prompt"])
    await stage.work()
    assert await stage.ended(crashed) == ("failed", "error")


def _script() -> ScriptedModel:
    return ScriptedModel(
        [
            Thinking(WORDS["reply"]),
            Text(WORDS["reply"]),
            calls("lookup", order=f"{WORDS['argument']} {KEY}"),
            calls("stumble", order=WORDS["argument"]),
            ToolUse("t1", WORDS["name"], {"a": WORDS["argument"]}),
            ToolUse("t2", "lookup", None, WORDS["raw"]),
        ],
        calls("pay", to=WORDS["argument"]),
        [calls("pay", to=WORDS["argument"]), calls("file_write", path=WORDS["file"], content=WORDS["argument"])],
        f"{WORDS['reply']} {KEY}",
        RuntimeError(f"{WORDS['crash']} {KEY}"),
    )


async def test_no_word_of_a_run_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["interlock", "run", WORDS["command"]])
    monkeypatch.setattr(socket, "gethostname", lambda: WORDS["host"])
    with receiving() as receiver:
        async with played(tmp_path, _script(), sentry_for(receiver)) as stage:
            await _everything(stage)
    assert len(receiver.items("span")) > 20
    assert len(receiver.items("log")) > 8
    assert len(receiver.items("event")) == 1
    sent = receiver.everything
    assert [word for word in (*WORDS.values(), KEY, "canary", str(tmp_path)) if word in sent] == []


async def test_attributes_are_listed_ones_only(tmp_path: Path) -> None:
    with receiving() as receiver:
        async with played(tmp_path, _script(), sentry_for(receiver)) as stage:
            await _everything(stage)
    kinds = ("span", "log", "trace_metric")
    sent = {name for kind in kinds for item in receiver.items(kind) for name in item["attributes"]}
    assert sent <= scrubbing.ALLOWED
    assert len(sent & set(ATTRIBUTES.values())) > 20


async def test_application_with_a_sentry_of_its_own_keeps_it(tmp_path: Path) -> None:
    """Neither hears of the other: not the client, not its tags and users, not what a tool of the user's says."""
    with receiving() as receiver, receiving() as own:
        sentry_sdk.init(dsn=own.dsn, default_integrations=False, auto_enabling_integrations=False)
        client = sentry_sdk.get_client()
        try:
            with sentry_sdk.new_scope() as scope:
                scope.set_tag("customer", "canary-tag")
                scope.set_user({"id": "canary-user"})
                scope.set_attribute("customer", "canary-attribute")
                async with played(tmp_path, _script(), sentry_for(receiver)) as stage:
                    await _everything(stage)
                    assert sentry_sdk.get_client() is client
                    sentry_sdk.capture_message("of the application")
        finally:
            client.close(timeout=2)
            Scope.get_global_scope().set_client(None)
    assert len(own.items("event")) == 1
    assert own.items("span") == own.items("log") == []
    assert "canary" not in receiver.everything
    assert "of the application" not in receiver.everything


@hypothesis.given(st.dictionaries(WORD | st.sampled_from(sorted(scrubbing.ALLOWED)), JSON, max_size=5))
def test_attributes_that_are_not_listed_are_cut_whatever_they_are(attributes: dict[str, object]) -> None:
    for filtered in (scrubbing.span, scrubbing.record):
        out = filtered({"name": "x", "attributes": attributes}, {})
        assert set(out["attributes"]) == set(attributes) & scrubbing.ALLOWED
        assert all(len(v) <= scrubbing.LONGEST for v in out["attributes"].values() if isinstance(v, str))


@pytest.mark.parametrize("filtered", [scrubbing.span, scrubbing.record])
def test_secret_in_a_listed_attribute_is_masked(
    filtered: Callable[[object, object], dict[str, dict[str, str]]],
) -> None:
    out = filtered({"name": KEY, "attributes": {"gen_ai.request.model": KEY, "interlock.rules": [KEY]}}, {})
    assert KEY not in str(out["attributes"])


@hypothesis.given(
    st.dictionaries(WORD, JSON, max_size=5),
    st.text(alphabet="abcdef", min_size=30, max_size=40),
)
def test_event_keeps_types_and_places_alone(more: dict[str, object], word: str) -> None:
    frame = {"filename": f"/home/{word}/x.py", "vars": {"a": word}, "context_line": word, "function": "f", "lineno": 3}
    raised = {
        "type": "ValueError",
        "value": word,
        "stacktrace": {"frames": [frame]},
        "mechanism": {"data": {"a": word}},
    }
    given = {
        **more,
        "exception": {"values": [raised]},
        "extra": {"a": word},
        "user": {"id": word},
        "tags": {word: word},
    }
    out = scrubbing.event({**given, "contexts": {"trace": {"trace_id": "1", "data": word}, "more": {"a": word}}}, {})
    assert word not in str({name: value for name, value in out.items() if name not in scrubbing.OF_AN_EVENT})
    assert out["exception"]["values"][0]["stacktrace"]["frames"][0]["filename"] == "x.py"
