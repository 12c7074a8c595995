"""A local server that takes Sentry's envelopes, and one that never answers. No test lives here."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """What has arrived, raw and taken apart."""

    def __init__(self, *, answers: bool = True, status: int = 200) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[str] = []
        self.answers, self.status = answers, status
        self.may_end = threading.Event()
        self.asked = threading.Event()

    port = 0

    @property
    def dsn(self) -> str:
        return f"http://publickey@127.0.0.1:{self.port}/1"

    @property
    def everything(self) -> str:
        """All that has left this process for Sentry, as text."""
        return "\n".join([*self.headers, *(body.decode() for body in self.bodies)])

    def items(self, kind: str) -> list[Any]:
        """The items of one kind in the order of arrival; those that travel together one by one."""
        found: list[Any] = []
        for body in self.bodies:
            for name, payload in _items(body):
                if name == kind:
                    found += payload.get("items", [payload])
        return found

    @property
    def spans(self) -> "Spans":
        return Spans(self.items("span"))

    @property
    def logs(self) -> list[tuple[str, dict[str, Any]]]:
        """Body and attributes of each log."""
        return [(log["body"], values(log)) for log in self.items("log")]

    def counted(self, name: str) -> list[dict[str, Any]]:
        """The attributes of each time that something was counted."""
        return [values(m) for m in self.items("trace_metric") if m["name"] == name and m["type"] == "counter"]


class Spans:
    """The spans of a test."""

    def __init__(self, raw: list[Any]) -> None:
        self.raw = raw
        self.by_id = {span["span_id"]: span for span in raw}

    def of(self, op: str) -> list[Any]:
        """Those with one operation, by when they began."""
        found = [span for span in self.raw if values(span)["sentry.op"] == op]
        return sorted(found, key=lambda span: float(span["start_timestamp"]))

    def above(self, span: Any) -> list[str]:
        """The operations of what a span is in, from the innermost to the outermost."""
        ops = []
        while (span := self.by_id.get(span.get("parent_span_id"))) is not None:
            ops.append(values(span)["sentry.op"])
        return ops


def values(item: Any) -> dict[str, Any]:
    """The attributes of a span, log or metric."""
    return {name: given["value"] for name, given in item["attributes"].items()}


def _items(body: bytes) -> Iterator[tuple[str, Any]]:
    _, _, rest = body.partition(b"\n")
    while rest.strip():
        head, _, rest = rest.partition(b"\n")
        header = json.loads(head)
        size = header.get("length", rest.find(b"\n"))
        payload, rest = rest[:size], rest[size:].lstrip(b"\n")
        yield header["type"], json.loads(payload)


@contextmanager
def receiving(*, answers: bool = True, status: int = 200) -> Iterator[Receiver]:
    """A receiver at work on a port of its own."""
    receiver = Receiver(answers=answers, status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.asked.set()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not receiver.answers:
                receiver.may_end.wait()
                return
            packed = self.headers.get("Content-Encoding") == "gzip"
            receiver.headers.append(f"{self.path}\n{self.headers}")
            receiver.bodies.append(gzip.decompress(body) if packed else body)
            self.send_response(receiver.status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.may_end.set()
        server.shutdown()
        thread.join()
        server.server_close()
