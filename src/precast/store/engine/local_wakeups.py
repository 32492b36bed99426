"""Carries wake-ups between the processes that share one SQLite file, by datagrams in a directory of theirs.

Each has a socket there and writes to all it finds. Nothing waits: what a full or dead socket does not take is lost, and costs a
poll interval like every lost wake-up.
"""

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

from precast.store.engine.wakeups import Wakeups

# Well below what a datagram of the smallest default buffer can hold.
MAX_BYTES = 32_000
_END = b"\0"


class LocalWakeups(Wakeups):
    """Wakes this process at once and its neighbours by their sockets."""

    def __init__(self, room: Path) -> None:
        """Made where an event loop runs. Raises OSError if the directory cannot be used."""
        super().__init__()
        self._name = f"wake-{os.getpid()}-{secrets.token_hex(4)}"
        # Addresses of sockets are short; by its handle a directory is, wherever it lies.
        self._handle = os.open(room, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._room = Path(f"/proc/self/fd/{self._handle}")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.bind(str(self._room / self._name))
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._hear)

    def publish(self, topics: Iterable[str]) -> None:
        topics = list(topics)
        super().publish(topics)
        if not topics:
            return
        for message in _messages(topics):
            for neighbour in self._neighbours():
                try:
                    self._socket.sendto(message, neighbour)
                except (ConnectionRefusedError, FileNotFoundError):
                    Path(neighbour).unlink(missing_ok=True)  # nobody is behind it any more
                except OSError:
                    continue  # full: it is being woken already

    async def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        (self._room / self._name).unlink(missing_ok=True)
        os.close(self._handle)

    def _neighbours(self) -> list[str]:
        with os.scandir(self._room) as found:
            return [one.path for one in found if one.name.startswith("wake-") and one.name != self._name]

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                heard = self._socket.recv(65_536)
                super().publish(topic.decode(errors="replace") for topic in heard.split(_END))


def _messages(topics: list[str]) -> Iterator[bytes]:
    """The topics in as few datagrams as they fit; one that is too long for any is left out."""
    batch = b""
    for topic in {topic.encode(errors="replace"): None for topic in topics}:
        if len(topic) > MAX_BYTES:
            continue
        if batch and len(batch) + len(topic) >= MAX_BYTES:
            yield batch
            batch = b""
        batch = batch + _END + topic if batch else topic
    if batch:
        yield batch
