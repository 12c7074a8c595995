"""Finds ended tasks that the Learner has not reviewed yet; the nodes ask, and the Learner learns, elsewhere."""

from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView, TaskView
from interlock.policy.learning import lesson_rules


def lookbacks(view: MissionView) -> list[Effect]:
    """A review for each task that was begun and has ended, or stopped by a fault of its own; last, for the mission.

    Source: row H5.
    """
    begun = [task for task in view.tasks if task.assignee is not None]
    due = [(task, _key(task, view.id)) for task in begun]
    if begun:
        due.append((view.root, _key(view.root, None)))
    return [effects.learn(task, key) for task, key in due if key is not None and key not in view.looks]


def _key(task: TaskView, parent: str | None) -> str | None:
    return lesson_rules.due(task.id, parent, task.status, task.block_kind, task.attempt, task.review_cycles)
