"""Registers a server that accepts no connections: one without the role api, which compiles or runs scheduled work.

A server that nodes connect to renews its lease with its connections. Without a lease, an operator could not see whether the other servers
are alive, for example when nothing is compiled. Both kinds hold a lease in the same list; the name of a listening server has its port.
"""

import asyncio
import logging
import socket
from collections.abc import Coroutine, Iterable
from typing import Any

from precast.base.errors import PrecastError
from precast.store.sessions.sessions import Sessions

log = logging.getLogger("precast.servers")

RENEW_S = 5.0
LEASE_S = 15.0


def worker_server_name(roles: Iterable[str], number: int | None = None) -> str:
    """The name of a server that does not listen: its host and its roles."""
    process = "" if number is None else f"/{number}"
    return f"{socket.gethostname()}{process} [{', '.join(roles)}]"


class ServerPresence:
    """Owns the lease of one server."""

    def __init__(self, sessions: Sessions, server_id: str, name: str) -> None:
        self._sessions, self._id, self._name = sessions, server_id, name

    async def run(self) -> None:
        """Renew the lease for ever. Cancelling releases it; if that fails, it expires."""
        try:
            while True:
                await self._log_errors("renew", self._sessions.renew_lease(self._id, self._name, LEASE_S, 0))
                await asyncio.sleep(RENEW_S)
        finally:
            await self._log_errors("end", self._sessions.end_lease(self._id))

    async def _log_errors(self, what: str, operation: Coroutine[Any, Any, None]) -> None:
        try:
            await operation
        except PrecastError as error:
            if not error.consequence.retry:
                raise
            log.warning("cannot %s this server's lease: %s", what, error)
