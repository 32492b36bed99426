"""The HTTP server inside the test process, on a real port: for tests that need a manual clock or low limits."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from precast.api.http.authorisation import Authoriser
from precast.api.http.connections.limits import ConnectionLimits
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import Quotas, RequestLimits
from precast.api.http.routes import Route, Routes
from precast.api.http.server import HttpServer
from precast.api.http.tls import ServerTls
from precast.base.clock import Clock
from precast.base.ids import TimeOrderedIds
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.signer.local import open_local_signer
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.tokens import Tokens
from precast.store.schema.schema import Schema


class RunningServer(NamedTuple):
    """A server that runs in the test process."""

    tls: ServerTls
    port: int
    authority_pem: str


@asynccontextmanager
async def serving(
    directory: Path,
    clock: Clock,
    limits: RequestLimits | None = None,
    *routes: Route,
    connections: ConnectionLimits | None = None,
) -> AsyncIterator[RunningServer]:
    """Serve health, metrics and these routes."""
    files = AuthorityFiles(directory / "authority")
    with files.created(Authority.new(clock.now())):
        pass
    signer = await open_local_signer(files, clock, ["127.0.0.1"])
    database = await connect(SqliteLocation(directory / "precast.db"), may_create=True, clock=clock)
    await Schema(database).expand()
    ids = TimeOrderedIds(clock)
    audit = AuditLog(database, ids)
    people = PeopleService(database, Tokens(database), audit, ids, secrets, signer)
    authoriser = Authoriser(people, RecognitionService(database, NodeCertificates(database), audit))
    declared = Routes()
    for route in routes:
        declared.add(route)
    tls = await ServerTls.create(signer, ["127.0.0.1"], clock)
    server = HttpServer(declared, authoriser, Metrics(database), Quotas(clock, limits or RequestLimits()), connections)
    try:
        yield RunningServer(tls, await server.start("127.0.0.1", 0, tls.context), signer.current.pem)
    finally:
        await server.stop()
        await database.close()
