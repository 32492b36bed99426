"""The composition root: the only place that joins services to adapters.

The server's parts are imported when a server is made: a node has none of them, and no other command should wait for them.
"""

import asyncio
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from precast.base.clock import SystemClock
from precast.base.ids import TimeOrderedIds
from precast.cli import issues
from precast.cli.server import Initialised
from precast.cli.settings import API, COMPILER, SCHEDULER, Address, ServerSettings
from precast.cli.workers import Worker

if TYPE_CHECKING:
    from precast.api.catalogs import CatalogsApi
    from precast.api.environments import EnvironmentsApi
    from precast.api.hooks import HooksApi
    from precast.api.hub import Hub
    from precast.api.metrics import Metrics
    from precast.api.nodes import NodesApi
    from precast.api.origins import OriginsApi
    from precast.api.policies import PoliciesApi
    from precast.api.queries import QueriesApi
    from precast.api.quotas import Limits
    from precast.api.reports import ReportsApi
    from precast.api.routes import Routes
    from precast.api.runs import RunsApi
    from precast.api.server import HttpServer
    from precast.api.sessions import SessionsApi
    from precast.api.status import StatusApi
    from precast.api.tending import Tending
    from precast.services.authority_files import HeldAuthority
    from precast.services.classification import Classifier
    from precast.services.content import Collection
    from precast.services.enc import EncService
    from precast.services.fact_retention import FactRetention
    from precast.services.facts import FactService
    from precast.services.hooks import HookService
    from precast.services.people import PeopleService
    from precast.services.pruning import Pruning
    from precast.services.puppet_ca import PuppetCa
    from precast.services.querying.indexing import Indexing
    from precast.services.report_retention import ReportRetention
    from precast.services.reports import ReportService
    from precast.services.returners import ReturnerService
    from precast.services.rules import RuleService
    from precast.services.runs.driving import Driver
    from precast.services.sessions import SessionService
    from precast.services.web_sessions import WebSessionService
    from precast.store.audit import AuditLog
    from precast.store.database import Database
    from precast.store.nodes import Certificate, Nodes
    from precast.store.query import Unit

# What a server does for as long as it runs.
Part = Callable[[], Coroutine[Any, Any, None]]


class App:
    """What the command line can ask of the rest."""

    async def initialise(self, settings: ServerSettings, admin: str, puppet_ca: Path | None = None) -> Initialised:
        """Make authority, database and one admin token; take a Puppet authority over.

        Raises ConflictError CA-002 if there is an authority already, InputError CA-016 if Puppet's cannot be used.
        """
        from precast.services.authority import Authority
        from precast.services.authority_files import AuthorityFiles
        from precast.services.puppet_ca import PuppetCa
        from precast.wire.identity import NewPersonToken

        files = AuthorityFiles(settings.data / "authority")
        files.refuse_existing()
        now = SystemClock().now()
        puppet = None if puppet_ca is None else PuppetCa(puppet_ca)
        authority = Authority.new(now) if puppet is None else puppet.successor(now)
        found, left = ([], []) if puppet is None else puppet.read_nodes(now)
        _make_directory(settings.data)
        # The authority appears last, and whole: until then `init` can be run again.
        async with _opened(settings) as database:
            with files.creating(authority):
                if puppet is not None:
                    await _importing(database, puppet, found)
                token = await _people(database).create(NewPersonToken(admin, "admin"), "system")
        lines = [f"{one.name}: {one.reason}" for one in left]
        return Initialised(authority.fingerprint, files.certificate, token.token, len(found), lines)

    async def create_admin(self, settings: ServerSettings, admin: str) -> str:
        """Make another admin token. Raises NotFoundError STORE-002 if there is no database."""
        from precast.wire.identity import NewPersonToken

        async with _opened(settings, may_create=False) as database:
            return (await _people(database).create(NewPersonToken(admin, "admin"), "system")).token

    async def serve(
        self, settings: ServerSettings, worker: Worker | None, started: Callable[[Address | None], None]
    ) -> None:
        """Do what the roles say until SIGTERM or SIGINT, alone or as one of several processes; `started` is told where it serves."""
        async with _opened(settings, room=worker.room if worker is not None else None) as database:
            server_id = TimeOrderedIds(database.clock).new()
            front = _Front(database, settings, worker, server_id) if API in settings.roles else None
            place = worker.address if worker is not None and worker.address is not None else settings.listen
            address = None if front is None else await front.listen(place)
            async with AsyncExitStack() as held, asyncio.TaskGroup() as tasks:
                parts = [] if front is None else front.parts
                if COMPILER in settings.roles:
                    parts = [*parts, *await _compiling(database, settings, server_id, held)]
                if SCHEDULER in settings.roles:
                    parts = [*parts, *_scheduled(database, settings, server_id)]
                running = [tasks.create_task(part()) for part in parts]
                if worker is None:
                    started(address)
                else:
                    worker.started()
                await _until_told_to_stop()
                if front is not None:
                    await front.close()
                for task in running:
                    task.cancel()


