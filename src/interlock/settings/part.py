"""What every group of settings has in common; the groups themselves are in `model`, `agency` and `services`."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A frozen group of settings; an unknown key is a fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")
