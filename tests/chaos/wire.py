"""A TCP proxy before a PostgreSQL server that can stop forwarding in both directions, and deliver the rest later.

`python -m` is one that always forwards, for a network that can itself be cut.
"""

import asyncio
import sys
from typing import Self

PIECE = 65_536


class Wire:
    """The proxy; an async context manager. Nothing is lost while it is cut: it is delivered once the wire is mended."""

    def __init__(self, socket_folder: str, *, host: str = "127.0.0.1", port: int = 5432) -> None:
        self._path = f"{socket_folder}/.s.PGSQL.{port}"
        self.host = host
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def cut(self) -> None:
        """Forwards nothing from now on, in either direction; connections stay open."""
        self._whole.clear()

    def mend(self) -> None:
        """Forwards again, beginning with what was held back."""
        self._whole.set()

    def break_off(self) -> None:
        """Closes all connections."""
        for writer in self._writers:
            writer.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._join(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            await self._whole.wait()
            their_reader, their_writer = await asyncio.open_unix_connection(self._path)
            ends.append(their_writer)
            self._writers += ends
            await asyncio.gather(self._forward(reader, their_writer), self._forward(their_reader, writer))
        except OSError:
            return
        finally:
            for end in ends:
                end.transport.abort()

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while piece := await source.read(PIECE):
                await self._whole.wait()
                target.write(piece)
                await target.drain()
        except ConnectionError:
            pass
        target.transport.abort()


async def forward(socket_folder: str, host: str) -> None:
    """Forwards until it is killed, after printing its port."""
    async with Wire(socket_folder, host=host) as wire:
        sys.stdout.write(f"{wire.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(forward(*sys.argv[1:]))
