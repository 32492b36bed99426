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
from collections.abc import Coroutine, Iterable, Mapping
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

    def __init__(self, sessions: Sessions, server_id: str, opened: OpenSessions) -> None:
        self._sessions, self._id, self._open = sessions, server_id, opened
        self._lock = asyncio.Lock()  # a renewal that is under way must not undo the end of the lease
        self._has_ended = False
        self._extra_s = 0.0

    async def run(self) -> None:
        """Renew the lease until it is ended. Cancelling ends it; if that fails, it expires."""
        try:
            while not self._has_ended:
                began_s = time.monotonic()
                is_renewed = await _succeeds("renew", self.renew())
                took_s = time.monotonic() - began_s
                self._extra_s = min(2 * took_s, MAX_EXTRA_S)
                await asyncio.sleep(max(RENEW_S - took_s, RETRY_S) if is_renewed else RETRY_S)
        finally:
            await self.end()

    async def renew(self) -> None:
        """Renew the lease, then correct the registered sessions. Cancelling is safe: the next renewal does the rest."""
        async with self._lock:
            if self._has_ended:
                return
            count = len(self._open.list_epochs())
            await self._sessions.renew_lease(self._id, self._open.server_name, LEASE_S + self._extra_s, count)
            await self._correct_sessions()

    async def end(self) -> None:
        """End the lease, and with it all sessions of this server."""
        if self._has_ended:
            return
        self._has_ended = True
        async with self._lock:
            await _succeeds("end", self._sessions.end_lease(self._id))

    async def _correct_sessions(self) -> None:
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


async def _succeeds(what: str, operation: Coroutine[Any, Any, None]) -> bool:
    """Whether the operation was possible; False while the database is unavailable."""
    try:
        await operation
    except PrecastError as error:
        if not error.consequence.retry:
            raise
        log.warning("cannot %s this server's lease: %s", what, error)
        return False
    return True
