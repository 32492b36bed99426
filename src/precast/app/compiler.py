"""The role compiler: what decides for nodes, and what compiles."""

import asyncio
import socket
from contextlib import AsyncExitStack, suppress

from precast.app.parts import Part, audit_log
from precast.app.settings import ServerSettings
from precast.base.ids import TimeOrderedIds
from precast.lang.settings import PUPPET_VERSION
from precast.services.catalogs.automatic_releases import AutomaticReleases
from precast.services.compile.changes import ChangeReasons
from precast.services.compile.compiler import CompilerService
from precast.services.compile.deciding import DecisionService
from precast.services.compile.inputs import NodeInputs
from precast.services.compile.workers import Limits, Workers
from precast.services.traces.deployment import Deployment
from precast.services.traces.groves import Groves
from precast.services.traces.versions import Versions
from precast.services.work_kinds import COMPILE, DECIDE, REDECIDE
from precast.store.catalogs import Catalogs
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue
from precast.store.traces import Traces


async def compiling(database: Database, settings: ServerSettings, server_id: str, held: AsyncExitStack) -> list[Part]:
    """What it does; its processes end with `held`."""
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
    automatic = AutomaticReleases(database, environments, catalogs, audit_log(database))
    decisions = DecisionService(database, inputs, groves, traces, catalogs, work, reasons, automatic)
    ids = TimeOrderedIds(database.clock)
    compiler = CompilerService(database, inputs, groves, workers, traces, catalogs, work, blobs, ids)
    return [lambda: decisions.run(server_id), lambda: compiler.run(server_id)]


def _server_facts(settings: ServerSettings) -> dict[str, str]:
    """What Puppet's server adds to a node's facts, as `$server_facts`. No address where the name has none."""
    name = settings.server_name or next(iter(settings.names), "") or socket.gethostname()
    found = {"serverversion": PUPPET_VERSION, "servername": name}
    with suppress(OSError):
        found["serverip"] = socket.gethostbyname(name)
    return found
