"""Holds the lease of a server, and keeps the registered sessions equal to those that are open in it.

A session counts as connected while it is registered for a server whose lease is valid. A server that was paused, or whose database did
not answer, finds on its return that others have ended its sessions, or that it could not store the end of one. So each renewal of the
lease compares: an open session that is not registered is registered again, unless the node has connected elsewhere since; a registered
session that is not open is ended. Nothing has to be remembered about what went wrong, and presence is right one renewal later.

A server that accepts no connections (without the role api) holds a lease in the same list, so that an operator can see that it is alive.
The name of a listening server has its port.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol

from precast.base.errors import PrecastError
from precast.store.sessions.sessions import Sessions

log = logging.getLogger("precast.servers")

RENEW_S = 5.0
LEASE_S = 15.0
# After a renewal that failed: the database may be back any moment.
RETRY_S = 1.0
# A lease lasts longer while renewals take long, so that it does not run out between two of them; at most by this.
MAX_EXTRA_S = 45.0


def worker_server_name(roles: Iterable[str], number: int | None = None) -> str:
    """The name of a server that does not listen: its host and its roles."""
    process = "" if number is None else f"/{number}"
    return f"{socket.gethostname()}{process} [{', '.join(roles)}]"


class OpenSessions(Protocol):
    """The sessions that are open in this process."""

    server_name: str

    def list_epochs(self) -> dict[str, int]:
        """The epochs of the open sessions, by node."""

    def is_beginning(self, node: str) -> bool:
        """Whether a session of the node is being begun: it may be registered already, and not be open yet."""

    def close_stale(self, stale: Mapping[str, int], stored: Mapping[str, int]) -> None:
        """Close those sessions, by node and epoch, that are not this server's, according to the epochs that are stored.

        It does not wait for the nodes: the lease has to be renewed meanwhile.
        """


class NoSessions:
    """Of a server that does not listen."""

    def __init__(self, server_name: str) -> None:
        self.server_name = server_name

    def list_epochs(self) -> dict[str, int]:
        return {}

    def is_beginning(self, node: str) -> bool:
        return False

    def close_stale(self, stale: Mapping[str, int], stored: Mapping[str, int]) -> None:
        assert not stale, "no session is open"


class ServerPresence:
    """Owns the lease of one server."""

    def __init__(
        self,
        sessions: Sessions,
        server_id: str,
        opened: OpenSessions,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions, self._id, self._open, self._monotonic_s = sessions, server_id, opened, monotonic_s
        self._lock = asyncio.Lock()  # a renewal that is under way must not undo the end of the lease
        self._has_renewed = asyncio.Event()
        self._namesakes = ""  # an earlier process of this server, until its lease is ended
        self._has_ended = False
        self._extra_s = 0.0

    async def run(self) -> None:
        """Renew the lease until it is ended. Cancelling ends it; if that fails, it expires."""
        try:
            # Apart, so that correcting many sessions on a slow disk does not delay the next renewal.
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._renew_again_and_again())
                tasks.create_task(self._correct_again_and_again())
        finally:
            await self.end()

    async def register(self) -> None:
        """Obtain the lease before nodes are told that this server runs: without one, its sessions do not count. `run` repeats a failure."""
        await _succeeds("obtain the lease of", self._renew_lease())

    async def renew(self) -> None:
        """Renew the lease, then end the sessions of servers that are gone, and correct those of this server.

        Cancelling is safe: the next renewal does the rest.
        """
        await self._renew_lease()
        await self._correct_sessions()

    async def end(self) -> None:
        """End the lease, and with it all sessions of this server."""
        if self._has_ended:
            return
        self._has_ended = True
        self._has_renewed.set()
        async with self._lock:
            await _succeeds("end the lease of", self._sessions.end_lease(self._id))

    async def _renew_again_and_again(self) -> None:
        while not self._has_ended:
            began_s = self._monotonic_s()
            is_renewed = await _succeeds("renew the lease of", self._renew_lease())
            took_s = self._monotonic_s() - began_s
            self._extra_s = min(2 * took_s, MAX_EXTRA_S)
            if is_renewed:
                self._has_renewed.set()
            await asyncio.sleep(max(RENEW_S - took_s, RETRY_S) if is_renewed else RETRY_S)

    async def _correct_again_and_again(self) -> None:
        while True:
            await self._has_renewed.wait()
            if self._has_ended:
                return
            self._has_renewed.clear()
            if not await _succeeds("correct the sessions of", self._correct_sessions()):
                await asyncio.sleep(RETRY_S)
                self._has_renewed.set()

    async def _renew_lease(self) -> None:
        async with self._lock:
            if not self._has_ended:
                name, count = self._open.server_name, len(self._open.list_epochs())
                if await self._sessions.renew_lease(self._id, name, LEASE_S + self._extra_s, count):
                    self._namesakes = name

    async def _correct_sessions(self) -> None:
        await self._sessions.end_expired_leases(self._id, self._namesakes)
        self._namesakes = ""
        if self._has_ended:
            return
        registered = await self._sessions.list_registered(self._id)
        # Read after the database: a session that began in between is open now, or still being begun.
        opened = self._open.list_epochs()
        ended = [
            (node, epoch)
            for node, epoch in registered.items()
            if opened.get(node) != epoch and not self._open.is_beginning(node)
        ]
        if ended:
            log.warning("%d nodes are no longer connected, and their sessions end now", len(ended))
            await self._sessions.end(self._id, ended)
        unregistered = {node: epoch for node, epoch in opened.items() if registered.get(node) != epoch}
        if unregistered:
            stored = await self._sessions.resume(self._id, unregistered)
            if resumed := len(unregistered) - len(stored):
                log.warning("the sessions of %d connected nodes were registered again", resumed)
            self._open.close_stale({node: unregistered[node] for node in stored}, stored)


async def _succeeds(what: str, operation: Coroutine[Any, Any, object]) -> bool:
    """Whether the operation was possible; False while the database is unavailable."""
    try:
        await operation
    except PrecastError as error:
        if not error.consequence.retry:
            raise
        log.warning("cannot %s this server: %s", what, error)
        return False
    return True
