"""Builds plans: their services and API, and the work of their runs for the driver of jobs."""

from functools import partial

from precast.api.plans.plans import PlansApi
from precast.app.jobs import build_job_creation
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.code.content import ContentService
from precast.services.compile.entry_points import EntryPoints
from precast.services.compile.inputs import NodeInputs
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.driven_job import MakeWork
from precast.services.plans.changes import PlanChangesService
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
from precast.services.plans.runs import PlanStarter, RunStores
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


def build_plans_api(database: Database, settings: ServerSettings, signer: SignerClient) -> PlansApi:
    return PlansApi(build_plan_services(database, settings, signer), database.clock, settings.runs_per_minute)


def build_plan_services(database: Database, settings: ServerSettings, signer: SignerClient) -> PlanServices:
    jobs, attempts, runs = Jobs(database), Attempts(database), PlanRuns(database)
    audit, ids = build_audit_log(database), TimeOrderedIds(database.clock)
    sources = _build_sources(database, settings)
    catalogs = CatalogPins(database, build_entry_points(database), Environments(database))
    preparation = _build_preparation(database, settings, sources, catalogs)
    reading = PlanReading(database, jobs, attempts, runs)
    creation = build_job_creation(database)
    stores = RunStores(creation, attempts, runs, TaskContents(database), catalogs, audit)
    starter = PlanStarter(database, stores, preparation, reading, signer, ids)
    return PlanServices(
        sources,
        starter,
        reading,
        PlanChangesService(database, jobs, attempts, runs, audit, reading, starter),
        PlanRebasing(database, jobs, attempts, runs, audit, reading, preparation, starter),
        TaskReplays(database, attempts, runs, reading, starter, ids),
    )


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


def _build_sources(database: Database, settings: ServerSettings) -> PlanSources:
    content = ContentService(database, Blobs(database), settings.data)
    return PlanSources(Environments(database), content.read)


def _build_preparation(
    database: Database, settings: ServerSettings, sources: PlanSources, catalogs: CatalogPins
) -> PlanPreparation:
    nodes = PlanNodes(database, NodeInputs(Fleet(database), Environments(database)))
    evaluation = PlanEvaluation(EvaluationLimits(level=settings.confinement))
    values = ValueEvaluation(database, PlanRuns(database), evaluation)
    return PlanPreparation(build_target_service(database), sources, nodes, values, catalogs, settings.confinement)
