"""Builds actions: the API that creates and shows them, the scheduler, and what other parts of a server tell them."""

from precast.api.actions.actions import ActionsApi
from precast.app.jobs import build_job_creation, build_job_service
from precast.app.settings import ServerSettings
from precast.app.shared_services import build_audit_log, build_target_service
from precast.base.ids import TimeOrderedIds
from precast.services.actions.approved_actions import ApprovedActions
from precast.services.actions.creation import ActionCreation
from precast.services.actions.due_events import ActionEvents, DueEvents
from precast.services.actions.meters import ActionMeters
from precast.services.actions.rights import ActionRights
from precast.services.actions.scheduler import ActionScheduler
from precast.services.actions.service import ActionService
from precast.services.actions.starting import ActionStarter
from precast.services.actions.views import ActionViews
from precast.services.approvals.approvals import RequestBook
from precast.services.clocks.guard import ClockGuard
from precast.services.identity.signer.client import SignerClient
from precast.services.windows.cron import parse_cron
from precast.store.actions.actions import Actions
from precast.store.approvals.approvals import Approvals
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.identity.tokens import Tokens
from precast.store.jobs.attempts import Attempts
from precast.store.jobs.jobs import Jobs
from precast.store.nodes.nodes import Fleet


def build_actions_api(
    database: Database, settings: ServerSettings, signer: SignerClient, guard: ClockGuard
) -> ActionsApi:
    actions, starter, audit = Actions(database), _build_starter(database), build_audit_log(database)
    views = ActionViews(actions, Jobs(database), Attempts(database), Approvals(), guard)
    creation = ActionCreation(
        database,
        actions,
        starter,
        _build_rights(database),
        build_approved_actions(database),
        views,
        audit,
        TimeOrderedIds(database.clock),
        signer,
        parse_cron,
    )
    service = ActionService(database, actions, views, starter, build_job_service(database, signer), audit, parse_cron)
    return ActionsApi(creation, service, database.clock, settings.runs_per_minute)


def build_action_scheduler(database: Database, guard: ClockGuard) -> ActionScheduler:
    actions, starter, ids = Actions(database), _build_starter(database), TimeOrderedIds(database.clock)
    events = DueEvents(database, actions, starter, ids)
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
