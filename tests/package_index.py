"""A package index on 127.0.0.1 with one wheel, which can be made to fail in the ways real ones do."""

from __future__ import annotations

import hashlib
import io
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine.models.catalog import CatalogEntry

WHEEL = "tiny_model-1.0-py3-none-any.whl"


def make_wheel(gguf: bytes, code: bytes = b"") -> bytes:
    """A wheel that pip accepts, with `gguf` and a module of `code` inside."""
    info = "tiny_model-1.0.dist-info"
    files = {
        "tiny_model/tiny.gguf": gguf,
        "tiny_model/__init__.py": code,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def make_entry(gguf: bytes, wheel: bytes) -> CatalogEntry:
    """The catalog entry that describes exactly these bytes."""
    return CatalogEntry(
        name="Tiny",
        origin="nobody/Tiny",
        licence="Apache-2.0",
        package="tiny-model",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel).hexdigest(),
        wheel_size=len(wheel),
        member="tiny_model/tiny.gguf",
        gguf_sha256=hashlib.sha256(gguf).hexdigest(),
        gguf_size=len(gguf),
    )


def altered(entry: CatalogEntry, **change: str | int) -> CatalogEntry:
    """The entry with some fields changed."""
    return replace(entry, **change)  # type: ignore[arg-type]


class PackageIndex:
    """Serves `wheel`; set the fields below it to make it misbehave. `requests` counts downloads."""

    def __init__(self, wheel: bytes) -> None:
        self.wheel = wheel
        self.status = 200  # of the wheel
        self.page_status = 200  # of the page that lists it
        self.cut = 0  # bytes missing at the end, though promised
        self.pause = 0.0  # seconds between pieces of the wheel
        self.requests = 0
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[PackageIndex]:
        """Run until the block ends."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/simple"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.endswith(".whl"):
                    index.requests += 1
                    self._send(index.status, "application/octet-stream", index.wheel)
                elif self.path.rstrip("/").endswith("/tiny-model"):
                    page = f'<!doctype html><a href="/files/{WHEEL}">{WHEEL}</a>'.encode()
                    self._send(index.page_status, "text/html", page)
                else:
                    self._send(404, "text/plain", b"")

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                is_wheel = status == 200 and kind.endswith("stream")
                end = len(body) - index.cut if is_wheel else len(body)
                try:
                    for at in range(0, end, 65536):
                        self.wfile.write(body[at : min(at + 65536, end)])
                        time.sleep(index.pause if is_wheel else 0)
                except OSError:
                    pass  # the client is gone

            def log_message(self, *args: object) -> None:
                pass

        return Handler
