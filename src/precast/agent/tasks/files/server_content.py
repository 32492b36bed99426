"""Content of tasks on its way between this node and its servers, through the network process.

The first use starts the process. Servers that do not answer are asked again until shortly before the deadline of the task, the one that
the daemon is connected to first. What arrives is stored only if it has its digest.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Self, TypeVar

from precast.agent.catalog.content_download import download_contents
from precast.agent.identity.credentials import Credentials
from precast.agent.issues import CANNOT_KEEP
from precast.agent.network.http_client import HttpClient
from precast.agent.network.request_process import network_client
from precast.agent.state.status_notes import ConnectionNote
from precast.agent.tasks.context import TaskContext
from precast.agent.tasks.files import issues
from precast.base import https
from precast.base.errors import NotFoundError, PrecastError
from precast.base.files import make_private_directory
from precast.wire.plans.task_content import PATH, StoredContent, content_path

T = TypeVar("T")

FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 30.0
# Before the deadline, for what follows: to tell what has happened.
RESERVE_S = 5.0
_LOOK_S = 0.5


class ServerContent:
    """The servers, as a task asks them for content. A context manager; the network process ends with the block."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._process = contextlib.ExitStack()
        self._client: HttpClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_process()

    def fetch(self, digest: str, directory: Path) -> Path:
        """Fetch content into a directory that only its owner may enter, unless it is there. Returns its path.

        Raises NotFoundError AGENT-062 if the task may not have it, DeniedError AGENT-017 if it does not have its digest, UnavailableError
        AGENT-004 if it cannot be stored, AGENT-063, AGENT-064.
        """
        try:
            make_private_directory(directory)
            self._repeat(lambda client, url: download_contents(directory, [digest], url, client, PATH))
        except NotFoundError:
            _discard(directory, digest)
            raise issues.NOT_OFFERED.error(digest=digest[:12]) from None
        except OSError as error:  # on a full disk, a part of a file is of no use
            _discard(directory, digest)
            raise CANNOT_KEEP.error(path=directory, reason=error.strerror or error) from None
        return directory / digest

    def send(self, digest: str, file: IO[bytes], size: int) -> None:
        """Send content. Raises the server's error, UnavailableError AGENT-063, AGENT-064."""

        def put(client: HttpClient, url: str) -> None:
            file.seek(0)
            https.read_answer(url, client.upload(url, content_path(digest), file, size), StoredContent)

        self._repeat(put)

    def _repeat(self, request: Callable[[HttpClient, str], T]) -> T:
        """Make a request to each server, and again, until one answers."""
        pause_s = FIRST_PAUSE_S
        while True:
            reason = "no server is configured"
            for url in self._urls():
                try:
                    return request(self._start_process(), url)
                except PrecastError as error:
                    self._end_process()
                    if not error.consequence.retry:
                        raise
                    reason = error.message
            self._wait(pause_s, reason)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)

    def _urls(self) -> list[str]:
        connection = self._context.store.read_note(ConnectionNote)
        return sorted(self._context.settings.urls, key=lambda url: connection is None or url != connection.url)

    def _start_process(self) -> HttpClient:
        if self._client is None:
            context = Credentials(self._context.root).context()
            self._client = self._process.enter_context(network_client(context, self._context.settings.network_user))
        return self._client

    def _end_process(self) -> None:
        self._client = None
        self._process.close()

    def _wait(self, pause_s: float, reason: str) -> None:
        if self._context.left_s < pause_s + RESERVE_S:
            raise issues.SERVERS_AWAY.error(reason=reason)
        until_s = time.monotonic() + pause_s
        while (left_s := until_s - time.monotonic()) > 0:
            if self._context.must_stop():
                raise issues.STOPPED.error()
            time.sleep(min(left_s, _LOOK_S))


def _discard(directory: Path, digest: str) -> None:
    """Delete what has arrived of content."""
    for path in directory.glob(f"{digest}*"):
        path.unlink()