class _Front:
    """The role api: routes, sessions, facts taken in, and the certificate all of it is served under."""

    def __init__(self, database: "Database", settings: ServerSettings, worker: Worker | None, server_id: str) -> None:
        from precast.api.board import Board
        from precast.api.metrics import Metrics
        from precast.api.quotas import Limits
        from precast.api.tls import ServerTls
        from precast.services.authority_files import AuthorityFiles, HeldAuthority

        authority = HeldAuthority(AuthorityFiles(settings.data / "authority"))
        facts, self._worker = _facts(database), worker
        self._tls = ServerTls(authority, _hosts(settings), database.clock)
        reports = _reports(database, settings)
        self._sessions = _sessions(database, facts, reports.service, server_id)
        metrics = Metrics(database, Board(worker.room, worker.number) if worker is not None else None)
        self._server = _http_server(
            database,
            authority,
            facts,
            self._sessions,
            _status_api(database, settings, authority),
            _catalogs_api(database),
            reports.api,
            metrics,
            Limits(rate=settings.requests_per_second),
            _environments(database, settings),
            _classification(database, settings),
        )
        self.parts: list[Part] = [
            self._tls.run,
            metrics.run,
            lambda: facts.run(server_id),
            self._sessions.tending.run,
            _indexing(database).run,
        ]

    async def listen(self, address: Address) -> Address:
        """Serve; where. Raises UnavailableError CLI-026."""
        worker = self._worker
        try:
            port = await self._server.start(*address, self._tls.context, is_shared=worker is not None)
        except OSError as error:
            raise issues.CANNOT_LISTEN.error(address=address, reason=error.strerror) from error
        number = f"/{worker.number}" if worker is not None else ""
        self._sessions.hub.name = f"{socket.gethostname()}:{port}{number}"
        return address._replace(port=port)

    async def close(self) -> None:
        """Send the nodes elsewhere and finish what is under way."""
        await self._sessions.tending.drain("this server is stopping")
        await self._server.stop()


def _scheduled(database: "Database", settings: ServerSettings, server_id: str) -> "list[Part]":
    """The role scheduler: what is done by the clock, or because somebody outside has called."""
    said, environments = _classification(database, settings), _environments(database, settings)
    parts = [
        _retention(database).run,
        _report_retention(database, settings).run,
        _collection(database).run,
        _pruning(database, settings).run,
        lambda: said.rules.run(server_id),
    ]
    returners, names = _returners(database, settings)
    parts += [partial(returners.run, name, server_id) for name in names]
    parts.append(lambda: _driver(database).run(server_id))
    if settings.hooks is not None:
        parts.append(lambda: environments.hooks.run(server_id))
    if (enc := said.enc) is not None:
        parts.append(lambda: enc.run(server_id))
    return parts


async def _importing(database: "Database", puppet: "PuppetCa", found: "list[Certificate]") -> None:
    from precast.services.certificates import fingerprint
    from precast.store.audit import AuditLog
    from precast.store.nodes import Nodes

    audit = AuditLog(database, TimeOrderedIds(database.clock))

    def unit() -> "Unit[None]":
        yield from Nodes(database).importing(found)
        yield from audit.adding("system", "authority.import", fingerprint(puppet.certificate), certificates=len(found))

    await database.write(unit)


