"""Builds plans: their services and API, and the work of their runs for the driver of jobs."""

from functools import partial

from precast.app.futures import build_joint_checks
from precast.app.jobs import build_job_creation
from precast.app.nodes import build_window_service
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.actions.plan_runs import PlanActions
from precast.services.code.content import ContentService
from precast.services.compile.entry_points import EntryPoints
from precast.services.compile.inputs import NodeInputs
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.driven_job import MakeWork
from precast.services.plans.changes import PlanChangesService
from precast.services.plans.creation import PlanRunCreation, RunStores
from precast.services.plans.driving.plan_work import PlanStores, open_plan_work
from precast.services.plans.evaluation.processes import EvaluationLimits, PlanEvaluation
from precast.services.plans.plan_services import PlanServices
from precast.services.plans.preparing.catalogs import CatalogPins
from precast.services.plans.preparing.node_data import PlanNodes
from precast.services.plans.preparing.preparation import PlanPreparation
from precast.services.plans.preparing.sources import PlanSources
from precast.services.plans.preparing.values import ValueEvaluation
from precast.services.plans.reading import PlanReading
from precast.services.plans.rebasing import PlanRebasing
from precast.services.plans.replays import TaskReplays
from precast.services.plans.runs import PlanStarter
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import DeletePart, Jobs
from precast.store.nodes.nodes import Fleet
from precast.store.plans.runs import PlanRuns, delete_run
from precast.store.plans.task_content import TaskContents
from precast.store.queue.queue import WorkQueue
from precast.store.traces import Traces


def build_plan_services(database: Database, settings: ServerSettings, signer: SignerClient) -> PlanServices:
    jobs, attempts, runs = Jobs(database), Attempts(database), PlanRuns(database)
    audit, ids = build_audit_log(database), TimeOrderedIds(database.clock)
    sources = _build_sources(database, settings)
    catalogs = _build_catalogs(database)
    preparation = _build_preparation(database, settings, sources, catalogs)
    reading = PlanReading(database, jobs, attempts, runs, build_window_service(database))
    starter = PlanStarter(database, _build_creation(database, catalogs), preparation, reading, signer, ids)
    return PlanServices(
        sources,
        starter,
        reading,
        PlanChangesService(database, jobs, attempts, runs, audit, reading, starter),
        PlanRebasing(database, jobs, attempts, runs, audit, reading, preparation, starter),
        TaskReplays(database, attempts, runs, reading, starter, ids),
    )


def build_plan_actions(database: Database, settings: ServerSettings) -> PlanActions:
    """What prepares the plans of actions, and stores their runs."""
    catalogs = _build_catalogs(database)
    preparation = _build_preparation(database, settings, _build_sources(database, settings), catalogs)
    return PlanActions(preparation, _build_creation(database, catalogs))


def build_plan_work(database: Database) -> MakeWork:
    """What makes the work of a run of a plan, for the driver."""
    stores = PlanStores(database, Attempts(database), PlanRuns(database), TaskContents(database))
    return partial(open_plan_work, stores)


def list_plan_parts(database: Database) -> list[DeletePart]:
    """What is deleted with the job of a run."""
    return [delete_run, TaskContents(database).delete, build_entry_points(database).release]


def build_entry_points(database: Database) -> EntryPoints:
    work = WorkQueue(database, [DECIDE, REDECIDE, COMPILE])
    return EntryPoints(database, Catalogs(database), Traces(database), Fleet(database), Environments(database), work)


def _build_catalogs(database: Database) -> CatalogPins:
    return CatalogPins(database, build_entry_points(database), Environments(database))


def _build_creation(database: Database, catalogs: CatalogPins) -> PlanRunCreation:
    creation, contents = build_job_creation(database), TaskContents(database)
    stores = (creation, Attempts(database), PlanRuns(database), contents, catalogs, build_audit_log(database))
    return PlanRunCreation(RunStores(*stores))


def _build_sources(database: Database, settings: ServerSettings) -> PlanSources:
    content = ContentService(database, Blobs(database), settings.data)
    return PlanSources(Environments(database), content.read)


def _build_preparation(
    database: Database, settings: ServerSettings, sources: PlanSources, catalogs: CatalogPins
) -> PlanPreparation:
    nodes = PlanNodes(database, NodeInputs(Fleet(database), Environments(database)))
    evaluation = PlanEvaluation(EvaluationLimits(level=settings.confinement))
    values = ValueEvaluation(database, PlanRuns(database), evaluation)
    waits = build_joint_checks(database, settings.confinement)
    return PlanPreparation(
        build_target_service(database), sources, nodes, values, catalogs, waits, settings.confinement
    )
