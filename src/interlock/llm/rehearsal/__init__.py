"""The offline model: rehearses a mission from the prompts alone, at no cost and the same way every time.

It sees a ModelRequest like any model; nothing outside this package may know that it is there.
"""

from interlock.llm.rehearsal.model import RehearsalModel

__all__ = ["RehearsalModel"]
