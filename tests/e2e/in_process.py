"""The HTTP server inside the test's own process, on a real port: for what needs a clock that is moved by hand, or tight limits."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from precast.api.http.callers import Callers
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import Limits, Quotas
from precast.api.http.routes import Route, Routes
from precast.api.http.server import HttpServer
from precast.api.http.tls import ServerTls
from precast.base.clock import Clock
from precast.base.ids import TimeOrderedIds
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles, HeldAuthority
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.identity.tokens import Tokens
from precast.store.schema.schema import Schema


class Serving(NamedTuple):
    """What a test needs of it."""

    tls: ServerTls
    port: int
    authority_pem: str


@asynccontextmanager
async def serving(
    directory: Path, clock: Clock, limits: Limits | None = None, *routes: Route
) -> AsyncIterator[Serving]:
    """Health and metrics, and what else a test wants to have served."""
    files = AuthorityFiles(directory / "authority")
    with files.creating(Authority.new(clock.now())):
        pass
    held = HeldAuthority(files)
    database = await connect(SqliteLocation(directory / "precast.db"), may_create=True, clock=clock)
    await Schema(database).expand()
    ids = TimeOrderedIds(clock)
    audit = AuditLog(database, ids)
    people = PeopleService(database, Tokens(database), audit, ids, secrets)
    callers = Callers(people, RecognitionService(database, Nodes(database), audit))
    declared = Routes()
    for route in routes:
        declared.add(route)
    tls = ServerTls(held, ["127.0.0.1"], clock)
    server = HttpServer(declared, callers, Metrics(database), Quotas(clock, limits or Limits()))
    try:
        yield Serving(tls, await server.start("127.0.0.1", 0, tls.context), held.current.pem)
    finally:
        await server.stop()
        await database.close()
