"""Builds the services through which compiles learn of other nodes: of exported resources, and of queries over all nodes."""

from precast.api.exports import ExportsApi
from precast.app.shared_services import build_audit_log
from precast.services.exports.answers import ExportAnswers
from precast.services.exports.collecting import ExportRounds
from precast.services.exports.decisions import DecisionExports
from precast.services.exports.loops import ExportLoops
from precast.services.exports.nodes import NodeExports
from precast.services.exports.publishing import ExportPublisher
from precast.services.exports.scopes import find_scope
from precast.services.exports.settings import ExportSettings
from precast.services.exports.views import ExportViews
from precast.services.query.fleet.answering import FleetAnswers
from precast.services.query.fleet.evaluation import FleetQueries
from precast.services.query.fleet.rows import FleetRows
from precast.services.query.fleet.watching import FleetWatch
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.resource_search import ResourceSearch
from precast.services.work_kinds import COLLECT, DECIDE, REDECIDE, REEVALUATE
from precast.store.catalogs.released import ReleasedCatalogs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.nodes.nodes import Fleet
from precast.store.query.resource_index import ResourceIndex
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions


def build_exports_api(database: Database) -> ExportsApi:
    work = WorkQueue(database, [REDECIDE])
    environments = Environments(database)
    settings = ExportSettings(database, environments, work, build_audit_log(database))
    return ExportsApi(ExportViews(database, environments), settings)


def build_export_publisher(database: Database) -> ExportPublisher:
    return ExportPublisher(database, Fleet(database), WorkQueue(database, [COLLECT]))


def build_node_exports(database: Database) -> NodeExports:
    return NodeExports(build_export_publisher(database), ReleasedCatalogs(database))


def build_export_rounds(database: Database) -> ExportRounds:
    return ExportRounds(database, WorkQueue(database, [COLLECT, DECIDE]))


def build_decision_exports(database: Database, answers: ExportAnswers) -> DecisionExports:
    environments = Environments(database)
    loops = ExportLoops(database, environments)
    rounds, publisher = build_export_rounds(database), build_export_publisher(database)
    return DecisionExports(environments, answers, rounds, loops, publisher)


def build_fleet_answers(database: Database) -> FleetAnswers:
    """A query sees the nodes whose exports are seen: those of the environment, or of all by its setting."""
    environments = Environments(database)

    def find_seen(environment: str) -> Transaction[str]:
        return (yield from find_scope(environments, environment)).environment

    return FleetAnswers(database, build_fleet_queries(database), find_seen, WorkQueue(database, [REEVALUATE]))


def build_fleet_watch(database: Database) -> FleetWatch:
    return FleetWatch(database, build_fleet_queries(database), WorkQueue(database, [DECIDE, REEVALUATE]))


def build_fleet_queries(database: Database) -> FleetQueries:
    nodes = KnownNodes(database, Fleet(database), Sessions(database))
    return FleetQueries(database, FleetRows(database, nodes, ResourceSearch(database, ResourceIndex(database))))
