"""The base of all groups of settings, which are in `model`, `agency` and `services`."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A frozen group of settings; unknown keys are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid")