def _make_directory(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise issues.NO_DIRECTORY.error(path=place, reason=error.strerror) from error


@asynccontextmanager
async def _opened(
    settings: ServerSettings, *, may_create: bool = True, room: Path | None = None
) -> "AsyncIterator[Database]":
    from precast.store import location
    from precast.store.connect import connect
    from precast.store.schema import Schema

    database = await connect(location.parse(settings.location), may_create=may_create, room=room)
    try:
        await Schema(database).expand()
        yield database
    finally:
        await database.close()


def _people(database: "Database") -> "PeopleService":
    from precast.services.people import PeopleService
    from precast.store.audit import AuditLog
    from precast.store.tokens import Tokens

    ids = TimeOrderedIds(database.clock)
    return PeopleService(database, Tokens(database), AuditLog(database, ids), ids, secrets)


def _retention(database: "Database") -> "FactRetention":
    from precast.services.fact_retention import FactRetention
    from precast.store.facts import Facts

    return FactRetention(database, Facts(database))


def _facts(database: "Database") -> "FactService":
    from precast.services.fact_reads import ReadFacts
    from precast.services.facts import FACTS, FactService
    from precast.services.work_kinds import DECIDE
    from precast.store.facts import Facts
    from precast.store.work import WorkQueue

    return FactService(database, Facts(database), WorkQueue(database, [FACTS, DECIDE]), ReadFacts(database))


def _catalogs_api(database: "Database") -> "CatalogsApi":
    from precast.api.catalogs import CatalogsApi
    from precast.services.catalog_troubles import CatalogTroubles
    from precast.services.catalog_views import CatalogViews
    from precast.services.compile_requests import CompileRequests
    from precast.services.compiling.inputs import NodeInputs
    from precast.services.known_nodes import KnownNodes
    from precast.services.releases import ReleaseService
    from precast.services.targets import TargetService
    from precast.services.work_kinds import DECIDE
    from precast.store.audit import AuditLog
    from precast.store.blobs import Blobs
    from precast.store.catalogs import Catalogs
    from precast.store.environments import Environments
    from precast.store.facts import Facts
    from precast.store.fleet import Fleet
    from precast.store.sessions import Sessions
    from precast.store.traces import Traces
    from precast.store.work import WorkQueue

    catalogs, blobs = Catalogs(database), Blobs(database)
    targets = TargetService(KnownNodes(database, Fleet(database), Sessions(database)), database.clock)
    audit = AuditLog(database, TimeOrderedIds(database.clock))
    releases = ReleaseService(database, catalogs, blobs, targets, audit)
    work, environments = WorkQueue(database, [DECIDE]), Environments(database)
    views = CatalogViews(database, catalogs, Traces(database), environments)
    troubles = CatalogTroubles(database, catalogs, Traces(database), Facts(database), work)
    inputs = NodeInputs(Fleet(database), environments)
    requests = CompileRequests(database, catalogs, Traces(database), inputs, work, audit)
    return CatalogsApi(views, troubles, requests, releases, blobs)


async def _compiling(
    database: "Database", settings: ServerSettings, server_id: str, held: AsyncExitStack
) -> "list[Part]":
    """The role compiler: what decides for nodes, and what compiles; its processes end with `held`."""
    from precast.services.automatic_releases import AutomaticReleases
    from precast.services.changes import ChangeReasons
    from precast.services.compiler import CompilerService
    from precast.services.compiling.deployment import Deployment
    from precast.services.compiling.groves import Groves
    from precast.services.compiling.inputs import NodeInputs
    from precast.services.compiling.trees import Versions
    from precast.services.compiling.workers import Limits, Workers
    from precast.services.deciding import DecisionService
    from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
    from precast.store.audit import AuditLog
    from precast.store.blobs import Blobs
    from precast.store.catalogs import Catalogs
    from precast.store.environments import Environments
    from precast.store.fleet import Fleet
    from precast.store.traces import Traces
    from precast.store.work import WorkQueue

    traces, catalogs, blobs = Traces(database), Catalogs(database), Blobs(database)
    work = WorkQueue(database, [DECIDE, REDECIDE, COMPILE])
    versions = Versions(blobs)
    environments = Environments(database)
    inputs = NodeInputs(Fleet(database), environments)
    deployment = Deployment(database, environments, await asyncio.to_thread(_server_facts, settings))
    limits = Limits(settings.compile_limit.total_seconds(), settings.compile_memory)
    groves, workers = Groves(database, traces, versions, deployment), Workers(versions.content, database.clock, limits)
    held.push_async_callback(workers.close)
    reasons = ChangeReasons(database, traces, environments, groves)
    ids = TimeOrderedIds(database.clock)
    automatic = AutomaticReleases(database, environments, catalogs, AuditLog(database, ids))
    decisions = DecisionService(database, inputs, groves, traces, catalogs, work, reasons, automatic)
    compiler = CompilerService(database, inputs, groves, workers, traces, catalogs, work, blobs, ids)
    return [lambda: decisions.run(server_id), lambda: compiler.run(server_id)]


class _Reports(NamedTuple):
    """What nodes tell of their runs: taken in, looked at, forgotten."""

    service: "ReportService"
    api: "ReportsApi"


def _reports(database: "Database", settings: ServerSettings) -> _Reports:
    from precast.api.reports import ReportsApi
    from precast.services.report_views import ReportViews
    from precast.services.reports import ReportService
    from precast.services.runs.results import StepResults
    from precast.store.report_views import ReportReader
    from precast.store.reports import Reports
    from precast.store.runs import Runs

    returners, _ = _returners(database, settings)
    following = [StepResults(Runs(database)).following]
    return _Reports(
        ReportService(database, Reports(database), [returners.hearing], following),
        ReportsApi(ReportViews(database, ReportReader(database))),
    )


def _returners(database: "Database", settings: ServerSettings) -> "tuple[ReturnerService, list[str]]":
    """Who tells others of reports, and to whom. Raises InputError REPORT-004: a server that would tell nobody does not start."""
    from precast.api.webhook import post
    from precast.services.report_views import ReportViews
    from precast.services.returners import ReturnerService, kind_of, load_returners
    from precast.store.report_views import ReportReader
    from precast.store.work import WorkQueue

    found = {} if settings.returners is None else load_returners(settings.returners)
    work = WorkQueue(database, [kind_of(name) for name in found])
    service = ReturnerService(database, ReportViews(database, ReportReader(database)), work, found, post)
    return service, list(found)


def _report_retention(database: "Database", settings: ServerSettings) -> "ReportRetention":
    from precast.services.report_retention import ReportRetention
    from precast.store.report_partitions import ReportPartitions
    from precast.store.reports import Reports

    return ReportRetention(database, Reports(database), ReportPartitions(database), settings.report_retention)


class _Sessions(NamedTuple):
    """The connections of nodes, what looks after them, what people may ask about them, and how orders get to nodes."""

    service: "SessionService"
    hub: "Hub"
    tending: "Tending"
    api: "SessionsApi"


def _sessions(database: "Database", facts: "FactService", reports: "ReportService", server_id: str) -> _Sessions:
    from precast.api.hub import Hub, HubSettings
    from precast.api.records import messages_of
    from precast.api.run_records import add_run_records
    from precast.api.sessions import SessionsApi
    from precast.api.tending import Tending
    from precast.services.runs.results import StepResults
    from precast.services.served import ServedThings
    from precast.services.sessions import MAX_ORDERS, SessionService
    from precast.store.audit import AuditLog
    from precast.store.catalogs import Catalogs
    from precast.store.facts import Facts
    from precast.store.nodes import Nodes
    from precast.store.policies import Policies
    from precast.store.runs import Runs
    from precast.store.sessions import Sessions
    from precast.store.streams import Streams

    sessions, settings = Sessions(database), HubSettings()
    audit = AuditLog(database, TimeOrderedIds(database.clock))
    nodes, streams = Nodes(database), Streams(database, MAX_ORDERS)
    served = ServedThings(database, Catalogs(database), Policies(database))
    service = SessionService(database, sessions, nodes, streams, audit, Facts(database).newest, served.serving)
    messages = messages_of(facts, service, reports)
    add_run_records(messages, StepResults(Runs(database)))
    hub = Hub(service, sessions, messages, server_id, settings)
    tending = Tending(hub, service, sessions, nodes, database, settings, served)
    return _Sessions(service, hub, tending, SessionsApi(sessions))


def _http_server(
    database: "Database",
    authority: "HeldAuthority",
    facts: "FactService",
    sessions: _Sessions,
    status_api: "StatusApi",
    catalogs_api: "CatalogsApi",
    reports_api: "ReportsApi",
    metrics: "Metrics",
    limits: "Limits",
    environments: "_Environments",
    said: "_Classification",
) -> "HttpServer":
    from precast.api.authority import AuthorityApi
    from precast.api.callers import Callers
    from precast.api.facts import FactsApi
    from precast.api.identity import IdentityApi
    from precast.api.quotas import Quotas
    from precast.api.requests import RequestsApi
    from precast.api.routes import Routes
    from precast.api.rules import RulesApi
    from precast.api.server import HttpServer
    from precast.services.enrolment import EnrolmentService
    from precast.services.fact_differences import FactDifferences
    from precast.services.recognition import RecognitionService
    from precast.services.requests import RequestService
    from precast.services.rotation import RotationService
    from precast.store.audit import AuditLog
    from precast.store.facts import Facts
    from precast.store.nodes import Nodes
    from precast.store.requests import Requests
    from precast.store.tokens import Tokens

    ids = TimeOrderedIds(database.clock)
    nodes, tokens, audit = Nodes(database), Tokens(database), AuditLog(database, ids)
    people = _people(database)
    recognition = RecognitionService(database, nodes, audit)
    enrolment = EnrolmentService(database, nodes, tokens, audit, authority, recognition, ids, secrets, said.classifier)
    routes = Routes()
    AuthorityApi(authority, RotationService(database, nodes, audit, authority)).declare(routes)
    IdentityApi(enrolment, people, nodes, audit).declare(routes)
    RequestsApi(RequestService(database, nodes, Requests(database), audit, authority, said.classifier)).declare(routes)
    FactsApi(facts, FactDifferences(Facts(database)), database.clock).declare(routes)
    _policies_api(database, nodes, audit, authority).declare(routes)
    sessions.hub.declare(routes)
    sessions.api.declare(routes)
    status_api.declare(routes)
    catalogs_api.declare(routes)
    _nodes_api(database, nodes, audit, sessions.service, said.classifier).declare(routes)
    _runs_api(database).declare(routes)
    _origins_api(database).declare(routes)
    RulesApi(said.rules).declare(routes)
    reports_api.declare(routes)
    environments.api.declare(routes)
    environments.hooks_api.declare(routes)
    _queries_api(database).declare(routes)
    browsers = _browsers(database, people, routes)
    metrics.gauge("precast_sessions", "Nodes connected to this process.", lambda: len(sessions.hub.connections))
    return HttpServer(routes, Callers(people, recognition, browsers), metrics, Quotas(database.clock, limits))


def _policies_api(database: "Database", nodes: "Nodes", audit: "AuditLog", authority: "HeldAuthority") -> "PoliciesApi":
    from precast.api.policies import PoliciesApi
    from precast.services.known_nodes import KnownNodes
    from precast.services.policies import PolicyService
    from precast.services.targets import TargetService
    from precast.store.fleet import Fleet
    from precast.store.policies import Policies
    from precast.store.sessions import Sessions

    known = KnownNodes(database, Fleet(database), Sessions(database))
    targets = TargetService(known, database.clock)
    return PoliciesApi(PolicyService(database, Policies(database), nodes, known, targets, audit, authority))


def _runs_api(database: "Database") -> "RunsApi":
    from precast.api.runs import RunsApi
    from precast.services.known_nodes import KnownNodes
    from precast.services.runs.service import RunService
    from precast.services.targets import TargetService
    from precast.store.audit import AuditLog
    from precast.store.fleet import Fleet
    from precast.store.runs import Runs
    from precast.store.sessions import Sessions

    ids, sessions = TimeOrderedIds(database.clock), Sessions(database)
    targets = TargetService(KnownNodes(database, Fleet(database), sessions), database.clock)
    return RunsApi(RunService(database, Runs(database), sessions, targets, AuditLog(database, ids), ids))


def _origins_api(database: "Database") -> "OriginsApi":
    from precast.api.origins import OriginsApi
    from precast.services.compiling.trees import Versions
    from precast.services.origins import OriginService
    from precast.store.blobs import Blobs
    from precast.store.catalogs import Catalogs
    from precast.store.environments import Environments
    from precast.store.traces import Traces

    versions = Versions(Blobs(database))
    stores = Catalogs(database), Traces(database), Environments(database)
    return OriginsApi(OriginService(database, *stores, versions))


def _driver(database: "Database") -> "Driver":
    from precast.services.runs.driving import Driver
    from precast.services.sessions import MAX_ORDERS, SessionService
    from precast.store.audit import AuditLog
    from precast.store.facts import Facts
    from precast.store.nodes import Nodes
    from precast.store.runs import Runs
    from precast.store.sessions import Sessions
    from precast.store.streams import Streams

    sessions, audit = Sessions(database), AuditLog(database, TimeOrderedIds(database.clock))
    streams = Streams(database, MAX_ORDERS)
    orders = SessionService(database, sessions, Nodes(database), streams, audit, Facts(database).newest)
    return Driver(database, Runs(database), sessions, orders)


def _status_api(database: "Database", settings: ServerSettings, authority: "HeldAuthority") -> "StatusApi":
    from precast.api.status import StatusApi
    from precast.services.status import Place, StatusService
    from precast.store.classification import Classifications
    from precast.store.fleet import Fleet
    from precast.store.sessions import Sessions
    from precast.store.work import WorkQueue

    place = Place(settings.data, database.clock.now(), lambda: authority.current.certificate.not_valid_after_utc)
    said, work = Classifications(database), WorkQueue(database, [])
    return StatusApi(StatusService(database, Fleet(database), Sessions(database), work, said, place))


class _Classification(NamedTuple):
    """Who says what nodes are: everybody's word, the rules, and the external classifier if there is one."""

    classifier: "Classifier"
    rules: "RuleService"
    enc: "EncService | None"


def _classification(database: "Database", settings: ServerSettings) -> _Classification:
    from precast.services.classification import Classifier
    from precast.services.enc import EncService
    from precast.services.known_nodes import KnownNodes
    from precast.services.rules import RuleService
    from precast.services.targets import TargetService
    from precast.services.work_kinds import ASK_ENC, DECIDE, RECLASSIFY
    from precast.store.audit import AuditLog
    from precast.store.classification import Classifications
    from precast.store.fleet import Fleet
    from precast.store.sessions import Sessions
    from precast.store.work import WorkQueue

    fleet, said = Fleet(database), Classifications(database)
    work = WorkQueue(database, [DECIDE, RECLASSIFY, ASK_ENC])
    audit = AuditLog(database, TimeOrderedIds(database.clock))
    targets = TargetService(KnownNodes(database, fleet, Sessions(database)), database.clock)
    classifier = Classifier(fleet, said, work, has_enc=settings.enc is not None)
    rules = RuleService(database, fleet, said, classifier, targets, work, audit)
    if settings.enc is None:
        return _Classification(classifier, rules, None)
    enc = EncService(database, fleet, said, classifier, work, settings.enc, settings.enc_every)
    return _Classification(classifier, rules, enc)


def _nodes_api(
    database: "Database", nodes: "Nodes", audit: "AuditLog", orders: "SessionService", classifier: "Classifier"
) -> "NodesApi":
    from precast.api.nodes import NodesApi
    from precast.services.facts import FACTS
    from precast.services.known_nodes import KnownNodes
    from precast.services.nodes import NodeService
    from precast.services.targets import TargetService
    from precast.services.work_kinds import ASK_ENC, DECIDE
    from precast.store.facts import Facts
    from precast.store.fleet import Fleet
    from precast.store.sessions import Sessions
    from precast.store.streams import Streams
    from precast.store.work import WorkQueue

    fleet, sessions = Fleet(database), Sessions(database)
    known = KnownNodes(database, fleet, sessions)
    targets = TargetService(known, database.clock)
    work = WorkQueue(database, [FACTS, DECIDE, ASK_ENC])
    service = NodeService(
        database,
        fleet,
        nodes,
        known,
        targets,
        Facts(database),
        sessions,
        Streams(database),
        orders,
        work,
        audit,
        classifier,
    )
    return NodesApi(service, targets)


class _Environments(NamedTuple):
    """Environments and their content, and the hooks that deploy them."""

    api: "EnvironmentsApi"
    hooks_api: "HooksApi"
    hooks: "HookService"


def _environments(database: "Database", settings: ServerSettings) -> _Environments:
    """Raises InputError ENV-024 for hooks that cannot be used: a server that would ignore them does not start."""
    from precast.api.environments import EnvironmentsApi
    from precast.api.hooks import HooksApi
    from precast.services.content import ContentService
    from precast.services.environments import EnvironmentService
    from precast.services.hooks import HookService, load_hooks
    from precast.services.work_kinds import DEPLOY, REDECIDE
    from precast.store.audit import AuditLog
    from precast.store.blobs import Blobs
    from precast.store.environments import Environments
    from precast.store.work import WorkQueue

    blobs, work = Blobs(database), WorkQueue(database, [REDECIDE, DEPLOY])
    audit = AuditLog(database, TimeOrderedIds(database.clock))
    content = ContentService(database, blobs, settings.data)
    service = EnvironmentService(database, Environments(database), blobs, content, work, audit)
    configured = load_hooks(settings.hooks) if settings.hooks is not None else {}
    hooks = HookService(database, configured, service, content, work, audit, settings.data)
    return _Environments(EnvironmentsApi(database, service, content), HooksApi(hooks), hooks)


def _browsers(database: "Database", people: "PeopleService", routes: "Routes") -> "WebSessionService":
    """The dashboard and the sessions it is looked at with."""
    from precast.services.web_sessions import WebSessionService
    from precast.store.audit import AuditLog
    from precast.store.tokens import Tokens
    from precast.store.web_sessions import WebSessions
    from precast.web.pages import WebPages
    from precast.web.sessions import WebSessionsApi

    ids = TimeOrderedIds(database.clock)
    service = WebSessionService(
        database, WebSessions(database), Tokens(database), people, AuditLog(database, ids), ids, secrets
    )
    WebPages().declare(routes)
    WebSessionsApi(service).declare(routes)
    return service


def _indexing(database: "Database") -> "Indexing":
    from precast.services.querying.indexing import Indexing
    from precast.store.catalog_index import CatalogIndex
    from precast.store.catalogs import Catalogs

    return Indexing(database, Catalogs(database), CatalogIndex(database))


def _queries_api(database: "Database") -> "QueriesApi":
    from precast.api.queries import QueriesApi
    from precast.services.known_nodes import KnownNodes
    from precast.services.querying.reports import ReportSearch
    from precast.services.querying.resources import ResourceSearch
    from precast.services.querying.service import QueryService
    from precast.services.targets import TargetService
    from precast.store.catalog_index import CatalogIndex
    from precast.store.catalogs import Catalogs
    from precast.store.fleet import Fleet
    from precast.store.report_views import ReportReader
    from precast.store.sessions import Sessions

    targets = TargetService(KnownNodes(database, Fleet(database), Sessions(database)), database.clock)
    search = ResourceSearch(database, CatalogIndex(database))
    reports = ReportSearch(database, ReportReader(database))
    return QueriesApi(QueryService(database, targets, search, Catalogs(database), reports))


def _collection(database: "Database") -> "Collection":
    from precast.services.content import Collection
    from precast.store.blobs import Blobs
    from precast.store.environments import Environments

    return Collection(database, Blobs(database), Environments(database))


def _pruning(database: "Database", settings: ServerSettings) -> "Pruning":
    from precast.services.pruning import Pruning, Retention
    from precast.store.blobs import Blobs
    from precast.store.catalogs import Catalogs
    from precast.store.traces import Traces

    retention = Retention(settings.keep_traces, settings.keep_releases)
    return Pruning(database, Traces(database), Catalogs(database), Blobs(database), retention)


def _server_facts(settings: ServerSettings) -> dict[str, str]:
    """What Puppet's server adds to a node's facts, as `$server_facts`. No address where the name has none."""
    from precast.lang.settings import PUPPET_VERSION

    name = settings.server_name or next(iter(settings.names), "") or socket.gethostname()
    found = {"serverversion": PUPPET_VERSION, "servername": name}
    with suppress(OSError):
        found["serverip"] = socket.gethostbyname(name)
    return found


def _hosts(settings: ServerSettings) -> list[str]:
    """The names and addresses this server is reached by."""
    return list(dict.fromkeys([*settings.names, socket.gethostname(), "localhost", "127.0.0.1", "::1"]))


async def _until_told_to_stop() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
