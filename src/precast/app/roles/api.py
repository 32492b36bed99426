"""The role api: the HTTP server with its routes, the sessions of nodes, and the TLS certificate of both."""

import socket

from precast.api.http.authorisation import Authoriser
from precast.api.http.metrics import Metrics
from precast.api.http.metrics_exchange import MetricsExchange
from precast.api.http.quotas import Quotas, RequestLimits
from precast.api.http.routes import Routes
from precast.api.http.server import HttpServer
from precast.api.http.tls import ServerTls
from precast.api.identity.audit import AuditApi
from precast.api.identity.authority import AuthorityApi
from precast.api.nodes.rules import RulesApi
from precast.api.nodes.status import StatusApi
from precast.api.plans.plans import PlansApi
from precast.app import issues
from precast.app.catalogs import (
    build_approvals_api,
    build_catalog_indexing,
    build_catalogs_api,
    build_origins_api,
    build_queries_api,
    build_releases_api,
)
from precast.app.classification import build_classification
from precast.app.environments import build_environment_components, build_task_content_api
from precast.app.exports import build_exports_api
from precast.app.futures import build_futures_api
from precast.app.jobs import build_action_meters, build_actions_api, build_job_meters, build_runs_api
from precast.app.nodes import (
    build_fact_service,
    build_facts_api,
    build_identity_api,
    build_nodes_api,
    build_policies_api,
    build_requests_api,
    build_windows_api,
)
from precast.app.people import build_browser_sessions, build_people_service
from precast.app.plans import build_plan_actions, build_plan_services
from precast.app.reports import build_report_components
from precast.app.secrets.sources import build_secret_sources_api
from precast.app.secrets.views import build_secret_references_api
from precast.app.sessions import build_session_components
from precast.app.settings import ROLES, Address, ServerSettings
from precast.app.shared_services import BackgroundTask, build_audit_log
from precast.app.supervision import Worker
from precast.base.ids import TimeOrderedIds
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.crl import CrlService
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.rotation import RotationService
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.nodes.status import ServerInfo, StatusService
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.sources.meters import SecretMeters
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.revocations import Revocations
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.web.pages import WebPages
from precast.web.sessions import WebSessionsApi


