"""Builds the services of exported resources."""

from precast.api.exports import ExportsApi
from precast.app.shared_services import build_audit_log
from precast.services.exports.answers import ExportAnswers
from precast.services.exports.collecting import ExportRounds
from precast.services.exports.decisions import DecisionExports
from precast.services.exports.loops import ExportLoops
from precast.services.exports.nodes import NodeExports
from precast.services.exports.publishing import ExportPublisher
from precast.services.exports.settings import ExportSettings
from precast.services.exports.views import ExportViews
from precast.services.work_kinds import COLLECT, DECIDE, REDECIDE
from precast.store.catalogs.released import ReleasedCatalogs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue


def build_exports_api(database: Database) -> ExportsApi:
    work = WorkQueue(database, [REDECIDE])
    settings = ExportSettings(database, Environments(database), work, build_audit_log(database))
    return ExportsApi(ExportViews(database), settings)


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
