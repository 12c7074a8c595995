"""Interlock, the control room for autonomous agents; what an embedding application uses, loaded when it is used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.app.box import Interlock, MissionResult
    from interlock.tools.decorated import tool

__all__ = ["Interlock", "MissionResult", "tool"]
_HOMES = {
    "Interlock": "interlock.app.box",
    "MissionResult": "interlock.app.box",
    "tool": "interlock.tools.decorated",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `interlock` has no `{name}`")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
