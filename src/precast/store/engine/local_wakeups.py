"""Sends wake-ups between the processes that share one SQLite file, as datagrams over sockets in a shared directory.

Each process binds a socket there and sends to all others. Nothing blocks: a datagram to a full or dead socket is lost, and costs a
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
    """Wakes this process at once and the other processes through their sockets."""

    def __init__(self, directory: Path) -> None:
        """Bind the socket. Needs a running event loop. Raises OSError if the directory cannot be used."""
        super().__init__()
        self._name = f"wake-{os.getpid()}-{secrets.token_hex(4)}"
        # The path of a socket has at most 108 bytes; through its file descriptor every directory has a short path.
        self._handle = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._directory = Path(f"/proc/self/fd/{self._handle}")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.bind(str(self._directory / self._name))
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket.fileno(), self._receive)

    def publish(self, topics: Iterable[str]) -> None:
        topics = list(topics)
        super().publish(topics)
        if not topics:
            return
        for message in _messages(topics):
            for peer in self._list_peers():
                try:
                    self._socket.sendto(message, peer)
                except (ConnectionRefusedError, FileNotFoundError):
                    Path(peer).unlink(missing_ok=True)  # its process has ended
                except OSError:
                    continue  # full: the process is being woken already

    async def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        (self._directory / self._name).unlink(missing_ok=True)
        os.close(self._handle)

    def _list_peers(self) -> list[str]:
        with os.scandir(self._directory) as entries:
            return [entry.path for entry in entries if entry.name.startswith("wake-") and entry.name != self._name]

    def _receive(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                message = self._socket.recv(65_536)
                super().publish(topic.decode(errors="replace") for topic in message.split(_END))


def _messages(topics: list[str]) -> Iterator[bytes]:
    """Pack the topics into as few datagrams as possible; a topic that is too long for a datagram is left out."""
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
