"""A metadata service like EC2's, with session tokens: it serves files by path, and listings of directories.

`python -m lab.metadata_service FILE` serves the files of a JSON document on the link-local address until it is killed.
"""

import contextlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

TOKEN = "a-token-of-this-session"
_ASKED, _GIVEN = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"


def answer(files: Mapping[str, str], path: str) -> str | None:
    """The content of a file, the names below a directory, or None if the path does not exist."""
    path = path.strip("/")
    if path in files:
        return files[path]
    below = [name.removeprefix(f"{path}/") for name in files if name.startswith(f"{path}/")]
    names = [path.partition("/") for path in below]
    return "\n".join(dict.fromkeys(first + sign for first, sign, _ in names)) if names else None


@contextlib.contextmanager
def serving(files: Mapping[str, str], address: tuple[str, int] = ("169.254.169.254", 80)) -> Iterator[list[str]]:
    """Serve until the context ends. Gives a list to which each requested path is appended."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._say(200 if self.headers.get(_ASKED) else 400, TOKEN)

        def do_GET(self) -> None:
            asked.append(self.path)
            text = answer(files, self.path)
            has_token = self.headers.get(_GIVEN) == TOKEN
            self._say(401 if not has_token else 404 if text is None else 200, text or "" if has_token else "")

        def _say(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing: the list has the requests."""

    with http.server.ThreadingHTTPServer(address, Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    with serving(json.loads(Path(sys.argv[1]).read_text())):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
