"""A web server on the loopback interface whose responses a test defines."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Page(NamedTuple):
    """The response for one path."""

    body: bytes = b"hello\n"
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    head: int = 200
    length: int | None = None


class HttpFiles:
    """A context manager: serves pages by path, and records the requests."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []  # of each request
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(is_head=True)

            def do_GET(self) -> None:
                self._answer(is_head=False)

            def _answer(self, *, is_head: bool) -> None:
                outer.asked.append(f"{self.command} {self.path}")
                outer.headers.append(dict(self.headers))
                page = outer.pages.get(self.path, Page(b"", 404, head=404))
                self.send_response(page.head if is_head else page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(page.body) if page.length is None else page.length))
                self.end_headers()
                if not is_head:
                    self.wfile.write(page.body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, path: str = "/a") -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"
