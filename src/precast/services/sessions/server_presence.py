"""Says that a server is there which serves no nodes: one without the role api, that compiles or works by the clock.

Servers that nodes connect to say so with their connections. Of the others nobody would know whether they live, and somebody who looks
why nothing is compiled wants to. Both hold a lease in the same list; the name of one that listens has its port in it.
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


def quiet_name(roles: Iterable[str], number: int | None = None) -> str:
    """What a server is called that listens nowhere: its host, and what it does there."""
    process = "" if number is None else f"/{number}"
    return f"{socket.gethostname()}{process} [{', '.join(roles)}]"


class ServerPresence:
    """Owns the lease of one server."""

    def __init__(self, sessions: Sessions, server_id: str, name: str) -> None:
        self._sessions, self._id, self._name = sessions, server_id, name

    async def run(self) -> None:
        """Renew the lease, for ever. Cancelling gives it back; where it cannot be given back, it runs out."""
        try:
            while True:
                await self._quietly("renew", self._sessions.renew_lease(self._id, self._name, LEASE_S, 0))
                await asyncio.sleep(RENEW_S)
        finally:
            await self._quietly("end", self._sessions.end_lease(self._id))

    async def _quietly(self, what: str, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except PrecastError as error:
            if not error.consequence.retry:
                raise
            log.warning("cannot %s this server's lease: %s", what, error)
