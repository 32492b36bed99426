"""The role compiler: decides which nodes need a compile, and compiles their catalogs."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial

from precast.app.exports import (
    build_decision_exports,
    build_export_publisher,
    build_export_rounds,
    build_fleet_answers,
    build_fleet_watch,
)
from precast.app.secrets.keyring import build_secret_values
from precast.app.secrets.sources import build_source_components
from precast.app.server_facts import read_server_facts
from precast.app.settings import ServerSettings
from precast.app.shared_services import BackgroundTask, build_audit_log
from precast.base.ids import TimeOrderedIds
from precast.services.catalogs.release_policy import ReleasePolicy
from precast.services.catalogs.releases import Releases
from precast.services.code.decryption import KeyDirectory
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.compiler import CompilerService
from precast.services.compile.decider import DecisionService
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.walks import OtherAnswers
from precast.services.compile.worker_requests import ServerRequests
from precast.services.compile.workers import Limits, Sources, Workers
from precast.services.exports.answers import ExportAnswers
from precast.services.secrets.keyring import Keyring
from precast.services.traces.cache import TraceCache
from precast.services.traces.constants import VersionConstants
from precast.services.traces.costly_processes import CostlyLimits, CostlyProcesses
from precast.services.traces.versions import Versions
from precast.services.work_kinds import ASK_SECRET, COMPILE, DECIDE, REDECIDE
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.secrets.secrets import Secrets
from precast.store.secrets.source_documents import SourceDocuments
from precast.store.traces import Traces


async def compiler_tasks(
    database: Database, settings: ServerSettings, server_id: str, resources: AsyncExitStack, keyring: Keyring
) -> list[BackgroundTask]:
    """The background tasks of the role. Closing `resources` ends the worker processes."""
    traces, catalogs, blobs = Traces(database), Catalogs(database), Blobs(database)
    work = WorkQueue(database, [DECIDE, REDECIDE, COMPILE, ASK_SECRET])
    versions = Versions(blobs)
    environments = Environments(database)
    inputs = NodeInputs(Fleet(database), environments)
    constants = VersionConstants(database, environments, await asyncio.to_thread(read_server_facts, settings))
    limits = compile_limits(settings)
    costly = CostlyProcesses(database.clock, CostlyLimits(level=settings.confinement))
    resources.push_async_callback(costly.close)
    keys, secret_values = KeyDirectory(settings.key_pairs), build_secret_values(database, keyring)
    secret_sources = build_source_components(database, settings, server_id, resources, keyring)
    documents = secret_sources.documents
    trace_cache = TraceCache(database, traces, versions, constants, costly, keyring.answer_key, keys.find, documents)
    answers = ExportAnswers(database, environments, secret_values)
    requests = ServerRequests(keys.find, documents)
    others = OtherAnswers(answers, build_fleet_answers(database))
    sources = Sources(versions.content, answers.answer, others.fleet.answer, requests)
    workers = Workers(sources, database.clock, limits)
    resources.push_async_callback(workers.close)
    reasons = ChangeReasons(database, traces, environments, trace_cache)
    exports = build_decision_exports(database, answers)
    releases = Releases(database, catalogs, environments, build_audit_log(database), build_export_publisher(database))
    policy = ReleasePolicy(environments, catalogs, releases, exports)
    watch, read = build_fleet_watch(database), SourceDocuments(database)
    decisions = DecisionService(
        *(database, inputs, trace_cache, traces, catalogs, work, reasons, policy, exports, others, watch, read)
    )
    secrets, ids = (Secrets(database), secret_values), TimeOrderedIds(database.clock)
    compiler = CompilerService(
        database, inputs, trace_cache, workers, traces, catalogs, work, blobs, *secrets, ids, others
    )
    rounds = build_export_rounds(database)
    loops = (decisions.run, compiler.run, rounds.run, watch.run)
    return [*(partial(loop, server_id) for loop in loops), *secret_sources.background]


def compile_limits(settings: ServerSettings) -> Limits:
    return Limits(settings.compile_limit.total_seconds(), settings.compile_memory, level=settings.confinement)
