"""The system prompt of a run: its layers, their order, and what is left if one of them fails.

Nothing is fetched here, and how a layer reads is not known; the message that states the work is task_messages'.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.agents.prompts import prompt_knowledge as knowledge
from interlock.agents.prompts import prompt_layers as layer
from interlock.agents.prompts.bootstrap import FILES, IN_MINIMAL
from interlock.agents.prompts.prompt_input import LessonNote, Mode, PromptData
from interlock.agents.prompts.quoting import one_line
from interlock.core.text import storable
from interlock.llm.messages import SystemPart

__all__ = ["LAYERS", "Layer", "LessonNote", "Mode", "Prompt", "PromptData", "build_prompt", "mode_of"]

BACKGROUND = frozenset({"subagent", "cron"})
"""The kinds of agents that get the minimal mode. Source: row F2."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of the system prompt. An empty text leaves it out.

    A stable one says the same from run to run while nothing changes. An essential one stays where another fails;
    a minimal one is in the mode of that name. What is by line has each author's words on one line, and is looked
    through line by line: most of them were there in the run before.
    """

    name: str
    render: Callable[[PromptData], str]
    stable: bool = True
    essential: bool = False
    minimal: bool = False
    by_line: bool = False

    def text(self, data: PromptData) -> str:
        """The text of the layer, as a model may see it. Raises whatever goes wrong in the layer."""
        said = self.render(data).strip()
        if not said or not self.by_line:
            return said and storable(data.clean(said))
        if data.clean_lines is not None:
            return storable(data.clean_lines(said))
        return storable("\n".join(map(data.clean, said.split("\n"))))


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt, stable parts first. If only the essential layers are left, `degraded` says what failed."""

    parts: tuple[SystemPart, ...]
    degraded: tuple[str, ...] = ()
    mode: Mode = "full"
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why a layer or a file is missing, by name."""

    @property
    def text(self) -> str:
        """The whole prompt as one text, for a trace."""
        return "\n\n".join(part.text for part in self.parts)

    def has(self, name: str) -> bool:
        """Whether it contains a layer."""
        return any(part.name == name for part in self.parts)

    @property
    def record(self) -> dict[str, Any] | None:
        """What is stored beside the parts for later traces; None if there is nothing to note."""
        if self.mode == "full" and not self.left_out and not self.degraded:
            return None
        return {"mode": self.mode, "left_out": dict(self.left_out), "failed": list(self.degraded)}


def mode_of(wanted: str | None, descriptor_kind: str) -> Mode:
    """The prompt mode of an agent: the one its persona names, else the one of the agent's kind.

    A subagent never gets more than the minimal one; what a schedule wakes does where its persona says `full`.
    """
    if wanted == "none":
        return "none"
    if wanted == "minimal" or descriptor_kind == "subagent":
        return "minimal"
    return "minimal" if wanted is None and descriptor_kind in BACKGROUND else "full"


def build_prompt(data: PromptData, layers: Sequence[Layer] | None = None) -> Prompt:
    """The system prompt of a run in its mode: its layers, or only the essential ones if any layer or source failed.

    Never raises because of its data, so that the run goes on. Source: rows F1 to F4.
    """
    if data.mode == "none":
        return Prompt((), mode="none")
    rendered: list[tuple[Layer, str]] = []
    degraded = [storable(one_line(failure, limit=500)) for failure in data.failures]
    left_out = {storable(what): storable(one_line(why)) for what, why in data.left_out}
    is_minimal = data.mode == "minimal"
    for each in LAYERS if layers is None else layers:
        if is_minimal and not each.minimal:
            continue
        try:
            if text := each.text(data):
                rendered.append((each, text))
        except Exception as error:  # noqa: BLE001 - a lesser prompt is better than no run: row F4
            said = storable(one_line(f"{each.name}: {type(error).__name__}: {error}", limit=300))
            degraded.append(said)
            left_out[each.name] = "it failed"
    stable: list[SystemPart] = []
    changing: list[SystemPart] = []
    for each, text in rendered:
        if each.essential or not degraded:
            (stable if each.stable else changing).append(SystemPart(each.name, text, each.stable))
        else:
            left_out[each.name] = "another layer or source failed"
    return Prompt((*stable, *changing), tuple(degraded), data.mode, left_out)


def _file(name: str) -> Layer:
    chosen = name in IN_MINIMAL
    return Layer(name, lambda data: layer.bootstrap(data, name), essential=chosen, minimal=chosen)


LAYERS: tuple[Layer, ...] = (
    Layer("identity", layer.identity, essential=True, minimal=True),
    Layer("tools", layer.tools, essential=True, minimal=True),
    Layer("workspace", layer.workspace),
    Layer("project", layer.project),
    Layer("recall", layer.recall),
    Layer("heartbeats", layer.heartbeats),
    Layer("soul", layer.soul, essential=True),
    Layer("mbti", layer.mbti),
    Layer("prompt", layer.own_prompt, minimal=True),
    *(_file(name) for name in FILES),
    Layer("behaviour", layer.behaviour, essential=True, minimal=True),
    Layer("style", layer.style, minimal=True),
    Layer("channel", layer.channel),
    Layer("rules", knowledge.rules, minimal=True),
    Layer("lessons", knowledge.lessons),
    Layer("blocks", knowledge.blocks),
    Layer("memories", knowledge.memories, stable=False, by_line=True),
    Layer("tasks", knowledge.tasks, stable=False, by_line=True),
    Layer("messages", knowledge.messages, stable=False, by_line=True),
    Layer("clock", layer.clock, stable=False, essential=True, minimal=True),
    Layer("runtime", layer.runtime, stable=False, minimal=True),
    Layer("extra", layer.extra, stable=False, essential=True, minimal=True),
)
"""The layers in their order. What never changes for a persona comes first, then what changes now and then, and last
what differs from run to run, so that as much as can be is read from a cache. Source: rows F1 and F3.
"""
