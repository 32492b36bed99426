"""The state of a site on both databases."""

import asyncio
import socket
from datetime import timedelta
from pathlib import Path

from precast.base.clock import ManualClock
from precast.services.identity.issues import SIGNER_UNAVAILABLE
from precast.services.nodes.status import ServerInfo, StatusService
from precast.services.sessions.server_presence import NoSessions, ServerPresence, worker_server_name
from precast.store.catalogs.staged import StagedCatalog, StagedCatalogs
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.kinds import WorkKind
from precast.store.queue.queue import WorkQueue
from precast.store.reports.reports import Reports, ReportUpdate, ResourceCounts, RunOutcome
from precast.store.sessions.sessions import Sessions
from precast.wire.reports.records import RunBegan


async def test_status_counts_nodes_queues_and_servers(database: Database, clock: ManualClock, tmp_path: Path) -> None:
    fleet, sessions, nodes = Fleet(database), Sessions(database), NodeCertificates(database)
    now = clock.now()

    def fill() -> Transaction[None]:
        for name, until in (
            ("good1", now + timedelta(days=1)),
            ("good2", now + timedelta(days=1)),
            ("late1", now),
            ("gone1", now + timedelta(days=1)),
            ("left1", now + timedelta(days=1)),
        ):
            yield from nodes.lock_or_create(name)
            yield from nodes.add(Certificate(f"f{name}", f"5e{name}", name, "key", {}, now, until))
        yield from nodes.revoke("gone1", "stolen")
        yield from fleet.deactivate("left1")

    await database.write(fill)
    await sessions.renew_lease("s1", "host:1", 30, 1)
    await sessions.renew_lease("s2", "other [compiler]", 30, 0)
    queue = WorkQueue(database, [WorkKind("facts", max_attempts=1)])
    await queue.enqueue("facts", "a", b"")
    server = ServerInfo(tmp_path, now, lambda: now + timedelta(days=900), answer)
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), server).show()
    assert view.nodes == {"connected": 1, "away": 1, "expired": 1, "revoked": 1, "deactivated": 1}
    servers = [(server.name, server.connections, server.has_port) for server in view.servers]
    assert servers == [("host:1", 1, True), ("other [compiler]", 0, False)]
    assert [(queue.kind, queue.waiting, queue.dead) for queue in view.queues] == [("facts", 1, 0)]
    assert view.database.kind == database.dialect.value
    assert view.disk.free_bytes > 0
    clock.advance(31)
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), server).show()
    assert (view.nodes["connected"], view.nodes["away"], view.servers) == (0, 2, [])


async def test_server_without_connections_has_a_lease_until_it_ends(database: Database) -> None:
    sessions = Sessions(database)
    name = worker_server_name(["compiler", "scheduler"], 2)
    running = asyncio.create_task(ServerPresence(sessions, "s1", NoSessions(name)).run())
    while not (servers := await sessions.list_servers()):
        await asyncio.sleep(0)
    assert (servers[0].name, servers[0].has_port) == (f"{socket.gethostname()}/2 [compiler, scheduler]", False)
    assert servers[0].lease_until > database.clock.now()
    running.cancel()
    await asyncio.wait([running])
    (server,) = await sessions.list_servers()
    assert server.lease_until <= database.clock.now()


async def answer() -> None:
    """A signer that answers."""


async def test_status_names_failing_nodes_compile_errors_and_a_silent_signer(
    database: Database, clock: ManualClock, tmp_path: Path
) -> None:
    fleet, sessions, nodes = Fleet(database), Sessions(database), NodeCertificates(database)
    now = clock.now()

    def fill() -> Transaction[None]:
        for name in ("bad1", "good1", "gone1", "mended1", "stuck1"):
            yield from nodes.lock_or_create(name)
        yield from fleet.deactivate("gone1")
        staged = StagedCatalog("bad1", "production", "v", "f", "chain", None, None, "{}", now, now)
        yield from StagedCatalogs().stage([staged])
        counts = {"bad1": (0, 1), "good1": (0, 0), "gone1": (1, 1), "mended1": (1, 0)}
        for number, name in enumerate(counts):
            for turn, failures in enumerate(counts[name]):
                yield from finish_run(database, name, f"{turn}-{number}", failed=failures)
                clock.advance(1)
        yield from finish_run(database, "stuck1", "2", state="not-run")

    async def fail() -> None:
        raise SIGNER_UNAVAILABLE.error(reason="no such file")

    await database.write(fill)
    await sessions.renew_lease("s1", "host:1 [api, scheduler]", 30, 0)
    server = ServerInfo(tmp_path, now, lambda: now + timedelta(days=900), fail)
    queue = WorkQueue(database, [])
    view = await StatusService(database, fleet, sessions, queue, Classifications(database), server).show()
    assert (view.failing, view.code_errors) == (["bad1", "stuck1"], 1)
    assert "no such file" in view.signer_trouble
    levels = {problem.text.partition(":")[0]: problem.level for problem in view.problems}
    assert levels["no server has the role compiler"] == "broken"
    assert levels["nodes whose last run failed"] == levels["the code of 1 node gives an error"] == "warning"


def finish_run(
    database: Database, node: str, report: str, *, failed: int = 0, state: str = "ended"
) -> Transaction[None]:
    counted = ResourceCounts(failed=failed)
    outcome = RunOutcome(state, database.clock.now(), 1.0, counted, 1, True, 0, "", b"{}")
    began = RunBegan(report, "enforce", "hand", database.clock.now())
    yield from Reports(database).store([ReportUpdate(node, report, began, finished=outcome)])
