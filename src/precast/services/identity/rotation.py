"""Rotation: another authority takes the place of the present one while everything goes on.

First the new one is trusted everywhere, then it signs, and when no certificate of the old one is in use any more the old one is
retired. The old key is destroyed when the new one begins to sign. Nobody is cut off in between: servers and nodes trust both, and
the old one's signature on the new one goes along for whoever trusts only the old one.
"""

import asyncio

from precast.services import issues
from precast.services.identity import certificates
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import HeldAuthority
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.wire.identity.bodies import RotationBody

# Other processes look at the directory once a second: in this time all of them trust the new authority.
SETTLE_S = 3.0
# Names in a message; the rest is a list of its own.
NAMED = 5
LISTED = 1000


class RotationService:
    """Rotates the authority of this server's directory."""

    def __init__(
        self, database: Database, nodes: Nodes, audit: AuditLog, authority: HeldAuthority, settle_s: float = SETTLE_S
    ) -> None:
        self._database = database
        self._nodes = nodes
        self._audit = audit
        self._authority = authority
        self._settle_s = settle_s

    async def status(self) -> RotationBody:
        """Which authorities are trusted, and who still uses an old one."""
        self._authority.look()
        current = self._authority.current
        others: list[str] = [certificates.fingerprint(one) for one in current.others]
        is_prepared = self._authority.files.is_prepared
        users = await self._nodes.live_of_others(current.fingerprint, LISTED) if others and not is_prepared else []
        return RotationBody(current.fingerprint, others, is_prepared, users)

    async def rotate(self, actor: str, *, prepare_only: bool) -> RotationBody:
        """Make a new authority and let it sign; or only let it be trusted, for now.

        Raises ConflictError CA-012 if an old one is still trusted. Cancelled, it leaves a successor that is prepared: the next
        call goes on from there.
        """
        files = self._authority.files
        with files.changing():
            self._authority.look()
            if not files.is_prepared:
                if self._authority.current.others:
                    raise issues.ROTATING.error(state="the old one is still trusted")
                await self._prepare(actor)
                if not prepare_only:
                    await asyncio.sleep(self._settle_s)
            if not prepare_only:
                await self._switch(actor)
        return await self.status()

    async def finish(self, actor: str, *, is_forced: bool) -> RotationBody:
        """Trust the new authority alone. Raises ConflictError CA-015 without an old one, CA-013 while that one is in use."""
        files = self._authority.files
        with files.changing():
            self._authority.look()
            current = self._authority.current
            if not current.others:
                raise issues.NOT_ROTATING.error()
            if files.is_prepared:
                raise issues.ROTATING.error(state="the new one is prepared and does not sign yet")
            # What is written down first can be done again.
            await self._database.write(self._finishing, current, actor, is_forced)
            files.retire()
            self._authority.look()
        return await self.status()

    async def _prepare(self, actor: str) -> None:
        old = self._authority.current
        now = self._database.clock.now()
        successor = Authority.new(now, old.certificate.subject)
        await self._database.write(
            self._audit.adding, actor, "authority.prepare", successor.fingerprint, before=old.fingerprint
        )
        self._authority.files.prepare(successor, old.sign_successor(successor, now))
        self._authority.look()

    async def _switch(self, actor: str) -> None:
        old = self._authority.current
        await self._database.write(self._switching, old.fingerprint, actor)
        self._authority.files.switch()
        self._authority.look()

    def _switching(self, old: str, actor: str) -> Transaction[None]:
        yield from self._nodes.naming_authority(old)
        yield from self._audit.adding(actor, "authority.rotate", old)

    def _finishing(self, current: Authority, actor: str, is_forced: bool) -> Transaction[None]:
        users = yield from self._nodes.reading_live_of_others(current.fingerprint, LISTED)
        if users and not is_forced:
            names = ", ".join(users[:NAMED]) + (", …" if len(users) > NAMED else "")
            count = f"{LISTED} or more" if len(users) == LISTED else str(len(users))
            raise issues.STILL_IN_USE.error(count=count, nodes=names)
        # All of them, also those that ended: a certificate of a retired authority is not renewed.
        serials = yield from self._nodes.revoking_others(current.fingerprint, "its authority was retired")
        yield from self._audit.adding(
            actor, "authority.retire", current.fingerprint, is_forced=is_forced, taken_back=len(serials)
        )
