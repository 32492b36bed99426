"""Builds jobs and actions: their APIs, the driver and the scheduler that the role scheduler runs, and what follows what nodes do."""

from collections.abc import Mapping, Sequence

from precast.api.actions.actions import ActionsApi
from precast.api.jobs import JobsApi
from precast.app.exports import build_export_publisher
from precast.app.futures import build_joint_checks
from precast.app.nodes import build_window_service
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.actions.approved_actions import ApprovedActions
from precast.services.actions.creation import ActionCreation
from precast.services.actions.due_events import ActionEvents, DueEvents
from precast.services.actions.meters import ActionMeters
from precast.services.actions.plan_dues import PlanDues
from precast.services.actions.plan_runs import PlanActions
from precast.services.actions.rights import ActionRights
from precast.services.actions.scheduler import ActionScheduler
from precast.services.actions.service import ActionService, PlanControl
from precast.services.actions.starting import ActionStarter
from precast.services.actions.views import ActionViews
from precast.services.approvals.approvals import RequestBook
from precast.services.catalogs.releases import Releases
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.signer.client import SignerClient
from precast.services.jobs.creation import JobCreation
from precast.services.jobs.driven_job import FollowChanges, JobStores, MakeWork
from precast.services.jobs.driver import JobDriver
from precast.services.jobs.driving.job_releases import JobReleases
from precast.services.jobs.flow.intake_lag import IntakeLag
from precast.services.jobs.grants import Grants
from precast.services.jobs.meters import JobMeters
from precast.services.jobs.reconciler import Reconciler
from precast.services.jobs.results import AttemptResults
from precast.services.jobs.service import JobService
from precast.services.jobs.standstills import Standstills
from precast.services.sessions.orders import MAX_ORDERS, OrderService
from precast.services.windows.cron import parse_cron
from precast.store.actions.actions import Actions
from precast.store.approvals.approvals import Approvals
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.identity.certificates import NodeCertificates
from precast.store.identity.tokens import Tokens
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import DeletePart, Jobs
from precast.store.jobs.node_locks import NodeLocks
from precast.store.nodes.nodes import Fleet
from precast.store.plans.task_content import TaskContents
from precast.store.sessions.sessions import Sessions
from precast.store.sessions.streams import Streams


def build_job_creation(database: Database) -> JobCreation:
    stores = Jobs(database), Attempts(database), Sessions(database), TaskContents(database)
    return JobCreation(*stores, build_audit_log(database))


def build_job_service(database: Database, settings: ServerSettings, signer: SignerClient) -> JobService:
    return JobService(
        database,
        Jobs(database),
        Attempts(database),
        NodeLocks(database),
        build_job_creation(database),
        build_target_service(database),
        build_audit_log(database),
        TimeOrderedIds(database.clock),
        signer,
        build_window_service(database),
        build_joint_checks(database, settings.confinement),
    )


def build_runs_api(database: Database, settings: ServerSettings, signer: SignerClient) -> JobsApi:
    return JobsApi(build_job_service(database, settings, signer), database.clock, settings.runs_per_minute)


def build_job_driver(
    database: Database,
    guard: ClockGuard,
    lag: IntakeLag,
    works: Mapping[str, MakeWork],
    parts: Sequence[DeletePart],
    on_changes: Sequence[FollowChanges],
) -> JobDriver:
    """`works` makes the work of kinds of jobs that have their own, `parts` deletes what is stored beside jobs, and `on_changes` follows
    changes of their steps."""
    stores = JobStores(
        database,
        Jobs(database),
        Attempts(database),
        Sessions(database),
        _build_orders(database),
        _build_grants(database),
        guard,
        build_window_service(database),
        build_job_releases(database),
        works,
        parts,
        on_changes,
    )
    return JobDriver(stores, lag)


def build_job_meters(database: Database) -> JobMeters:
    return JobMeters(database, Attempts(database), NodeLocks(database))


def build_reconciler(database: Database) -> Reconciler:
    standstills = Standstills(database, Jobs(database))
    return Reconciler(database, Attempts(database), NodeLocks(database), _build_grants(database), standstills)


def build_job_releases(database: Database) -> JobReleases:
    catalogs, environments = Catalogs(database), Environments(database)
    releases = Releases(database, catalogs, environments, build_audit_log(database), build_export_publisher(database))
    return JobReleases(catalogs, environments, releases)


def build_attempt_results(database: Database) -> AttemptResults:
    return AttemptResults(Jobs(database), Attempts(database), _build_grants(database))


def _build_grants(database: Database) -> Grants:
    return Grants(database.clock, Attempts(database), NodeLocks(database), _build_orders(database))


def _build_orders(database: Database) -> OrderService:
    """Orders are only posted here; the servers that send them have them signed."""
    return OrderService(NodeCertificates(database), Streams(database, MAX_ORDERS), build_audit_log(database))


def build_actions_api(
    database: Database,
    settings: ServerSettings,
    signer: SignerClient,
    guard: ClockGuard,
    plans: PlanActions,
    control: PlanControl,
) -> ActionsApi:
    """`plans` prepares the plans of actions, and `control` repeats their runs."""
    actions, starter, audit = Actions(database), _build_starter(database), build_audit_log(database)
    views = ActionViews(actions, Jobs(database), Attempts(database), Approvals(), guard)
    creation = ActionCreation(
        database,
        actions,
        starter,
        _build_rights(database),
        build_approved_actions(database),
        views,
        plans,
        audit,
        TimeOrderedIds(database.clock),
        signer,
        parse_cron,
    )
    service = ActionService(
        *(database, actions, views, starter, Attempts(database)),
        *(build_job_service(database, settings, signer), control, audit, parse_cron),
    )
    return ActionsApi(creation, service, database.clock, settings.runs_per_minute)


def build_action_scheduler(database: Database, guard: ClockGuard, plans: PlanActions) -> ActionScheduler:
    actions, starter, ids = Actions(database), _build_starter(database), TimeOrderedIds(database.clock)
    plan_dues = PlanDues(database, actions, starter, plans, _build_rights(database), ids)
    events = DueEvents(database, actions, starter, plan_dues, ids)
    return ActionScheduler(database, actions, starter, events, guard, ids, parse_cron)


def build_action_events(database: Database) -> ActionEvents:
    return ActionEvents(Actions(database))


def build_action_meters(database: Database) -> ActionMeters:
    return ActionMeters(database, Actions(database))


def build_approved_actions(database: Database) -> ApprovedActions:
    requests = RequestBook(database, Approvals(), build_audit_log(database), TimeOrderedIds(database.clock))
    return ApprovedActions(database, Actions(database), Environments(database), requests, parse_cron)


def _build_rights(database: Database) -> ActionRights:
    return ActionRights(database.clock, Tokens(database), Environments(database))


def _build_starter(database: Database) -> ActionStarter:
    return ActionStarter(
        Actions(database),
        Jobs(database),
        build_job_creation(database),
        Fleet(database),
        _build_rights(database),
        build_target_service(database),
    )
