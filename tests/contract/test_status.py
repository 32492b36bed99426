"""The state of a site on both databases."""

from datetime import timedelta
from pathlib import Path

from precast.base.clock import ManualClock
from precast.services.status import Place, StatusService
from precast.store.classification import Classifications
from precast.store.database import Database
from precast.store.fleet import Fleet
from precast.store.nodes import Certificate, Nodes
from precast.store.query import Unit
from precast.store.sessions import Sessions
from precast.store.work import WorkQueue
from precast.store.work_kinds import WorkKind


async def test_status_counts_nodes_queues_and_servers(database: Database, clock: ManualClock, tmp_path: Path) -> None:
    fleet, sessions, nodes = Fleet(database), Sessions(database), Nodes(database)
    now = clock.now()

    def filling() -> Unit[None]:
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
    queue = WorkQueue(database, [WorkKind("facts", max_attempts=1)])
    await queue.enqueue("facts", "a", b"")
    place = Place(tmp_path, now, lambda: now + timedelta(days=900))
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), place).show()
    assert view.nodes == {"connected": 1, "away": 1, "expired": 1, "revoked": 1, "deactivated": 1}
    assert [(one.name, one.connections) for one in view.servers] == [("host:1", 1)]
    assert [(one.kind, one.waiting, one.dead) for one in view.queues] == [("facts", 1, 0)]
    assert view.database.kind == database.dialect.value
    assert view.disk.free_bytes > 0
    clock.advance(31)
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), place).show()
    assert (view.nodes["connected"], view.nodes["away"], view.servers) == (0, 2, [])
