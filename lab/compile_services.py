"""All services from facts to released catalogs over one database in one process, for tests and benchmarks that count compiles."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from lab.document_signer import DocumentSigner
from precast.app.exports import build_fleet_answers, build_fleet_watch
from precast.base import digests
from precast.base.ids import CountedIds, Ids, TimeOrderedIds
from precast.services.approvals.approvals import RequestBook
from precast.services.catalogs.approved_releases import ApprovedReleases
from precast.services.catalogs.downloads import CatalogDownloads
from precast.services.catalogs.previews import ReleasePreviews
from precast.services.catalogs.release_pointer import ReleasePointers
from precast.services.catalogs.release_policy import ReleasePolicy
from precast.services.catalogs.release_service import ReleaseService
from precast.services.catalogs.releases import Releases
from precast.services.catalogs.skeletons import Skeletons
from precast.services.code.decryption import KeyDirectory
from precast.services.code.file_trees import FileTree, TreeFile
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.compiler import CompilerService
from precast.services.compile.decider import DecisionService
from precast.services.compile.entry_points import EntryPoints
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.walks import OtherAnswers
from precast.services.compile.worker_requests import ServerRequests
from precast.services.compile.workers import Sources, Workers
from precast.services.exports.answers import ExportAnswers
from precast.services.exports.collecting import ExportRounds
from precast.services.exports.decisions import DecisionExports
from precast.services.exports.loops import ExportLoops
from precast.services.exports.publishing import ExportPauses, ExportPublisher
from precast.services.facts.intake import FACTS
from precast.services.facts.reads import TracedReads
from precast.services.facts.service import FactService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.secrets.key_source import KeySource
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.keys import MasterKey
from precast.services.secrets.sources.asking import SecretAsker
from precast.services.secrets.sources.configuration import SourceSettings
from precast.services.secrets.sources.documents import SecretDocuments
from precast.services.secrets.sources.source import SecretSource
from precast.services.secrets.values import SecretValues
from precast.services.traces.cache import TraceCache
from precast.services.traces.constants import VersionConstants
from precast.services.traces.costly_processes import CostlyLimits, CostlyProcesses
from precast.services.traces.versions import Versions
from precast.services.work_kinds import ASK_SECRET, COLLECT, COMPILE, DECIDE, REDECIDE, REEVALUATE, SPREAD_SECRET
from precast.store.approvals.approvals import Approvals
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments, NewVersion
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.facts.facts import Facts
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.keys import SecretKeys
from precast.store.secrets.secrets import Secrets
from precast.store.secrets.source_documents import SourceDocuments
from precast.store.sessions.sessions import Sessions
from precast.store.traces import Traces
from precast.wire.facts import make_upload

# Changed exports are announced in the next step.
AT_ONCE = ExportPauses(timedelta(), timedelta())


class KeyInMemory:
    """A master key of secrets that a test sets."""

    read_every_s = 0.0

    def __init__(self, key: bytes = bytes(32)) -> None:
        self.keys: tuple[MasterKey, ...] = (MasterKey(key),)

    def stamp(self) -> tuple[int, ...]:
        return ()

    def read(self) -> tuple[MasterKey, ...]:
        return self.keys

    def create(self) -> None:
        """It exists."""


class CompileServices:
    """The services that decide, compile and release, wired as in a server."""

    def __init__(
        self,
        database: Database,
        costly_limits: CostlyLimits | None = None,
        pauses: ExportPauses = AT_ONCE,
        sources: Mapping[str, tuple[SourceSettings, SecretSource]] | None = None,
        keys: KeyDirectory | None = None,
        audit_ids: Ids | None = None,
        master: KeySource | None = None,
    ) -> None:
        """Two servers of one database need common `audit_ids`."""
        self.database = database
        configured = {name: settings for name, (settings, _) in (sources or {}).items()}
        asked = {name: source for name, (_, source) in (sources or {}).items()}
        self.keyring = Keyring(database, SecretKeys(database), master or KeyInMemory())
        self.secrets = Secrets(database)
        self.secret_values = SecretValues(database, self.secrets, self.keyring)
        self.work = WorkQueue(
            database, [FACTS, DECIDE, REDECIDE, COMPILE, COLLECT, REEVALUATE, ASK_SECRET, SPREAD_SECRET]
        )
        self.facts = FactService(database, Facts(database), self.work, TracedReads(database))
        self.blobs, self.environments = Blobs(database), Environments(database)
        self.traces, self.catalogs, self.fleet = Traces(database), Catalogs(database), Fleet(database)
        versions = Versions(self.blobs)
        answers = ExportAnswers(database, self.environments, self.secret_values)
        self.others = OtherAnswers(answers, build_fleet_answers(database))
        self.watch = build_fleet_watch(database)
        find_pairs = keys.find if keys is not None else lambda environment: None
        self.documents = SourceDocuments(database)
        secrets = SecretDocuments(database, self.documents, configured, self.keyring.keys, self.work)
        self.asker = SecretAsker(database, self.documents, configured, asked, self.keyring.keys, self.work)
        others = answers.answer, self.others.fleet.answer
        self.workers = Workers(Sources(versions.content, *others, ServerRequests(find_pairs, secrets)), database.clock)
        self.inputs = NodeInputs(self.fleet, self.environments)
        constants = VersionConstants(database, self.environments, {"servername": "lab"})
        self.costly = CostlyProcesses(database.clock, costly_limits)
        cached = database, self.traces, versions, constants, self.costly
        self.trace_cache = TraceCache(*cached, self.keyring.answer_key, find_pairs, secrets)
        reasons = ChangeReasons(database, self.traces, self.environments, self.trace_cache)
        audit = AuditLog(database, audit_ids or CountedIds())
        self.publisher = ExportPublisher(database, self.fleet, self.work, pauses)
        self.rounds = ExportRounds(database, self.work)
        loops = ExportLoops(database, self.environments)
        exports = DecisionExports(self.environments, answers, self.rounds, loops, self.publisher)
        releases = Releases(database, self.catalogs, self.environments, audit, self.publisher)
        policy = ReleasePolicy(self.environments, self.catalogs, releases, exports)
        self.decisions = DecisionService(
            *(database, self.inputs, self.trace_cache, self.traces, self.catalogs, self.work, reasons, policy),
            *(exports, self.others, self.watch, self.documents),
        )
        self.compiler = CompilerService(
            database,
            self.inputs,
            self.trace_cache,
            self.workers,
            self.traces,
            self.catalogs,
            self.work,
            self.blobs,
            self.secrets,
            self.secret_values,
            TimeOrderedIds(database.clock),
            self.others,
        )
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        requests = RequestBook(database, Approvals(), audit, TimeOrderedIds(database.clock))
        self.approved_releases = ApprovedReleases(self.catalogs, self.environments, releases, requests)
        self.releases = ReleaseService(
            database, self.catalogs, self.environments, targets, releases, self.approved_releases
        )
        skeletons = self.skeletons = Skeletons(self.catalogs.documents)
        self.previews = ReleasePreviews(database, self.catalogs, self.environments, self.traces, targets, skeletons)
        pointers = ReleasePointers(DocumentSigner(), database.clock)
        self.downloads = CatalogDownloads(database, self.catalogs, self.blobs, skeletons, pointers, self.secret_values)
        self.entries = EntryPoints(database, self.catalogs, self.traces, self.fleet, self.environments, self.work)
        self._number = 0

    async def close(self) -> None:
        """End all child processes."""
        await self.workers.close()
        await self.costly.close()

    async def deploy(self, files: Mapping[str, str], environment: str = "production") -> str:
        """Make these files the environment's current version, and return the version."""
        contents = {digests.of_bytes(text.encode()): text.encode() for text in files.values()}
        entries = {
            path: TreeFile(digests.of_bytes(text.encode()), len(text.encode()), False) for path, text in files.items()
        }
        tree = FileTree(entries)
        contents[tree.version] = tree.encode()
        self._number += 1

        def store_version() -> Transaction[None]:
            for digest, data in sorted(contents.items()):
                yield from self.blobs.put(digest, data)
            new_version = NewVersion(environment, tree.version, "a directory", None, "lab")
            yield from self.environments.make_current(new_version, self._number)
            yield from self.work.enqueue_item(REDECIDE.name, environment, b"")

        await self.database.write(store_version)
        return tree.version

    async def introduce(self, name: str, role: str | None = None) -> None:
        """Create a node, with its role."""

        def store_node() -> Transaction[None]:
            yield from NodeCertificates(self.database).lock_or_create(name)
            if role is not None:
                yield from self.fleet.set_classification(name, NodeClassification(None, role, True, {}, {}))

        await self.database.write(store_node)

    async def submit(self, name: str, stable: dict[str, Any], volatile: dict[str, Any]) -> None:
        """Submit a node's facts."""
        await self.facts.submit(name, make_upload(stable, volatile))

    async def settle(self) -> int:
        """Process all work until the queues are empty, and return the number of compiles."""
        before = self.compiler.compiles
        while True:
            done = await self.facts.work_off("f")
            done += await self.decisions.work_off("d") + await self.decisions.spread("d")
            done += await self.compiler.work_off("c") + await self.rounds.announce("r")
            done += await self.watch.work_off("w")
            if not done:
                return self.compiler.compiles - before

    async def staged(self, name: str) -> StagedCatalog:
        return (await self.database.read(self.catalogs.staged.find, [name]))[name]
