"""Models that are asked before people are: two of three decide, each vote is a run with its cost, nothing is lost."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.agents.special import voting
from interlock.app.config import load_policy_of
from interlock.app.parts import voter_faults
from interlock.core.errors import ConfigError, Conflict
from interlock.desk.signoff import asking, signing
from interlock.llm.messages import ModelRequest, ToolResult
from interlock.oversight import consensus
from interlock.policy.risk import Risk
from interlock.policy.rules import Policy, Rule
from interlock.settings import load_settings
from interlock.store.mailboxes import leases
from interlock.store.signoff import votes
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, staged, told

MODELS = ("anthropic/claude-a", "anthropic/claude-b", "anthropic/claude-c")
RULE = Rule(id="agree-first", tools=("pay",), risk=Risk.RED, consensus=True)
YES, NO = '{"verdict": "yes", "reason": "it serves the goal"}', '{"verdict": "no", "reason": "nobody asked for it"}'
PAID: list[int] = []


@tool(risk="RED")
async def pay(amount: int, to: str = "bob") -> str:
    """Pays somebody."""
    PAID.append(amount)
    return f"paid {amount}"


class Panel:
    """What each model answers to a vote; the run that asks wants to pay first and then ends."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = {name: list(answers) for name, answers in said.items()}
        self.prompts: list[str] = []

    def __call__(self, request: ModelRequest) -> Any:
        """The answer to one request."""
        text = request.messages[-1].text
        if not text.startswith("# Vote on"):
            answered = any(isinstance(block, ToolResult) for each in request.messages for block in each.blocks)
            return "done" if answered else calls("pay", amount=7)
        assert request.tools == ()
        self.prompts.append(text)
        return self.said[request.model].pop(0)


async def asked(store: CountingStore, home: Path, said: Mapping[str, Any]) -> tuple[Stage, str, Panel]:
    """A stage whose run wants to pay, and whose question is with the models."""
    PAID.clear()
    panel = Panel({f"claude-{name}": answers for name, answers in said.items()})
    stage = await staged(
        store, home, ScriptedModel(otherwise=panel), [pay], Policy(rules=(RULE,)), consensus={"models": MODELS}
    )
    run = await stage.task()
    claim = await stage.take(run)
    await _handle(stage, claim)
    return stage, run, panel


async def _handle(stage: Stage, claim: Any) -> None:
    await runner.handle(stage.runtime, claim, Interrupt())


async def question(stage: Stage, run: str) -> Any:
    (found,) = await stage.questions(run)
    return found


async def test_two_yes_put_the_question_to_people_with_the_votes_on_the_card(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run, panel = await asked(store, tmp_path, {"a": [YES], "b": [NO], "c": [YES]})
    row = await question(stage, run)
    assert row.status == "consulting"
    assert await stage.pending() == []
    assert (await stage.task_of(run)).status == "IN_PROGRESS"
    with pytest.raises(Conflict, match="the models are being asked first"):
        await stage.approve(row.id)
    await stage.work()
    row = await question(stage, run)
    assert (row.status, row.reasons[-1]) == ("pending", "2 of 3 models say that a person may be asked for this")
    (card,) = await signing.approvals(stage.runtime)
    said = [(v["model"], v["verdict"], v["reason"]) for v in card["votes"]]
    assert said == [
        (MODELS[0], "yes", "it serves the goal"), (MODELS[1], "no", "nobody asked for it"),
        (MODELS[2], "yes", "it serves the goal"),
    ]  # fmt: skip
    drawn = await asking.approval_card(stage.runtime, row.id)
    assert any("anthropic/claude-b: no: nobody asked for it" in passage.text for passage in drawn.passages)
    assert len(panel.prompts) == 3
    await stage.approve(row.id)
    await stage.work()
    assert PAID == [7]


async def test_edit_at_the_moment_of_the_last_vote_is_not_taken_for_a_yes_to_what_was_asked(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    store = CountingStore(migrated_postgres_url)
    async with store:
        stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [YES], "c": [YES]})
        row = await question(stage, run)
        voting_ends = await psycopg.AsyncConnection.connect(migrated_postgres_url)
        async with voting_ends:
            await voting_ends.execute("UPDATE approvals SET status = 'pending' WHERE id = %s", [row.id])
            answer = signing.approve(stage.runtime, stage.ada, row.id, args={"amount": 3})
            coming = asyncio.create_task(answer)
            await _until_one_waits(migrated_postgres_url)
        await coming
        row = await question(stage, run)
        assert (row.status, row.edited_args) == ("approved", {"amount": 3})


