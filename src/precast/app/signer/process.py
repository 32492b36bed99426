"""The signer that a server starts as its own child, if no other is configured; and the connection of the server to its signer.

The child is a process with the key of its own memory, which the server's processes cannot read. The first worker starts it and restarts
it when it ends; all workers connect to its socket, which is in a directory that only they share.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from precast.app.settings import ServerSettings
from precast.app.shared_services import BackgroundTask
from precast.app.supervision import Worker
from precast.base.errors import Kind, PrecastError
from precast.services.identity import issues
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.messages import Failure

log = logging.getLogger("precast.signer")

START_S = 60.0
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
# The child gets these variables and those of the signer's settings, and none of the server's, such as the database's password.
_VARIABLES = ("PATH", "LANG", "HOME", "TMPDIR", "CREDENTIALS_DIRECTORY", "PRECAST_DEBUG")


class SignerProcess:
    """The child process of one server."""

    def __init__(self, settings: ServerSettings, path: Path) -> None:
        names = [word for name in settings.names for word in ("--name", name)]
        self._words = ["--data", str(settings.data), "--socket", str(path), *names]
        self._words += ["--confinement", settings.confinement.value, "--child", str(os.getpid())]
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it serves. Raises the error for which it does not."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in _VARIABLES or name.startswith("PRECAST_SIGNER_")
        }
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "precast", "signer", *self._words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                line = await self._process.stdout.readline()
        except TimeoutError:
            line = b""
        if line.strip() == b"ready":
            return
        await self.close()
        try:
            failure = msgspec.json.decode(line, type=Failure)
        except msgspec.MsgspecError:
            raise issues.SIGNER_UNAVAILABLE.error(reason="it did not start") from None
        raise PrecastError.of_kind(Kind(failure.kind), failure.code, failure.message, failure.hint)

    async def run(self) -> None:
        """Restart it whenever it ends, for ever. Cancelling does not end it; `close` does."""
        pause_s = FIRST_PAUSE_S
        while True:
            if self._process is not None:
                code = await self._process.wait()
                log.warning("the signer ended with code %s; it is restarted", code)
                self._process = None
            try:
                await self.start()
                pause_s = FIRST_PAUSE_S
            except (PrecastError, OSError) as error:
                log.error("the signer cannot be restarted: %s", error)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def close(self) -> None:
        """End it. It writes everything to the disk before it answers, so killing it loses nothing."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def opened_signer(
    settings: ServerSettings, worker: Worker | None, background: list[BackgroundTask]
) -> AsyncIterator[SignerClient]:
    """A client of the configured signer, or of a child that is started first; `background` gets the task that restarts it.

    Raises what the signer raises at its start, or UnavailableError CA-030 if the configured one does not answer.
    """
    async with contextlib.AsyncExitStack() as stack:
        path = settings.signer
        if path is None:
            shared = worker.shared_directory if worker is not None else Path(tempfile.mkdtemp(prefix="precast-signer-"))
            path = shared / "signer.sock"
            if worker is None:
                stack.callback(shutil.rmtree, shared, ignore_errors=True)
            if worker is None or worker.number == 1:
                child = SignerProcess(settings, path)
                await child.start()
                stack.push_async_callback(child.close)
                background.append(child.run)
        client = SignerClient(SocketConnection(path))
        stack.push_async_callback(client.close)
        await client.refresh()
        yield client
