"""Plans and lessons of the offline model, judged by what judges every model's."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import Persona, load_personas
from interlock.agents.prompts.task_messages import learn_message, plan_message
from interlock.graph.plan import Plan, PlanLimits, PlanTask, parse_plan
from interlock.llm.messages import ModelRequest
from interlock.llm.rehearsal.model import answer
from interlock.llm.rehearsal.planning import matches, topic
from interlock.policy.learning.lesson_fitness import unfit

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
LIMITS = PlanLimits(20_000_000)


def planned(goal: str, personas: list[Persona] | None = None) -> Plan:
    message = plan_message(goal, list(PERSONAS.values()) if personas is None else personas)
    plan = parse_plan(answer(ModelRequest("offline", (), (message,))).message.text, PERSONAS, LIMITS)
    assert isinstance(plan, Plan), plan
    return plan


def by_persona(plan: Plan) -> dict[str, PlanTask]:
    return {task.persona: task for task in plan.tasks}


def test_a_comparison_is_researched_written_up_and_reviewed() -> None:
    tasks = by_persona(planned("Compare the three vendors"))
    assert list(tasks) == ["research", "storyteller", "qa"]
    assert tasks["storyteller"].depends_on == (tasks["research"].key,)
    assert tasks["qa"].reviews == tasks["storyteller"].key


def test_a_goal_that_names_an_address_gets_a_task_that_sends() -> None:
    plan = planned("Research job queues, write a page and e-mail it to ops@example.com")
    mails = [task for task in plan.tasks if task.type == "email"]
    assert ["ops@example.com" in task.description for task in mails] == [True]
    assert "send_email" in PERSONAS[mails[0].persona].tools
    assert not any("ops@example.com" in task.description for task in plan.tasks if task not in mails)


def test_trigger_patterns_choose_who_works() -> None:
    assert "coder" in by_persona(planned("Implement the parser"))
    assert "designer" in by_persona(planned("A wireframe of the landing page"))
    assert list(by_persona(planned("Verify the login flow"))) == ["qa"]


def test_makers_that_need_nothing_from_each_other_run_in_parallel() -> None:
    plan = planned("Design the layout and implement the page")
    makers = [task for task in plan.tasks if task.reviews is None]
    assert len(makers) == 2
    assert all(task.depends_on == () for task in makers)


def test_nobody_coordinates_or_learns_as_a_task() -> None:
    assert not {"coordinator", "learner"} & set(by_persona(planned("Coordinate everything and learn from it")))


def test_one_persona_makes_a_plan_of_one_task() -> None:
    assert len(planned("Compare the vendors", [PERSONAS["research"]]).tasks) == 1


@given(st.text(min_size=1, max_size=300).filter(str.strip))
def test_any_goal_becomes_a_valid_plan(goal: str) -> None:
    assert 1 <= len(planned(goal).tasks) <= 5


@given(st.lists(st.sampled_from(sorted(t for p in PERSONAS.values() for t in p.triggers)), max_size=9))
def test_any_mix_of_triggers_becomes_a_valid_plan(words: list[str]) -> None:
    plan = planned("Please " + " and ".join(words) + " and e-mail it to a@b.example")
    assert sum(task.budget_share for task in plan.tasks) <= 1


@pytest.mark.parametrize(
    ("trigger", "goal", "found"),
    [
        ("compare", "Comparing is not in it but compares is", True),
        ("fix bug", "fix the nasty bug", True),
        ("ui", "guidance", False),
        ("build", "rebuild", False),
        ("", "anything", False),
    ],
)
def test_triggers_are_words_in_whatever_ending(trigger: str, goal: str, found: bool) -> None:
    assert matches(trigger, goal) is found


def test_a_topic_leaves_out_whom_to_mail() -> None:
    assert topic("Compare A and B, then e-mail the result to x@y.example.") == "Compare A and B"
    assert topic("mail x@y.example") == "mail the recipient"


FACTS: dict[str, Any] = {
    "tasks": [{"id": "tsk_1", "title": "Research", "status": "DONE", "type": "research", "persona": "research"}],
    "tool_failures": [
        {"id": "tcl_1", "task_id": "tsk_1", "run_id": "run_1", "tool": "web_search", "status": "failed",
         "args": {"query": "job queues"}, "error": "no key is set for job queues"},
        {"id": "tcl_2", "task_id": "tsk_1", "run_id": "run_2", "tool": "web_search", "status": "failed",
         "args": {"query": "queues of jobs"}, "error": "no key is set for queues of jobs"},
    ],
    "approvals": [
        {"id": "apr_1", "task_id": "tsk_1", "tool": "send_email", "answer": "denied", "reason": "wrong address"},
        {"id": "apr_2", "task_id": "tsk_1", "tool": "send_email", "answer": "approved", "reason": None},
    ],
    "reviews": [{"id": "dlv_1", "task_id": "tsk_1", "verdict": "changes", "findings": ["Name your sources."]}],
}  # fmt: skip


def learned(facts: dict[str, Any]) -> list[dict[str, Any]]:
    reply = answer(ModelRequest("offline", (), (learn_message(facts),)))
    lessons: list[dict[str, Any]] = json.loads(reply.message.text)["lessons"]
    return lessons


def test_lessons_come_from_denials_reviews_and_failures() -> None:
    denial, review, failure = learned(FACTS)
    assert "wrong address" in denial["rule"]
    assert "send_email" in denial["rule"]
    assert "Name your sources" in review["rule"]
    assert "no key is set for it" in failure["rule"]
    assert failure["evidence"] == ["tcl_1", "tcl_2", "run_1", "tsk_1"]
    assert all(lesson["task_type"] == lesson["persona"] == "research" for lesson in (denial, review, failure))


@pytest.mark.parametrize(
    ("reason", "quoted"),
    [
        ("the address is wrong: use office@club.example", "“the address is wrong”"),
        (
            "Wait, the board of 2026-05-01 has not met. Ask the chair first.",
            "“Wait, the board has not met. Ask the chair first”",
        ),
    ],
)
def test_a_reason_is_quoted_without_the_gaps_of_what_fits_one_case(reason: str, quoted: str) -> None:
    (lesson,) = learned({"tasks": FACTS["tasks"], "approvals": [{**FACTS["approvals"][0], "reason": reason}]})
    assert quoted in lesson["rule"]


def test_a_reason_that_fits_one_case_alone_teaches_nothing() -> None:
    reason = "use office@club.example instead"
    assert learned({"tasks": FACTS["tasks"], "approvals": [{**FACTS["approvals"][0], "reason": reason}]}) == []


def test_smooth_work_teaches_nothing_trivial() -> None:
    assert (
        learned({"tasks": FACTS["tasks"], "runs": [{"id": "run_1", "task_id": "tsk_1", "status": "completed"}]}) == []
    )


def test_a_failure_that_may_be_bad_luck_is_no_lesson_until_it_comes_again() -> None:
    reset = {**FACTS["tool_failures"][0], "error": "the connection was reset"}
    assert learned({**FACTS, "tool_failures": [reset], "approvals": [], "reviews": []}) == []
    again = {**reset, "id": "tcl_2"}
    assert len(learned({**FACTS, "tool_failures": [reset, again], "approvals": [], "reviews": []})) == 1


@pytest.mark.parametrize(
    "reason", ["no", "not now, thanks", "…", "maria@example.com", "2026-03-01", "run_06f3k2m9qz4tb8w1c"]
)
def test_refusal_without_a_reason_teaches_nothing(reason: str) -> None:
    denial = {**FACTS["approvals"][0], "reason": reason}
    assert learned({"tasks": FACTS["tasks"], "approvals": [denial]}) == []


def test_lesson_is_without_what_belongs_to_one_case() -> None:
    reason = "Ask the owner (maria@example.com) before 2026-03-01, see https://a.example/x and run_06f3k2m9qz4tb8w1c"
    denial = {**FACTS["approvals"][0], "reason": reason}
    calls = ({"path": "a"}, {"path": "notes/2026-03-01"})
    recovery = {
        "id": "tcl_1", "task_id": "tsk_1", "run_id": "run_1", "tool": "file_read", "args": calls[0],
        "error": "the path is too short", "then_id": "tcl_2", "then_args": calls[1],
    }  # fmt: skip
    lessons = learned({"tasks": FACTS["tasks"], "approvals": [denial], "recoveries": [recovery]})
    assert [unfit(lesson["rule"], frozenset(), is_scoped=True) for lesson in lessons] == [None, None]
    assert "Ask the owner" in lessons[0]["rule"]


@pytest.mark.parametrize(
    ("args", "then", "told"),
    [
        ({"mesage": "hi"}, {"message": "hi"}, "with `message` and not `mesage`"),
        ({"path": "a.md"}, {"path": "a.md", "content": "x"}, "with `content`"),
        ({"path": "/tmp/a.md"}, {"path": "a.md"}, "with `path` like “a.md”"),
        ({"path": "a.md", "mode": "w"}, {"path": "a.md"}, "without `mode`"),
        ({"text": "a"}, {"text": "b" * 200}, "with another `text`"),
        (None, {"path": "a.md"}, "with `path`"),
    ],
)
def test_what_failed_and_then_worked_teaches_how_it_works(args: Any, then: Any, told: str) -> None:
    recovery = {
        "id": "tcl_1", "task_id": "tsk_1", "run_id": "run_1", "tool": "post_progress", "args": args,
        "error": "the arguments are not valid: message is missing", "then_id": "tcl_2", "then_args": then,
    }  # fmt: skip
    (lesson,) = learned({"tasks": FACTS["tasks"], "recoveries": [recovery]})
    assert lesson["kind"] == "fix"
    assert f"`post_progress` {told}" in lesson["rule"]
    assert lesson["evidence"][:2] == ["tcl_1", "tcl_2"]


def test_corrected_arguments_are_named_without_what_they_were() -> None:
    asked, edited = {"to": "a@b.example", "body": "x"}, {"to": "c@d.example", "body": "x"}
    corrected = {"id": "apr_1", "task_id": "tsk_1", "tool": "send_email", "answer": "used", "args": asked}
    corrected["edited_to"] = edited
    (lesson,) = learned({"tasks": FACTS["tasks"], "approvals": [corrected]})
    assert "`to`" in lesson["rule"]
    assert "`body`" not in lesson["rule"]
    assert "@" not in lesson["rule"]


def test_known_lesson_is_named_and_doubles_are_merged() -> None:
    (rule, *_) = [lesson["rule"] for lesson in learned(FACTS)]
    known = {"id": "les_1", "rule": rule.upper(), "task_type": "research", "persona": "research"}
    reply = answer(
        ModelRequest("offline", (), (learn_message({**FACTS, "known_lessons": [known, known | {"id": "les_2"}]}),))
    )
    said = json.loads(reply.message.text)
    assert said["lessons"][0]["same_as"] in ("les_1", "les_2")
    assert [(merge["keep"], merge["drop"]) for merge in said["merges"]] == [("les_1", "les_2")]


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "tool", "verdict", "args", "then_args", "status"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*FACTS, "recoveries", "incidents", "runs", "known_lessons"]), json_values))
def test_odd_facts_teach_nothing_without_evidence(facts: dict[str, Any]) -> None:
    assert all(lesson["evidence"] and 0 <= lesson["confidence"] <= 1 for lesson in learned(facts))
