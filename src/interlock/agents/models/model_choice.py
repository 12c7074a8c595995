"""Which model a run uses: the first one that is named, in order of precedence, and its fallbacks.

What a provider's failure means for a run, and how a change of model is recorded, is `model_failures`'s job.
"""

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from interlock.agents.persona import Persona
from interlock.agents.running.brief import Brief
from interlock.agents.runtime import Runtime
from interlock.core.errors import UsageError
from interlock.llm.messages import Model, ModelRef
from interlock.llm.models import model_info


class Candidate(NamedTuple):
    """A model that can be called, as far as is known."""

    ref: ModelRef
    model: Model


def named_for(runtime: Runtime, brief: Brief, persona: Persona) -> str | None:
    """The model that is named for a run by anything but the run itself.

    That is its mission, its persona, its type of task, the settings. Source: row F7.
    """
    by_task = runtime.settings.task_models.get(brief.task.type) if brief.task is not None else None
    of_mission = brief.mission.model if brief.mission is not None else None
    return of_mission or persona.model or by_task or runtime.settings.model


def stand_ins(runtime: Runtime, brief: Brief, persona: Persona) -> tuple[str | None, ...]:
    """The models to try in turn if a run's model cannot be used: its persona's fallbacks, or those of the settings.

    The one that was named for the run, or the usual one, comes last, for a run that has another one meanwhile.
    """
    return (*(persona.fallbacks or runtime.settings.fallbacks), named_for(runtime, brief, persona))


def is_stand_in(runtime: Runtime, brief: Brief, persona: Persona, model: str) -> bool:
    """Whether a model is a fallback, and not the one named for this run."""
    return model in stand_ins(runtime, brief, persona)[:-1] and model != named_for(runtime, brief, persona)


async def candidates(
    runtime: Runtime, brief: Brief, persona: Persona, now: str, tokens: int, refused: Mapping[str, object]
) -> AsyncIterator[Candidate]:
    """The stand-ins for the model that a run has `now` that can be called, in turn.

    Left out are those that were `refused` already, have no room for a prompt of `tokens`, whose provider is left alone
    for now or cannot be opened, and rehearsals, whose effects are not real.
    """
    seen = {now, *refused}
    for named in stand_ins(runtime, brief, persona):
        try:
            ref = runtime.models.resolve(named)
            if str(ref) in seen:
                continue
            seen.add(str(ref))
            model = await runtime.models.get(ref)
        except UsageError:
            continue
        rests_s = runtime.circuits.wait_s(ref.provider, runtime.clock.monotonic())
        if rests_s or model.simulated or tokens >= model_info(ref).context_tokens:
            continue
        yield Candidate(ref, model)


class Amiss(NamedTuple):
    """A model that a run should use, and why it cannot be opened."""

    model: str
    error: UsageError


async def chosen(runtime: Runtime, brief: Brief, persona: Persona) -> tuple[Candidate, Amiss | None]:
    """The model of a run, or the first fallback if that model cannot be opened.

    It is the run's own, which one that was parked or put off keeps, else what was `named_for` it.
    Raises UsageError if nothing can be used.
    """
    named = brief.run.model or named_for(runtime, brief, persona)
    try:
        ref = runtime.models.resolve(named)
        named = str(ref)
        return Candidate(ref, await runtime.models.get(ref)), None
    except UsageError as error:
        if named is not None:
            async for other in candidates(runtime, brief, persona, named, 0, {}):
                return other, Amiss(named, error)
        raise
