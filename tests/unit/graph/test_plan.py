"""Reading a plan from a model's words, with every fault named; and the plan that needs no model."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.agents.prompts.task_messages import plan_message
from interlock.graph.fallback import fallback_plan
from interlock.graph.plan import Plan, PlanLimits, PlanTask, parse_plan

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
LIMITS = PlanLimits(budget_microusd=20_000_000)
Edit = Callable[[dict[str, Any]], object]


def task(key: str, persona: str = "coder", **more: Any) -> dict[str, Any]:
    return {
        "key": key, "title": f"Do {key}", "description": "All of it.", "persona": persona, "type": "engineering",
        "priority": "high", "estimated_minutes": 30, "capabilities": ["debugging"], "deliverable": "A file.",
        "budget_share": 0.2, "depends_on": [], "reviews": None, **more,
    }  # fmt: skip


def plan(*tasks: Any) -> dict[str, Any]:
    return {"summary": "In two steps.", "tasks": list(tasks)}


def parsed(value: Any, limits: PlanLimits = LIMITS) -> Plan:
    found = parse_plan(value if isinstance(value, str) else json.dumps(value), PERSONAS, limits)
    assert isinstance(found, Plan), found
    return found


def errors(value: Any, limits: PlanLimits = LIMITS) -> list[str]:
    found = parse_plan(value if isinstance(value, str) else json.dumps(value), PERSONAS, limits)
    assert isinstance(found, list), found
    return found


GOOD = plan(task("a"), task("b", "qa", depends_on=["a"], reviews="a"))


def test_a_good_plan_comes_back_whole() -> None:
    found = parsed(GOOD)
    assert found.to_json() == GOOD
    assert found.tasks[1] == PlanTask(
        "b", "Do b", "All of it.", "qa", "engineering", "high", 30, ("debugging",), "A file.", 0.2, ("a",), "a"
    )


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "Here is the plan:\n```json\n{}\n```\nTell me what you think.",
        "I thought about {{sets}} first.\n\n{} Done {{here}}.",
        'An empty one would be {{"none": 1}}, so: {}',
        "```\n{}\n```",
    ],
)
def test_the_object_is_found_among_other_words(wrapped: str) -> None:
    text = wrapped.replace("{}", json.dumps(GOOD, indent=1)).replace("{{", "{").replace("}}", "}")
    assert parsed(text).to_json() == GOOD


def test_json_that_breaks_off_is_reported_with_its_place() -> None:
    text = "Plan:\n" + json.dumps(GOOD, indent=1)[:-40]
    [problem] = errors(text)
    lines = text.split("\n")
    assert problem.startswith(f"malformed JSON at line {len(lines)}, column ")


def test_words_without_json_are_told_what_is_wanted() -> None:
    assert errors("I cannot do that.") == ["no JSON object in the answer: answer with one JSON object and nothing else"]


def test_not_a_number_is_no_json() -> None:
    text = json.dumps(plan(task("a", budget_share=float("nan"))))
    assert errors(text) == ["malformed JSON in the object at line 1, column 1: `NaN` is not a JSON number"]


def test_a_number_of_ten_thousand_digits_is_a_fault_and_no_crash() -> None:
    text = json.dumps(plan(task("a"))).replace("30", "9" * 10_000)
    assert errors(text) == ["malformed JSON in the object at line 1, column 1: a number of 10,000 digits"]


def test_json_nested_without_end_is_a_fault_and_no_crash() -> None:
    assert "malformed JSON" in errors('{"tasks":' * 100_000)[0]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda p: p.pop("summary"), "`summary` is missing"),
        (lambda p: p.update(tasks={}), "`tasks` is `{}`: it must be a list"),
        (lambda p: p.update(tasks=[]), "0 tasks: a plan has 1 to 7"),
        (lambda p: p.update(tasks=[task(f"t{i}", budget_share=0.1) for i in range(8)]), "8 tasks: a plan has 1 to 7"),
        (lambda p: p["tasks"].append("x"), "task 3 is `x`: it must be an object"),
        (lambda p: p["tasks"][0].pop("title"), "task `a`: `title` is missing"),
        (lambda p: p["tasks"][0].pop("depends_on"), "task `a`: `depends_on` is missing"),
        (lambda p: p["tasks"][0].update(description="  "), "task `a`: `description` is `  `: it must be text with"),
        (lambda p: p["tasks"][0].update(title=7), "task `a`: `title` is `7`: it must be text"),
        (lambda p: p["tasks"][0].update(title="\ud800"), "task `a`: `title` has characters that are not text"),
        (lambda p: p["tasks"][0].update(deliverable="\x00"), "task `a`: `deliverable` has characters that are not"),
        (lambda p: p["tasks"][0].update(persona="codr"), "task `a`: unknown persona `codr`: did you mean `coder`?"),
        (lambda p: p["tasks"][0].update(persona="learner"), "task `a`: persona `learner` takes no tasks: write one of"),
        (lambda p: p["tasks"][0].update(type="coding"), "task `a`: unknown type `coding`: write one of content, docs"),
        (lambda p: p["tasks"][0].update(priority="asap"), "task `a`: unknown priority `asap`: write one of high, low"),
        (lambda p: p["tasks"][0].update(estimated_minutes=0), "task `a`: `estimated_minutes` is 0: it must be a whole"),
        (lambda p: p["tasks"][0].update(estimated_minutes="30"), "task `a`: `estimated_minutes` is `30`: it must be a"),
        (lambda p: p["tasks"][0].update(capabilities="x"), "task `a`: `capabilities` is `x`: it must be a list of"),
        (lambda p: p["tasks"][0].update(budget_share=0), "task `a`: `budget_share` is 0: it must be above 0 and at"),
        (lambda p: p["tasks"][0].update(budget_share=True), "task `a`: `budget_share` is `true`: it must be a number"),
        (lambda p: p["tasks"][0].update(budget_share=0.9), "budget shares add up to 1.1: at most 1"),
        (lambda p: p["tasks"][1].update(key="a", reviews=None), "2 tasks have the key `a`: keys are unique"),
        (lambda p: p["tasks"][0].update(depends_on=["a"]), "task `a`: depends on itself"),
        (lambda p: p["tasks"][0].update(depends_on=["z"]), "task `a`: depends on unknown task `z`"),
        (lambda p: p["tasks"][1].update(reviews="z"), "task `b`: reviews unknown task `z`"),
        (lambda p: p["tasks"][1].update(reviews="b"), "task `b`: reviews itself"),
        (lambda p: p["tasks"][1].update(depends_on=[]), "task `b`: reviews `a` but does not depend on it: add it to"),
        (lambda p: p["tasks"][1].update(persona="coder"), "task `b`: `coder` would review its own work: name another"),
        (
            lambda p: p["tasks"][0].update(dependson=p["tasks"][0].pop("depends_on")),
            "task `a`: unknown key `dependson`: did you mean `depends_on`?",
        ),
    ],
)
def test_each_fault_is_named_exactly(edit: Edit, expected: str) -> None:
    value = json.loads(json.dumps(GOOD))
    edit(value)
    found = errors(value)
    assert any(problem.startswith(expected) for problem in found), found


def test_all_faults_come_at_once() -> None:
    value = plan(task("a", "nobody", type="x"), task("b", priority="y", depends_on=["z"]))
    assert len(errors(value)) == 4


def test_a_key_that_nobody_reads_does_no_harm() -> None:
    assert parsed(plan(task("a", rationale="It is needed."))).tasks[0].key == "a"


def test_a_cycle_is_shown_with_its_path() -> None:
    value = plan(task("a", depends_on=["c"]), task("b", depends_on=["a"]), task("c", depends_on=["b"]), task("d"))
    [problem] = errors(value)
    assert problem in {
        "dependency cycle: `a` → `c` → `b` → `a`",
        "dependency cycle: `c` → `b` → `a` → `c`",
        "dependency cycle: `b` → `a` → `c` → `b`",
    }


def test_a_reviewer_that_waits_for_what_needs_the_reviewed_task_is_a_cycle_too() -> None:
    value = plan(
        task("draft"),
        task("print", depends_on=["draft"]),
        task("check", "qa", depends_on=["draft", "print"], reviews="draft"),
    )
    [problem] = errors(value)
    assert problem.startswith("tasks that wait for each other, since a task is done only after its reviews: ")
    assert {"`draft`", "`print`", "`check`"} <= set(problem.split(": ")[1].split(" → "))


def test_what_depends_on_author_and_reviewer_is_no_cycle() -> None:
    value = plan(
        task("draft"),
        task("check", "qa", depends_on=["draft"], reviews="draft"),
        task("print", depends_on=["draft", "check"]),
    )
    assert len(parsed(value).tasks) == 3


def test_a_plan_that_asks_for_more_than_is_left_is_over_budget() -> None:
    limits = PlanLimits(budget_microusd=20_000_000, available_microusd=7_000_000)
    assert errors(GOOD, limits) == [
        "over budget: the tasks take $8.00 and $7.00 is left: lower the budget shares"
    ]  # fmt: skip


def test_a_task_gets_its_share_and_no_more_than_its_type_may_cost() -> None:
    value = plan(task("a", budget_share=0.5), task("b", type="docs", budget_share=0.1))
    assert parsed(value).budgets_microusd(LIMITS) == {"a": 8_000_000, "b": 2_000_000}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "b", "coder"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ODD_TASK = st.builds(lambda changes: task("a") | changes, st.dictionaries(st.sampled_from(list(task("a"))), JSON))


@given(st.text())
def test_reading_never_raises_on_words(text: str) -> None:
    assert isinstance(parse_plan(text, PERSONAS, LIMITS), list)


@given(st.lists(ODD_TASK | JSON, max_size=9), st.text(max_size=5))
def test_reading_never_raises_on_odd_plans(tasks: list[Any], around: str) -> None:
    found = parse_plan(around + json.dumps({"summary": "s", "tasks": tasks}) + around, PERSONAS, LIMITS)
    if isinstance(found, Plan):
        assert parsed(found.to_json()) == found
        json.dumps(found.to_json(), ensure_ascii=False).encode()
    else:
        assert found
        "\n".join(found).encode()


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=60))
def test_reading_never_raises_on_a_damaged_plan(at: int, length: int) -> None:
    text = json.dumps(GOOD)
    at %= len(text)
    assert isinstance(parse_plan(text[:at] + text[at + length :], PERSONAS, LIMITS), Plan | list)


def test_the_answer_that_a_model_is_told_to_give_names_every_key() -> None:
    message = plan_message("x", list(PERSONAS.values())).text
    assert all(f'"{key}":' in message for key in [*task("a"), "summary", "tasks"])


def test_without_a_model_those_who_find_out_come_before_those_who_make() -> None:
    found = fallback_plan("Research the market, then build a page and design its layout. Test it.", PERSONAS)
    assert {t.key: (t.persona, t.depends_on, t.reviews) for t in found.tasks} == {
        "research": ("research", (), None),
        "coder": ("coder", ("research",), None),
        "designer": ("designer", ("research",), None),
        "qa": ("qa", ("designer",), "designer"),
    }


def test_without_a_model_a_goal_that_calls_for_nobody_is_one_task_of_the_generalist() -> None:
    [only] = fallback_plan("Good morning", PERSONAS).tasks
    assert (only.persona, only.budget_share, only.depends_on) == ("operations", 1.0, ())


def test_without_a_model_a_review_alone_is_one_task() -> None:
    [only] = fallback_plan("Verify the backup", PERSONAS).tasks
    assert (only.persona, only.reviews) == ("qa", None)


def test_without_anybody_who_takes_tasks_there_is_no_plan() -> None:
    with pytest.raises(ValueError, match="no persona takes tasks"):
        fallback_plan("x", {"coordinator": PERSONAS["coordinator"]})


WORDS = st.sampled_from(sorted({word for p in PERSONAS.values() for word in p.triggers} | {"a", "##", "\n"}))


@given(st.lists(WORDS, min_size=1, max_size=12).map(" ".join).filter(str.strip))
def test_a_plan_made_without_a_model_keeps_to_the_rules_for_plans(goal: str) -> None:
    found = fallback_plan(goal, PERSONAS)
    assert parsed(found.to_json()) == found
