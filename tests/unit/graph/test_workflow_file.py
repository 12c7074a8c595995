"""Workflow files: what loads, what is refused and how the refusal reads; what a goal names."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.core.errors import ConfigError, UsageError
from interlock.desk.work.workflows import instantiate, named_in
from interlock.graph.plan import PlanLimits
from interlock.graph.workflow import Workflow
from interlock.graph.workflow_file import WorkflowSet, load_workflow, load_workflows, shipped_folder
from interlock.graph.workflow_schema import StepFields

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
SHIPPED = ("feature", "incident", "research-report")
GOOD = """\
schema_version: 1
name: tidy
title: Tidy up
triggers: [tidy up]
inputs:
  depth: {description: How far, default: a little}
steps:
  - name: look
    persona: research
    task: "Look at {{goal}}, {{inputs.depth}}"
    expected: a list
  - name: do
    title: Do it
    persona: coder
    task: Do {{steps.look}}
    expected: the files
    depends_on: [look]
    budget_share: 0.5
    retries: 0
    timeout: 15m
    checks: [{kind: command, argv: [pytest, -q]}]
    review: qa
"""


def load(folder: Path, text: str, name: str = "tidy.yaml") -> WorkflowSet:
    (folder / name).write_text(text, encoding="utf-8")
    return load_workflows([folder], PERSONAS)


def good() -> Workflow:
    return load_workflow(shipped_folder() / "feature.yaml", PERSONAS)


def test_three_useful_ones_are_shipped_and_each_is_without_a_fault() -> None:
    found = load_workflows([], PERSONAS)
    assert (tuple(found.workflows), found.faults) == (SHIPPED, ())
    assert all(flow.missing == () and flow.description and flow.triggers for flow in found.workflows.values())


def test_a_step_says_who_what_by_when_how_often_and_with_which_checks(tmp_path: Path) -> None:
    flow = load(tmp_path, GOOD).workflows["tidy"]
    look, do = flow.steps
    assert (look.title, look.type, look.retries, look.timeout_s) == ("Look", "research", 2, None)
    assert (do.type, do.retries, do.timeout_s, do.review, do.review_type) == (
        "engineering",
        0,
        900,
        "qa",
        "engineering",
    )
    assert do.checks == ({"kind": "command", "argv": ["pytest", "-q"]},)


def test_steps_become_tasks_with_the_goal_the_inputs_and_a_review_of_its_own(tmp_path: Path) -> None:
    flow = instantiate(load(tmp_path, GOOD).workflows["tidy"], {"depth": "all of it"}, 10_000_000)
    plan = flow.plan("the cellar {{steps.do}}", 10_000_000)
    look, do, review = plan.tasks
    assert look.description == "Look at the cellar {{steps.do}}, all of it"
    assert do.description == "Do the result of “Look”, which is among your inputs"
    assert (review.key, review.persona, review.reviews, review.depends_on) == ("do-review", "qa", "do", ("do",))
    budgets = plan.budgets_microusd(PlanLimits(10_000_000))
    assert sum(budgets.values()) <= 10_000_000
    assert do.budget_share + review.budget_share == pytest.approx(0.5)


def test_what_was_stamped_comes_back_as_it_was(tmp_path: Path) -> None:
    for flow in (*load_workflows([], PERSONAS).workflows.values(), load(tmp_path, GOOD).workflows["tidy"]):
        assert Workflow.from_json(flow.to_json()) == flow
    assert Workflow.from_json({**flow.to_json(), "of_a_later_version": 1}) == flow


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("persona: coder", "persona: codr", 14, "step `do`: no persona `codr`: did you mean `coder`?"),
        ("persona: coder", "persona: learner", 14, "step `do`: `learner` takes no tasks: write one of"),
        ("review: qa", "review: coder", 22, "step `do`: `coder` would review its own work"),
        ("review: qa", "review: quality", 22, "step `do`: no persona `quality`"),
        ("depends_on: [look]", "depends_on: [lok]", 17, "step `do`: no step `lok`: did you mean `look`?"),
        ("depends_on: [look]", "depends_on: [do]", 17, "step `do` depends on itself"),
        ("depends_on: [look]", "depends_on: []", 15, "step `do` names the step `look`: add it to its `depends_on`"),
        ("{{inputs.depth}}", "{{inputs.deph}}", 10, "step `look`: no value for `{{inputs.deph}}`: did you mean"),
        ("{{goal}}", "{{gaol}}", 10, "step `look`: no value for `{{gaol}}`: did you mean `goal`?"),
        ("expected: a list", "expected: a list\n    depends_on: [do]", 18, "dependency cycle: `do` → `look` → `do`"),
        ("name: do", "name: look", 12, "step `look`: two steps have this name"),
        ("timeout: 15m", "timeout: 15", 20, "`steps[1].timeout` is `15`: write a time from 10s to 24h"),
        ("timeout: 15m", "timeout: 2 days", 20, "`steps[1].timeout` is `2 days`: write a time from 10s to 24h"),
        ("retries: 0", "retries: 11", 19, "`steps[1].retries` is `11`: it must be less than or equal to 10"),
        ("retries: 0", "retrys: 0", 19, "unknown key `steps[1].retrys`: did you mean `retries`?"),
        ("budget_share: 0.5", "budget_share: 2", 18, "`steps[1].budget_share` is `2`"),
        ("budget_share: 0.5", "budget_share: 0.5\n    budget_usd: 2", 19, "step `do`: give either `budget_share` or"),
        ("argv: [pytest, -q]", "argv: pytest -q", 21, "step `do`: check 1: `argv` is a list of words, no shell reads"),
        ("title: Tidy up", "titel: Tidy up", 3, "unknown key `titel`: did you mean `title`?"),
        ("default: a little", "defalt: a little", 6, "unknown key `inputs.depth.defalt`: did you mean `default`?"),
        ("schema_version: 1", "schema_version: 9", 1, "`schema_version` 9 is newer than this version reads"),
        ("title: Do it", "type: content", 13, "step `do`: `coder` takes no `content` tasks: write one of engineering"),
        ("name: tidy", "name: ../tidy", 2, "`name` is `../tidy`: write a lower-case letter"),
        ("title: Tidy up", "title: &a Tidy up", 3, "anchor `&a`"),
        ("title: Tidy up", "title: !!python/name:os.system x", 3, "tag `"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_file_line_and_reason(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    assert old in GOOD
    found = load(tmp_path, GOOD.replace(old, new, 1))
    assert tuple(found.workflows) == SHIPPED
    assert any(f.startswith(f"{tmp_path / 'tidy.yaml'}:{line}: {problem}") for f in found.faults), found.faults


def test_a_verdict_needs_somebody_who_gives_it(tmp_path: Path) -> None:
    text = GOOD.replace("    review: qa\n", "").replace("{kind: command, argv: [pytest, -q]}", "{kind: verdict}")
    (fault,) = load(tmp_path, text).faults
    assert fault.endswith("step `do`: nobody reviews it: name who with `review`")


def test_all_faults_of_a_file_are_told_at_once_and_the_others_load(tmp_path: Path) -> None:
    (tmp_path / "good.yml").write_text(GOOD.replace("name: tidy", "name: clean"), encoding="utf-8")
    found = load(tmp_path, GOOD.replace("persona: coder", "persona: codr").replace("{{goal}}", "{{gaol}}"))
    assert len(found.faults) == 2
    assert "clean" in found.workflows
    assert tuple(found.refused) == ("tidy",)


def test_a_users_file_replaces_the_shipped_one_and_a_refused_one_does_not_bring_it_back(tmp_path: Path) -> None:
    mine = load(tmp_path, GOOD.replace("name: tidy", "name: incident"))
    assert mine.workflows["incident"].title == "Tidy up"
    broken = load(tmp_path, GOOD.replace("name: tidy", "name: incident").replace("persona: coder", "persona: x"))
    assert "incident" not in broken.workflows
    (tmp_path / "incident.yaml").symlink_to(tmp_path / "gone" / "incident.yaml")
    lost = load(tmp_path, GOOD)
    assert ("incident" not in lost.workflows, "tidy" in lost.workflows) == (True, True)


def test_a_file_in_a_workspace_is_refused_whatever_way_leads_there(tmp_path: Path) -> None:
    workspaces, folder = tmp_path / "home" / "workspaces", tmp_path / "flows"
    (workspaces / "default").mkdir(parents=True)
    folder.mkdir()
    written = workspaces / "default" / "tidy.yaml"
    written.write_text(GOOD, encoding="utf-8")
    (folder / "tidy.yaml").symlink_to(written)
    found = load_workflows([folder], PERSONAS, workspaces=workspaces)
    assert (tuple(found.workflows), len(found.faults)) == (SHIPPED, 1)
    assert "is in a workspace, where agents write" in found.faults[0]
    with pytest.raises(ConfigError, match="is in a workspace"):
        load_workflow(written, PERSONAS, workspaces=workspaces)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, content: str | bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzz"
    folder.mkdir(exist_ok=True)
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (folder / "any.yaml").write_bytes(raw)
    with pytest.raises(ConfigError) as refused:
        load_workflow(folder / "any.yaml", PERSONAS)
    assert all(fault.startswith(f"{folder / 'any.yaml'}:") for fault in refused.value.faults)


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        ("Payments fail, using workflow incident", "incident"),
        ("Payments fail. Use the incident workflow.", "incident"),
        ("workflow: incident\nPayments fail", "incident"),
        ("Dark mode (workflow feature)", "feature"),
        ("Vendors, with the workflow “research-report”", "research-report"),
        ("Vendors, by the research report workflow", "research-report"),
        ("Zahlungen gehen nicht; mit Workflow incident", "incident"),
        ("PAYMENTS FAIL, FOLLOW WORKFLOW INCIDENT!", "incident"),
        ("Design a feature workflow for the app", None),
        ("Write about workflow incident handling", None),
        ("Fix it without the incident workflow", None),
        ("Don't use the incident workflow", None),
        ("Explain the sentence “fix it using workflow incident”", None),
        ("> using workflow incident\nwhat does this mean?", None),
        ("using workflow incident, then using workflow feature", None),
        ("Automate it using workflow engines", None),
        ("There was an incident", None),
    ],
)
def test_a_goal_gets_the_workflow_that_it_names(goal: str, name: str | None) -> None:
    assert named_in(goal, SHIPPED) == name


@pytest.mark.parametrize(
    ("inputs", "budget", "says"),
    [
        ({"audiense": "x"}, 20_000_000, "no input `audiense` in the workflow `feature`: there are audience"),
        ({"audience": " "}, 20_000_000, "the input `audience` is text of 1 to"),
        ({"audience": "x" * 2_001}, 20_000_000, "the input `audience` is text of 1 to"),
    ],
)
def test_inputs_that_cannot_be_are_refused(inputs: dict[str, str], budget: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        instantiate(good(), inputs, budget)


def test_an_input_without_a_default_must_be_given(tmp_path: Path) -> None:
    flow = load(tmp_path, GOOD.replace(", default: a little", "")).workflows["tidy"]
    with pytest.raises(UsageError, match="needs --input depth=…"):
        instantiate(flow, {}, 20_000_000)


def test_a_mission_must_be_able_to_pay_for_its_steps(tmp_path: Path) -> None:
    flow = load(tmp_path, GOOD.replace("budget_share: 0.5", "budget_usd: 12")).workflows["tidy"]
    with pytest.raises(UsageError, match=r"take \$12.*give `--budget 12` at least"):
        instantiate(flow, {}, 5_000_000)
    budgets = instantiate(flow, {}, 20_000_000).plan("g", 20_000_000).budgets_microusd(PlanLimits(20_000_000))
    assert budgets["do"] + budgets["do-review"] == 12_000_000


def test_the_example_and_the_faults_in_the_documentation_are_so(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "workflows.md").read_text(encoding="utf-8")
    example = text.split("<!-- example: workflow -->\n```yaml\n")[1].split("```")[0]
    assert set(load(tmp_path, example).workflows) == {*SHIPPED, "release-notes"}
    misspelled = load(tmp_path, example.replace("persona: storyteller", "persona: storyteler"))
    assert "step `notes`: no persona `storyteler`: did you mean `storyteller`?" in misspelled.faults[0]
    assert all(f"| `{key}`" in text or f", `{key}`" in text for key in StepFields.model_fields)


def test_list_without_steps_and_a_step_with_faults_are_told_apart(tmp_path: Path) -> None:
    empty = load(tmp_path, GOOD[: GOOD.index("steps:")] + "steps: []\n").faults
    assert [fault.partition(": ")[2] for fault in empty] == ["`steps` has 0: write at least 1"]
    one = GOOD[: GOOD.index("  - name: do")].replace("expected:", "expectd:")
    assert [fault.partition(": ")[2] for fault in load(tmp_path, one).faults] == [
        "`steps[0].expected` is missing", "unknown key `steps[0].expectd`: did you mean `expected`?"
    ]  # fmt: skip
