"""Everything from facts to released catalogs over one database, in this process: for tests and benches that count compiles."""

from collections.abc import Mapping
from typing import Any

from precast.base import digests
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.catalogs.automatic_releases import AutomaticReleases
from precast.services.catalogs.releases import ReleaseService
from precast.services.code.trees import File, Tree
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.compiler import CompilerService
from precast.services.compile.deciding import DecisionService
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.workers import Workers
from precast.services.facts.facts import FACTS, FactService
from precast.services.facts.reads import ReadFacts
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.traces.deployment import Deployment
from precast.services.traces.groves import Groves
from precast.services.traces.versions import Versions
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.store.catalogs import Catalogs, Staged
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Arrival, Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Nodes
from precast.store.nodes.nodes import Fleet, Said
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.store.traces import Traces
from precast.wire.facts import facts_body


class Compiling:
    """The services that decide, compile and release, joined as a server joins them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.work = WorkQueue(database, [FACTS, DECIDE, REDECIDE, COMPILE])
        self.facts = FactService(database, Facts(database), self.work, ReadFacts(database))
        self.blobs, self.environments = Blobs(database), Environments(database)
        self.traces, self.catalogs, self.fleet = Traces(database), Catalogs(database), Fleet(database)
        versions = Versions(self.blobs)
        self.workers = Workers(versions.content, database.clock)
        self.inputs = NodeInputs(self.fleet, self.environments)
        deployment = Deployment(database, self.environments, {"servername": "lab"})
        self.groves = Groves(database, self.traces, versions, deployment)
        reasons = ChangeReasons(database, self.traces, self.environments, self.groves)
        audit = AuditLog(database, CountedIds())
        automatic = AutomaticReleases(database, self.environments, self.catalogs, audit)
        self.decisions = DecisionService(
            database, self.inputs, self.groves, self.traces, self.catalogs, self.work, reasons, automatic
        )
        self.compiler = CompilerService(
            database,
            self.inputs,
            self.groves,
            self.workers,
            self.traces,
            self.catalogs,
            self.work,
            self.blobs,
            TimeOrderedIds(database.clock),
        )
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.releases = ReleaseService(database, self.catalogs, self.blobs, targets, audit)
        self._number = 0

    async def deploy(self, files: Mapping[str, str], environment: str = "production") -> str:
        """Make these files the environment's current version."""
        contents = {digests.of_bytes(text.encode()): text.encode() for text in files.values()}
        found = {path: File(digests.of_bytes(text.encode()), len(text.encode()), False) for path, text in files.items()}
        tree = Tree(found)
        contents[tree.version] = tree.encode()
        self._number += 1

        def unit() -> Transaction[None]:
            for digest, data in sorted(contents.items()):
                yield from self.blobs.putting(digest, data)
            arrival = Arrival(environment, tree.version, "a directory", None, "lab")
            yield from self.environments.arriving(arrival, self._number)
            yield from self.work.enqueuing(REDECIDE.name, environment, b"")

        await self.database.write(unit)
        return tree.version

    async def introduce(self, name: str, role: str | None = None) -> None:
        """A node that is known, with its role."""

        def unit() -> Transaction[None]:
            yield from Nodes(self.database).taking(name)
            if role is not None:
                yield from self.fleet.classifying(name, Said(None, role, True, {}, {}))

        await self.database.write(unit)

    async def submit(self, name: str, stable: dict[str, Any], volatile: dict[str, Any]) -> None:
        """A node's facts."""
        await self.facts.submit(name, facts_body(stable, volatile))

    async def settle(self) -> int:
        """Work until nothing waits; how many compiles it took."""
        before = self.compiler.compiles
        while True:
            done = await self.facts.work_off("f")
            done += await self.decisions.work_off("d") + await self.decisions.spread("d")
            done += await self.compiler.work_off("c")
            if not done:
                return self.compiler.compiles - before

    async def staged(self, name: str) -> Staged:
        return (await self.database.read(self.catalogs.staged, [name]))[name]
