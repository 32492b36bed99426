"""Routes about the audit log: the list for people, and its chains, from which a client checks and exports it."""

from precast.api.http.routes import ADMIN, Call, route
from precast.services.identity import issues
from precast.store.identity.audit import END, AuditLog
from precast.wire.identity.audit import ChainHead, ChainPage
from precast.wire.identity.bodies import AuditRow

PAGE = 500
# The places of entries are 64-bit integers.
MAX_DIGITS = 18


class AuditApi:
    """Handles the routes of the audit log. The server checks nothing: a check is worth most on another machine."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    @route("GET", "/v1/audit", ADMIN, "The audit log, newest first", list[AuditRow], query=("before",))
    async def list_audit(self, call: Call) -> list[AuditRow]:
        entries = await self._audit.read_latest(call.query.get("before", END), PAGE)
        return [
            AuditRow(entry.id, entry.at, entry.actor, entry.action, entry.target, entry.detail) for entry in entries
        ]

    @route("GET", "/v1/audit/heads", ADMIN, "The newest entry of each chain of the audit log", list[ChainHead])
    async def list_heads(self, call: Call) -> list[ChainHead]:
        return await self._audit.read_heads()

    @route(
        "GET",
        "/v1/audit/chain",
        ADMIN,
        "The entries of a chain of the audit log, in order",
        ChainPage,
        query=("chain", "after"),
        errors=(issues.BAD_PLACE,),
    )
    async def read_chain(self, call: Call) -> ChainPage:
        after = call.query.get("after", "0")
        if not after.removeprefix("-").isascii() or not after.removeprefix("-").isdecimal() or len(after) > MAX_DIGITS:
            raise issues.BAD_PLACE.error()
        return await self._audit.read_chain(call.query.get("chain", ""), int(after), PAGE)