class ApiRole:
    """Answers nodes and people. `background` lists the tasks that run while it does."""

    def __init__(
        self,
        database: Database,
        settings: ServerSettings,
        worker: Worker | None,
        server_id: str,
        signer: SignerClient,
        tls: ServerTls,
        guard: ClockGuard,
        keyring: Keyring,
    ) -> None:
        self._database, self._settings, self._worker, self._guard = database, settings, worker, guard
        self._signer, self._tls, self._keyring = signer, tls, keyring
        self._facts, self._reports = build_fact_service(database), build_report_components(database, settings)
        self._sessions = build_session_components(
            database, self._facts, self._reports.service, server_id, signer, keyring
        )
        self._metrics = Metrics(
            database, MetricsExchange(worker.shared_directory, worker.number) if worker is not None else None
        )
        self._action_meters, self._job_meters = build_action_meters(database), build_job_meters(database)
        self._secret_meters = SecretMeters(database)
        self._server = self._http_server()
        self.background: list[BackgroundTask] = [
            self._tls.run,
            self._metrics.run,
            lambda: self._facts.run(server_id),
            self._sessions.maintenance.run,
            self._sessions.futures.run,
            build_catalog_indexing(database).run,
            self._action_meters.run,
            self._job_meters.run,
            self._secret_meters.run,
        ]

    @property
    def intake_lag(self) -> IntakeLag:
        """How long records of nodes wait until they are stored."""
        return self._sessions.endpoint.lag

    async def listen(self, address: Address) -> Address:
        """Start to listen and return the address with its real port. Raises UnavailableError CLI-026."""
        worker = self._worker
        try:
            port = await self._server.start(*address, self._tls.context, is_shared=worker is not None)
        except OSError as error:
            raise issues.CANNOT_LISTEN.error(address=address, reason=error.strerror) from error
        number = f"/{worker.number}" if worker is not None else ""
        roles = "" if set(self._settings.roles) == set(ROLES) else f" [{', '.join(self._settings.roles)}]"
        self._sessions.endpoint.server_name = f"{socket.gethostname()}:{port}{number}{roles}"
        await self._sessions.maintenance.register()
        return address._replace(port=port)

    async def close(self) -> None:
        """Ask the nodes to reconnect to other servers, and finish the requests in progress."""
        await self._sessions.maintenance.drain("this server is stopping")
        await self._server.stop()

    def _http_server(self) -> HttpServer:
        database, endpoint = self._database, self._sessions.endpoint
        people = build_people_service(database, self._signer)
        recognition = RecognitionService(database, NodeCertificates(database), build_audit_log(database))
        browsers = build_browser_sessions(database, people)
        routes = Routes()
        self._collect_node_routes(routes, people, recognition)
        self._collect_other_routes(routes)
        routes.collect(WebPages())
        routes.collect(WebSessionsApi(browsers))
        self._metrics.gauge("precast_sessions", "Nodes connected to this process.", lambda: len(endpoint.connections))
        hub = self._sessions.futures
        self._metrics.gauge(
            "precast_future_subscriptions", "Subscriptions of connected nodes to values of others.", lambda: hub.count
        )
        self._metrics.gauge(
            "precast_clock_held",
            "1 while this process does not trust the clock, and deletes nothing by age.",
            lambda: self._guard.is_held,
        )
        meters = self._action_meters
        self._metrics.gauge(
            "precast_schedule_missed", "Due times of actions that were missed in the last day.", lambda: meters.missed
        )
        self._metrics.gauge(
            "precast_schedule_lag_seconds",
            "How long the earliest due time of an action has been waiting for a scheduler.",
            lambda: meters.lag_s,
        )
        jobs = self._job_meters
        self._metrics.gauge("precast_attempts_picked_up", "Attempts that nodes carry out now.", lambda: jobs.picked_up)
        self._metrics.gauge(
            "precast_attempts_refused", "Attempts that nodes have refused in the last day.", lambda: jobs.refused
        )
        secrets = self._secret_meters
        self._metrics.gauge(
            "precast_secrets_unread",
            "Documents of secret sources that could not be read when they were last asked for.",
            lambda: secrets.failed,
        )
        self._metrics.gauge(
            "precast_intake_lag_seconds",
            "The longest time that a record of a node waits to be stored in this process now.",
            lambda: endpoint.lag.oldest_s,
        )
        quotas = Quotas(database.clock, RequestLimits(rate=self._settings.requests_per_second))
        return HttpServer(routes, Authoriser(people, recognition, browsers), self._metrics, quotas)

    def _collect_node_routes(self, routes: Routes, people: PeopleService, recognition: RecognitionService) -> None:
        """Collect the routes about the identity, the facts, the policies and the classification of nodes."""
        database, signer = self._database, self._signer
        classification = build_classification(database, self._settings)
        ids = TimeOrderedIds(database.clock)
        rotation = RotationService(database, NodeCertificates(database), build_audit_log(database), signer, ids)
        routes.collect(AuthorityApi(signer, rotation, CrlService(Revocations(database), signer, database.clock)))
        classifier = classification.classifier
        routes.collect(build_identity_api(database, signer, people, recognition, classifier, self._guard))
        routes.collect(build_requests_api(database, signer, classifier, self._guard))
        routes.collect(build_facts_api(database, self._facts))
        routes.collect(build_policies_api(database, signer))
        routes.collect(build_nodes_api(database, self._sessions.orders, classifier))
        routes.collect(RulesApi(classification.rules))
        routes.collect(build_windows_api(database))
        routes.collect(self._sessions.endpoint)
        routes.collect(self._sessions.api)

    def _collect_other_routes(self, routes: Routes) -> None:
        """Collect the routes about environments, catalogs, jobs, actions, reports and the status of the site."""
        database, environments = self._database, build_environment_components(self._database, self._settings)
        routes.collect(environments.api)
        routes.collect(environments.hooks_api)
        routes.collect(build_task_content_api(database, self._settings))
        routes.collect(build_catalogs_api(database, self._settings, self._signer, self._keyring))
        routes.collect(build_releases_api(database))
        routes.collect(build_approvals_api(database))
        routes.collect(build_origins_api(database))
        routes.collect(build_queries_api(database))
        routes.collect(build_exports_api(database))
        routes.collect(build_futures_api(database, self._keyring))
        routes.collect(AuditApi(build_audit_log(database)))
        routes.collect(build_secret_sources_api(database, self._settings))
        routes.collect(build_secret_references_api(database))
        routes.collect(build_runs_api(database, self._settings, self._signer))
        plans = build_plan_services(database, self._settings, self._signer)
        routes.collect(PlansApi(plans, database.clock, self._settings.runs_per_minute))
        plan_actions = build_plan_actions(database, self._settings)
        routes.collect(
            build_actions_api(database, self._settings, self._signer, self._guard, plan_actions, plans.changes)
        )
        routes.collect(self._reports.api)
        routes.collect(self._status_api())

    def _status_api(self) -> StatusApi:
        database, signer = self._database, self._signer
        place = ServerInfo(
            self._settings.data,
            database.clock.now(),
            lambda: signer.current.certificate.not_valid_after_utc,
            signer.refresh,
            lambda: self._guard.judgement,
        )
        classifications, work = Classifications(database), WorkQueue(database, [])
        return StatusApi(StatusService(database, Fleet(database), Sessions(database), work, classifications, place))
