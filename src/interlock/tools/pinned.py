"""A workspace in which the files that an approval binds to are exactly those that were approved.

Which files those are is determined in `execute`.
"""

from collections.abc import Mapping
from datetime import datetime

from interlock.core.values import Actor, digest
from interlock.tools.contract import Tool, ToolContext, Write
from interlock.tools.errors import ToolError
from interlock.tools.folder import Missing
from interlock.tools.workspace import ABSENT, UNREADABLE, Workspace

Contents = Mapping[str, bytes | str]
"""By path: the bytes of a file, or `absent` or `unreadable`."""


class Changed(ToolError):
    """A file has changed since the call was judged."""

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` has changed since this call was judged: nothing was done, make the call again")


async def contents(tool: Tool, args: Mapping[str, object], workspace: Workspace) -> Contents:
    """The files that a call's effect depends on, read once: the tool gets exactly what was judged."""
    found: dict[str, bytes | str] = {}
    for path in tool.reads(dict(args)) if tool.reads is not None else ():
        try:
            found[path] = await workspace.read(path)
        except Missing:
            found[path] = ABSENT
        except ToolError:
            found[path] = UNREADABLE
    return found


def digests_of(found: Contents) -> dict[str, str]:
    """What an approval binds to, by path."""
    return {path: digest(data) if isinstance(data, bytes) else data for path, data in found.items()}


class Pinned(Workspace):
    """A run's workspace with pinned files: reads return the bytes that were judged, whatever is on disk by now.

    A file that the tool itself writes is no longer pinned. INVARIANT: a program sees these files as they were judged,
    or is not started.
    """

    def __init__(self, inner: Workspace, fixed: Contents) -> None:
        self.root, self.project_id, self.run_id = inner.root, inner.project_id, inner.run_id
        self._inner, self._fixed = inner, dict(fixed)

    async def lay_down(self) -> None:
        """The same, with the pinned files on disk as they were judged.

        Raises Changed if one is not.
        """
        await self._inner.lay_down()
        for path, data in self._fixed.items():
            if await self._inner.digest(path) != (digest(data) if isinstance(data, bytes) else data):
                raise Changed(path)

    async def read(self, path: str) -> bytes:
        """The bytes that were judged; for other files, those on disk."""
        data = self._fixed.get(path)
        if data is None:
            return await self._inner.read(path)
        self._inner.take(path)
        if data == ABSENT:
            raise Missing(f"there is no file `{path}`")
        if not isinstance(data, bytes):
            raise Changed(path)
        return data

    async def write(self, path: str, data: bytes, *, append: bool = False) -> int:
        """The same; appending to a pinned file appends to the bytes that were judged."""
        fixed = self._fixed.pop(path, None)
        if append and fixed is not None:
            return await self._inner.write(path, (fixed if isinstance(fixed, bytes) else b"") + data)
        return await self._inner.write(path, data, append=append)

    async def files(self, under: str = "") -> list[tuple[str, int]]:
        """The same."""
        return await self._inner.files(under)

    def labels(self, path: str) -> frozenset[str]:
        """The same."""
        return self._inner.labels(path)

    def take(self, *paths: str) -> None:
        """The same."""
        self._inner.take(*paths)

    @property
    def taken(self) -> frozenset[str]:
        """The same."""
        return self._inner.taken

    async def collect(
        self,
        actor: Actor,
        now: datetime,
        *,
        mission_id: str | None = None,
        task_id: str | None = None,
        labels: frozenset[str] = frozenset(),
    ) -> tuple[Write, ...]:
        """The same."""
        return await self._inner.collect(actor, now, mission_id=mission_id, task_id=task_id, labels=labels)

    async def dispose(self) -> None:
        """The same."""
        await self._inner.dispose()


def fixed(context: ToolContext, found: Contents) -> ToolContext:
    """The context of a call with its files pinned; unchanged if there are none."""
    return context._replace(workspace=Pinned(context.workspace, found)) if found else context
