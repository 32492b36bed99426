"""The role api: routes, sessions, facts taken in, and the certificate all of it is served under."""

import socket

from precast.api.http.board import Board
from precast.api.http.callers import Callers
from precast.api.http.metrics import Metrics
from precast.api.http.quotas import Limits, Quotas
from precast.api.http.routes import Routes
from precast.api.http.server import HttpServer
from precast.api.http.tls import ServerTls
from precast.api.identity.authority import AuthorityApi
from precast.api.nodes.rules import RulesApi
from precast.api.nodes.status import StatusApi
from precast.app.catalogs import catalog_indexing, catalogs_api, origins_api, queries_api
from precast.app.classification import classification
from precast.app.environments import environment_room
from precast.app.nodes import fact_service, facts_api, identity_api, nodes_api, policies_api, requests_api
from precast.app.parts import Part, audit_log
from precast.app.people import browser_sessions, people_service
from precast.app.reports import report_room
from precast.app.runs import runs_api
from precast.app.sessions import session_room
from precast.app.settings import Address, ServerSettings
from precast.app.supervision import Worker
from precast.cli import issues
from precast.services.identity.authority_files import AuthorityFiles, HeldAuthority
from precast.services.identity.people import PeopleService
from precast.services.identity.recognition import RecognitionService
from precast.services.identity.rotation import RotationService
from precast.services.nodes.status import Place, StatusService
from precast.store.engine.database import Database
from precast.store.identity.certificates import Nodes
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.web.pages import WebPages
from precast.web.sessions import WebSessionsApi


class Front:
    """What answers nodes and people; `parts` are what it does meanwhile."""

    def __init__(self, database: Database, settings: ServerSettings, worker: Worker | None, server_id: str) -> None:
        self._database, self._settings, self._worker = database, settings, worker
        self._authority = HeldAuthority(AuthorityFiles(settings.data / "authority"))
        self._tls = ServerTls(self._authority, _hosts(settings), database.clock)
        self._facts, self._reports = fact_service(database), report_room(database, settings)
        self._sessions = session_room(database, self._facts, self._reports.service, server_id)
        self._metrics = Metrics(database, Board(worker.room, worker.number) if worker is not None else None)
        self._server = self._http_server()
        self.parts: list[Part] = [
            self._tls.run,
            self._metrics.run,
            lambda: self._facts.run(server_id),
            self._sessions.tending.run,
            catalog_indexing(database).run,
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

    def _http_server(self) -> HttpServer:
        database, hub = self._database, self._sessions.hub
        people = people_service(database)
        recognition = RecognitionService(database, Nodes(database), audit_log(database))
        browsers = browser_sessions(database, people)
        routes = Routes()
        self._declare_nodes(routes, people, recognition)
        self._declare_rest(routes)
        WebPages().declare(routes)
        WebSessionsApi(browsers).declare(routes)
        self._metrics.gauge("precast_sessions", "Nodes connected to this process.", lambda: len(hub.connections))
        quotas = Quotas(database.clock, Limits(rate=self._settings.requests_per_second))
        return HttpServer(routes, Callers(people, recognition, browsers), self._metrics, quotas)

    def _declare_nodes(self, routes: Routes, people: PeopleService, recognition: RecognitionService) -> None:
        """Who nodes are, what they say, and what people say of them."""
        database, authority = self._database, self._authority
        said = classification(database, self._settings)
        rotation = RotationService(database, Nodes(database), audit_log(database), authority)
        AuthorityApi(authority, rotation).declare(routes)
        identity_api(database, authority, people, recognition, said.classifier).declare(routes)
        requests_api(database, authority, said.classifier).declare(routes)
        facts_api(database, self._facts).declare(routes)
        policies_api(database, authority).declare(routes)
        nodes_api(database, self._sessions.service, said.classifier).declare(routes)
        RulesApi(said.rules).declare(routes)
        self._sessions.hub.declare(routes)
        self._sessions.api.declare(routes)

    def _declare_rest(self, routes: Routes) -> None:
        """Environments, catalogs, what nodes did with them, and how the site does."""
        database, environments = self._database, environment_room(self._database, self._settings)
        environments.api.declare(routes)
        environments.hooks_api.declare(routes)
        catalogs_api(database).declare(routes)
        origins_api(database).declare(routes)
        queries_api(database).declare(routes)
        runs_api(database, self._settings).declare(routes)
        self._reports.api.declare(routes)
        self._status_api().declare(routes)

    def _status_api(self) -> StatusApi:
        database, authority = self._database, self._authority
        place = Place(
            self._settings.data, database.clock.now(), lambda: authority.current.certificate.not_valid_after_utc
        )
        said, work = Classifications(database), WorkQueue(database, [])
        return StatusApi(StatusService(database, Fleet(database), Sessions(database), work, said, place))


def _hosts(settings: ServerSettings) -> list[str]:
    """The names and addresses this server is reached by."""
    return list(dict.fromkeys([*settings.names, socket.gethostname(), "localhost", "127.0.0.1", "::1"]))