async def test_votes_on_what_the_agent_asked_for_do_not_count_for_what_a_person_made_of_it(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run, panel = await asked(store, tmp_path, {"a": [YES, YES], "b": [YES, NO], "c": [YES, YES]})
    await stage.work()
    first = await question(stage, run)
    await stage.approve(first.id, args={"amount": 9_000})
    drawn = await asking.approval_card(stage.runtime, first.id)
    assert not any("claude-a" in text for text in (*[p.text for p in drawn.passages], *[f.value for f in drawn.facts]))
    assert (await signing.approval(stage.runtime, first.id))["votes"] == []
    await stage.work()
    assert PAID == []
    assert [("9000" in prompt, "9000" in panel.prompts[0]) for prompt in panel.prompts[3:]] == [(True, False)] * 3
    again = await stage.the_question()
    assert (again.edited, again.reasons[-1]) == (False, "2 of 3 models say that a person may be asked for this")
    await stage.approve(again.id)
    await stage.work()
    assert PAID == [9_000]


async def test_votes_that_the_policy_has_come_to_want_are_asked_for_before_an_approved_call_is_made(
    store: CountingStore, tmp_path: Path
) -> None:
    PAID.clear()
    panel = Panel({f"claude-{name}": [YES] for name in "abc"})
    laxer = Policy(rules=(Rule(id="look-first", tools=("pay",), risk=Risk.RED),))
    stage = await staged(
        store, tmp_path, ScriptedModel(otherwise=panel), [pay], laxer, consensus={"models": MODELS}
    )  # fmt: skip
    await stage.task()
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    stage.restart(policy=Policy(rules=(RULE,)))
    await stage.work()
    assert (PAID, len(panel.prompts)) == ([], 3)
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert PAID == [7]


async def _until_one_waits(url: str) -> None:
    """Until a connection waits for another's lock."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as looking, asyncio.timeout(60):
        while await (await looking.execute(waiting)).fetchone() is None:
            await asyncio.sleep(0.01)


async def test_two_votes_of_no_deny_it_without_a_person_and_the_agent_is_told_why(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [NO], "b": [NO], "c": [YES]})
    await stage.work()
    row = await question(stage, run)
    assert (row.status, row.decided_by) == ("denied", "system:consensus")
    assert (await stage.run(run)).status != "waiting"
    assert PAID == []
    assert any("nobody asked for it" in str(told(stage.model, number)) for number in range(len(stage.model.requests)))
    kept = await store.read(votes.about, votes.of_approval(row.id))
    assert [vote.verdict for vote in kept] == ["no", "no", "yes"]


async def test_each_vote_is_a_run_with_its_cost_in_the_missions_account(store: CountingStore, tmp_path: Path) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [YES], "c": [YES]})
    mission = (await stage.run(run)).mission_id
    before = (await stage.account(f"mission:{mission}")).settled_microusd
    await stage.work()
    kept = await store.read(votes.about, votes.of_approval((await question(stage, run)).id))
    assert len({vote.run_id for vote in kept}) == 3
    assert all(vote.cost_microusd > 0 for vote in kept)
    spent = (await stage.account(f"mission:{mission}")).settled_microusd - before
    assert spent == sum(vote.cost_microusd for vote in kept)
    for vote in kept:
        assert (await stage.run(vote.run_id)).cost_microusd == vote.cost_microusd
        assert {line.mission_id for line in await stage.ledger(vote.run_id)} == {mission}


async def test_answer_that_cannot_be_read_is_asked_for_once_more_and_then_lost(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run, panel = await asked(
        store, tmp_path, {"a": ["I would say yes", YES], "b": ["yes", "still yes"], "c": [YES]}
    )
    await stage.work()
    row = await question(stage, run)
    kept = await store.read(votes.about, votes.of_approval(row.id))
    assert [vote.verdict for vote in kept] == ["yes", "lost", "yes"]
    assert row.status == "pending"
    again = [prompt for prompt in panel.prompts if "could not be read" in prompt]
    assert len(again) == 2
    assert all("not one JSON object" in prompt for prompt in again)
    first = kept[0]
    assert first.cost_microusd > (await stage.run(first.run_id)).cost_microusd


async def test_votes_that_do_not_decide_go_to_a_person(store: CountingStore, tmp_path: Path) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [NO], "c": ["?", "?"]})
    await stage.work()
    row = await question(stage, run)
    assert (row.status, row.reasons[-1]) == ("pending", "the models do not agree: 1 yes, 1 no, 1 lost")


async def test_votes_whose_runs_are_gone_are_lost_and_people_are_asked(store: CountingStore, tmp_path: Path) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [], "c": []})
    kept = await store.read(votes.about, votes.of_approval((await question(stage, run)).id))
    for vote in kept[1:]:
        await store.write(leases.cancel, vote.run_id, stage.clock.now(), "gone")
    await stage.work()
    await consensus.sweep(stage.runtime)
    row = await question(stage, run)
    assert (row.status, row.reasons[-1]) == ("pending", "the models could not be asked")
    assert await consensus.sweep(stage.runtime) is None


async def test_model_that_answers_too_late_is_not_waited_for(store: CountingStore, tmp_path: Path) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [YES], "c": [YES]})
    claims = {claim.run.model: claim for claim in await stage.claim()}
    for name in MODELS[:2]:
        await _handle(stage, claims[name])
    await consensus.sweep(stage.runtime)
    assert (await question(stage, run)).status == "consulting"
    stage.clock.advance(consensus.ENOUGH_S + 1)
    await consensus.sweep(stage.runtime)
    assert (await question(stage, run)).status == "pending"
    stage.clock.advance(consensus.LONGEST_S)
    await consensus.sweep(stage.runtime)
    kept = await store.read(votes.about, votes.of_approval((await question(stage, run)).id))
    assert [vote.verdict for vote in kept] == ["yes", "yes", "lost"]
    assert (await stage.run(kept[2].run_id)).control == "cancel"


async def test_worker_that_dies_with_a_vote_in_hand_changes_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage, run, panel = await asked(store, tmp_path, {"a": [YES], "b": [YES], "c": [YES]})
    dead = await stage.claim("dead")
    assert len(dead) == 3
    await store.write(leases.take_back, "dead", stage.clock.now())
    stage.restart()
    await stage.work()
    for claim in dead:
        await _handle(stage, claim)
    row = await question(stage, run)
    kept = await store.read(votes.about, votes.of_approval(row.id))
    assert ([vote.verdict for vote in kept], len(panel.prompts), row.status) == (["yes"] * 3, 3, "pending")


async def test_question_that_nobody_waits_for_any_more_is_not_voted_on(store: CountingStore, tmp_path: Path) -> None:
    stage, run, panel = await asked(store, tmp_path, {"a": [], "b": [], "c": []})
    row = await question(stage, run)
    await store.write(leases.cancel, run, stage.clock.now(), "not wanted")
    await consensus.sweep(stage.runtime)
    await stage.work()
    kept = await store.read(votes.about, votes.of_approval(row.id))
    assert ([vote.verdict for vote in kept], panel.prompts) == (["lost"] * 3, [])
    assert (await question(stage, run)).status == "void"


async def test_seat_is_asked_once_for_a_question(store: CountingStore, tmp_path: Path) -> None:
    stage, run, _ = await asked(store, tmp_path, {"a": [YES], "b": [YES], "c": [YES]})
    about = votes.of_approval((await question(stage, run)).id)
    who = voting.panel(stage.runtime.personas.personas, MODELS, None)
    assert who is not None
    again = voting.Question(about=about, text="x", project_id="default", mission_id=None, cause_id=run)
    await store.write(voting.ask, who, again, stage.clock.now())
    assert len(await store.read(votes.about, about)) == 3


async def test_without_such_a_rule_people_are_asked_at_once(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=Panel({}))
    stage = await staged(store, tmp_path, model, [pay], Policy(), consensus={"models": MODELS})
    run = await stage.task()
    await stage.work()
    row = await question(stage, run)
    assert row.status == "pending"
    assert await store.read(votes.about, votes.of_approval(row.id)) == []
    (card,) = await signing.approvals(stage.runtime)
    assert card["votes"] == []


def test_models_that_vote_are_of_providers_that_there_are_and_a_rule_needs_them(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        "version: 1\nrules: [{id: agree, tools: [pay], risk: RED, consensus: true}]\n"
    )
    with pytest.raises(ConfigError, match=r"consensus\.models"):
        load_policy_of(load_settings(tmp_path, {}, {}))
    wrong = load_settings(tmp_path, {}, {"consensus": {"models": [*MODELS[:2], "nobody/model"]}})
    assert ["`nobody`" in fault for fault in voter_faults(wrong)] == [True]
    right = load_settings(tmp_path, {}, {"consensus": {"models": MODELS}})
    assert voter_faults(right) == []
    assert load_policy_of(right).rules[0].consensus
