"""Interlock, the control room for autonomous agents; what an embedding application uses, loaded when it is used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.app.box import Interlock, MissionResult
    from interlock.app.handles import Handle, QueueCleared, RunFailed, RunResult
    from interlock.tools.decorated import tool

__all__ = ["Handle", "Interlock", "MissionResult", "QueueCleared", "RunFailed", "RunResult", "tool"]
_HOMES = {
    "Handle": "interlock.app.handles",
    "QueueCleared": "interlock.app.handles",
    "RunFailed": "interlock.app.handles",
    "RunResult": "interlock.app.handles",
    "Interlock": "interlock.app.box",
    "MissionResult": "interlock.app.box",
    "tool": "interlock.tools.decorated",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `interlock` has no `{name}`")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
