"""Rotation: a new authority replaces the current one without downtime.

First every process trusts the new authority, then it begins to sign, and when no certificate of the old one is in use any more the
old one is retired. The old key is destroyed when the new one begins to sign. No node is cut off in between: servers and nodes trust
both, and servers send the old authority's signature on the new one to nodes that trust only the old one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from precast.base.ids import Ids
from precast.services.identity import certificates, issues
from precast.services.identity.authority import PublicAuthority
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.messages import Credential
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.authorities import Authorities
from precast.store.identity.certificates import NodeCertificates
from precast.wire.identity.bodies import RotationBody

# Other processes check the directory once a second: after this time all of them trust the new authority.
SETTLE_S = 3.0
# How many nodes an error message names.
MAX_NAMED = 5
# How many nodes the status lists.
MAX_LISTED = 1000


class RotationService:
    """Rotates the authority of this server's directory."""

    def __init__(
        self,
        database: Database,
        nodes: NodeCertificates,
        audit: AuditLog,
        signer: SignerClient,
        ids: Ids,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._database = database
        self._nodes = nodes
        self._audit = audit
        self._signer = signer
        self._ids = ids
        self._settle_s = settle_s
        self._is_rotating = False

    async def status(self) -> RotationBody:
        """Show the trusted authorities, and the nodes that still use an old one."""
        await self._signer.refresh()
        current, is_prepared = self._signer.current, self._signer.description.is_prepared
        others: list[str] = [
            certificates.fingerprint(certificate) for certificate in (*current.others, *current.imported)
        ]
        users = (
            await self._nodes.read_nodes_of_other_authorities(current.fingerprint, MAX_LISTED)
            if others and not is_prepared
            else []
        )
        return RotationBody(current.fingerprint, others, is_prepared, users)

    async def rotate(self, actor: str, approver: Credential | None = None, *, prepare_only: bool) -> RotationBody:
        """Create a new authority and let it sign; with `prepare_only`, only let it be trusted for now.

        Raises ConflictError CA-012 if an old one is still trusted. Cancelling may leave a prepared successor: the next call
        continues from there.
        """
        attempt = self._ids.new()
        async with self._one_at_a_time():
            old = self._signer.current
            if not self._signer.description.is_prepared:
                if old.others or old.imported:
                    raise issues.ROTATION_IN_PROGRESS.error(state="the old authority is still trusted")
                await self._database.write(self._audit.add, actor, "authority.prepare", old.fingerprint)
                await self._signer.rotate("prepare", attempt, approver, is_continued=not prepare_only)
                if not prepare_only:
                    await asyncio.sleep(self._settle_s)
            if not prepare_only:
                await self._database.write(self._record_switch, old.fingerprint, actor)
                await self._signer.rotate("switch", attempt, approver)
        return await self.status()

    async def finish(self, actor: str, approver: Credential | None = None, *, is_forced: bool) -> RotationBody:
        """Stop trusting the old authority. Raises ConflictError CA-015 if there is none, CA-013 while it is in use."""
        async with self._one_at_a_time():
            current = self._signer.current
            if not current.others and not current.imported:
                raise issues.NOT_ROTATING.error()
            if self._signer.description.is_prepared:
                raise issues.ROTATION_IN_PROGRESS.error(state="the new authority is prepared and does not sign yet")
            # The database first: if the process dies in between, the whole step can be repeated.
            await self._database.write(self._revoke_others, current, actor, is_forced)
            await self._signer.rotate("retire", self._ids.new(), approver)
        return await self.status()

    @contextlib.asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Raises ConflictError CA-012 if another request of this process rotates; the signer orders those of several processes."""
        if self._is_rotating:
            raise issues.ROTATION_IN_PROGRESS.error(state="another request is changing it right now")
        self._is_rotating = True
        try:
            await self._signer.refresh()
            yield
        finally:
            self._is_rotating = False

    def _record_switch(self, old: str, actor: str) -> Transaction[None]:
        yield from self._nodes.set_missing_authority(old)
        yield from self._audit.add(actor, "authority.rotate", old)

    def _revoke_others(self, current: PublicAuthority, actor: str, is_forced: bool) -> Transaction[None]:
        users = yield from self._nodes.list_nodes_of_other_authorities(current.fingerprint, MAX_LISTED)
        if users and not is_forced:
            names = ", ".join(users[:MAX_NAMED]) + (", …" if len(users) > MAX_NAMED else "")
            count = f"{MAX_LISTED} or more" if len(users) == MAX_LISTED else str(len(users))
            raise issues.STILL_IN_USE.error(count=count, nodes=names)
        # A server that starts with this authority alone must find it here.
        yield from Authorities(self._database).add([current.fingerprint])
        # Expired certificates too: a certificate of a retired authority is not renewed.
        serials = yield from self._nodes.revoke_other_authorities(current.fingerprint, "its authority was retired")
        yield from self._audit.add(
            actor, "authority.retire", current.fingerprint, is_forced=is_forced, taken_back=len(serials)
        )
