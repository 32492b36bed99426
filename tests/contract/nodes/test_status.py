"""The state of a site on both databases."""

import asyncio
import socket
from datetime import timedelta
from pathlib import Path

from precast.base.clock import ManualClock
from precast.services.nodes.status import Place, StatusService
from precast.services.sessions.server_presence import ServerPresence, quiet_name
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions


async def test_status_counts_nodes_queues_and_servers(database: Database, clock: ManualClock, tmp_path: Path) -> None:
    fleet, sessions, nodes = Fleet(database), Sessions(database), Nodes(database)
    now = clock.now()

    def filling() -> Transaction[None]:
        for name, until in (
            ("good1", now + timedelta(days=1)),
            ("good2", now + timedelta(days=1)),
            ("late1", now),
            ("gone1", now + timedelta(days=1)),
            ("left1", now + timedelta(days=1)),
        ):
            yield from nodes.taking(name)
            yield from nodes.adding(Certificate(f"5e{name}", name, "key", {}, now, until))
        yield from nodes.revoking("gone1", "stolen")
        yield from fleet.deactivating("left1")

    await database.write(filling)
    await sessions.renew_lease("s1", "host:1", 30, 1)
    await sessions.renew_lease("s2", "other [compiler]", 30, 0)
    queue = WorkQueue(database, [WorkKind("facts", max_attempts=1)])
    await queue.enqueue("facts", "a", b"")
    place = Place(tmp_path, now, lambda: now + timedelta(days=900))
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), place).show()
    assert view.nodes == {"connected": 1, "away": 1, "expired": 1, "revoked": 1, "deactivated": 1}
    servers = [(one.name, one.connections, one.has_port) for one in view.servers]
    assert servers == [("host:1", 1, True), ("other [compiler]", 0, False)]
    assert [(one.kind, one.waiting, one.dead) for one in view.queues] == [("facts", 1, 0)]
    assert view.database.kind == database.dialect.value
    assert view.disk.free_bytes > 0
    clock.advance(31)
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), place).show()
    assert (view.nodes["connected"], view.nodes["away"], view.servers) == (0, 2, [])


async def test_server_that_serves_no_nodes_is_there_until_it_ends(database: Database) -> None:
    sessions = Sessions(database)
    name = quiet_name(["compiler", "scheduler"], 2)
    running = asyncio.create_task(ServerPresence(sessions, "s1", name).run())
    while not (found := await sessions.servers()):
        await asyncio.sleep(0)
    assert (found[0].name, found[0].has_port) == (f"{socket.gethostname()}/2 [compiler, scheduler]", False)
    assert found[0].lease_until > database.clock.now()
    running.cancel()
    await asyncio.wait([running])
    (left,) = await sessions.servers()
    assert left.lease_until <= database.clock.now()
