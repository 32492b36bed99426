"""The operations of a server that the command line calls: initialise a site, create an admin token, serve.

The rooms of a server are imported only when its roles need them.
"""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from precast.app import issues
from precast.app.confinement import refuse_unconfined
from precast.app.database import opened
from precast.app.settings import API, COMPILER, SCHEDULER, Address, ServerSettings
from precast.app.supervision import Worker
from precast.base.clock import SystemClock
from precast.base.ids import TimeOrderedIds
from precast.base.settings import load

if TYPE_CHECKING:
    from precast.app.roles.api import ApiRole
    from precast.app.shared_services import BackgroundTask
    from precast.services.clocks.guard import ClockGuard
    from precast.services.secrets.keyring import Keyring
    from precast.store.engine.database import Database

# The garbage collector runs after this many new objects.
GARBAGE_THRESHOLD = 20_000


class NewSite(NamedTuple):
    """The authority and the first admin token that `initialise` has created."""

    fingerprint: str
    authority: Path
    token: str
    # How many certificates were imported from Puppet, and one line about each that was not.
    imported: int = 0
    left_out: Sequence[str] = ()


async def initialise(
    settings: ServerSettings, admin: str, puppet_ca: Path | None = None, *, gives_up_authority: bool = False
) -> NewSite:
    """Create the authority, the database and one admin token; import the certificates of a Puppet CA if one is given.

    `gives_up_authority` creates an authority for a database whose own one is lost.

    Raises ConflictError CA-002 if an authority exists already, CA-042 if the database belongs to one, InputError CA-016 if the Puppet
    CA cannot be used.
    """
    from precast.app.people import build_people_service, import_certificates
    from precast.app.secrets.keyring import build_keyring
    from precast.app.signer.serving import authority_files
    from precast.app.signer.settings import SignerSettings
    from precast.services.identity.authority import Authority
    from precast.services.identity.puppet_ca import PuppetCa
    from precast.services.identity.signer.local import open_local_signer
    from precast.services.identity.signer.site import refuse_other_site
    from precast.store.identity.authorities import Authorities
    from precast.wire.identity.bodies import NewPersonToken

    now = SystemClock().now()
    files = authority_files(load(SignerSettings, {"data": settings.data}, os.environ).values)
    files.refuse_existing()
    puppet = None if puppet_ca is None else PuppetCa(puppet_ca)
    authority = Authority.new(now) if puppet is None else puppet.successor(now)
    certificates, left_out = ([], []) if puppet is None else puppet.read_nodes(now)
    _make_directory(settings.data)
    # The authority's files appear last and all at once: if anything fails before, `init` can be run again.
    async with opened(settings) as database:
        if not gives_up_authority:
            await refuse_other_site(database, may_have_nodes=puppet is not None)
        await build_keyring(database, settings).open()
        with files.created(authority, [each.fingerprint for each in certificates if not each.revoked_at]) as new:
            if puppet is not None:
                await import_certificates(database, puppet, certificates)
            people = build_people_service(database, await open_local_signer(new, SystemClock()))
            token = await people.create(NewPersonToken(admin, "admin"), "system")
        # After the files: an interrupted `init` can be repeated, and a server that starts without this row adds it.
        await database.write(Authorities(database).replace, authority.fingerprint)
    lines = [f"{node.name}: {node.reason}" for node in left_out]
    return NewSite(authority.fingerprint, files.certificate, token.token, len(certificates), lines)


async def create_admin(settings: ServerSettings, admin: str) -> str:
    """Create another admin token and return it, as a user who may read the authority's key, or root at a signer of its own.

    Raises NotFoundError STORE-002 if the database does not exist, DeniedError CA-031 if the signer does not accept this user.
    """
    from precast.app.people import build_people_service
    from precast.app.signer.serving import authority_files
    from precast.app.signer.settings import SignerSettings
    from precast.services.identity.signer.client import SignerClient
    from precast.services.identity.signer.connection import SocketConnection
    from precast.services.identity.signer.local import open_local_signer
    from precast.wire.identity.bodies import NewPersonToken

    async with opened(settings, may_create=False) as database:
        if settings.signer is None:
            files = authority_files(load(SignerSettings, {"data": settings.data}, os.environ).values)
            signer = await open_local_signer(files, SystemClock())
        else:
            signer = SignerClient(SocketConnection(settings.signer))
        try:
            people = build_people_service(database, signer)
            return (await people.create(NewPersonToken(admin, "admin"), "system")).token
        finally:
            await signer.close()


async def serve(settings: ServerSettings, worker: Worker | None, started: Callable[[Address | None], None]) -> None:
    """Run the configured roles until SIGTERM or SIGINT, as the only process or as one of several workers.

    A server without workers calls `started` with the address it listens on, or None without the role api.
    Raises UnavailableError CONFINE-001 if processes that handle untrusted code could not be confined, and what `Keyring.open` raises.
    """
    from precast.app.secrets.keyring import build_key_rotation, build_keyring
    from precast.app.shared_services import build_clock_guard

    if worker is None or worker.number == 1:
        await refuse_unconfined(settings)
    room, number = (None, None) if worker is None else (worker.shared_directory, worker.number)
    async with opened(settings, room=room, number=number) as database, AsyncExitStack() as front_resources:
        server_id = TimeOrderedIds(database.clock).new()
        guard = build_clock_guard(database, settings)
        await guard.check()  # before anything is stored or deleted: a clock that is wrong from the start says so
        keyring = build_keyring(database, settings)
        front = await _front(database, settings, worker, server_id, front_resources, guard, keyring)
        await keyring.open()
        rotation = build_key_rotation(database, keyring, server_id)
        await rotation.follow()  # announces the keys of this process before it uses them
        wanted_address = worker.address if worker is not None and worker.address is not None else settings.listen
        address = None if front is None else await front.listen(wanted_address)
        async with AsyncExitStack() as resources, asyncio.TaskGroup() as tasks:
            background = [guard.run, rotation.run, *([] if front is None else front.background)]
            background += await _background(database, settings, worker, server_id, resources, guard, front, keyring)
            running = [tasks.create_task(run()) for run in background]
            _collect_seldom()
            if worker is None:
                started(address)
            else:
                worker.started()
            await _wait_for_stop_signal()
            if front is not None:
                await front.close()
            for task in running:
                task.cancel()


async def _front(
    database: "Database",
    settings: ServerSettings,
    worker: Worker | None,
    server_id: str,
    resources: AsyncExitStack,
    guard: "ClockGuard",
    keyring: "Keyring",
) -> "ApiRole | None":
    """The role api with its signer. Closing `resources` ends the signer that was started for it."""
    if API not in settings.roles:
        return None
    from precast.api.http.tls import ServerTls
    from precast.app.roles.api import ApiRole
    from precast.app.signer.process import opened_signer
    from precast.app.signer.settings import certified_hosts
    from precast.services.identity.signer.site import verify_site

    background: list[BackgroundTask] = []
    signer = await resources.enter_async_context(opened_signer(settings, worker, background))
    await verify_site(database, signer.current)
    tls = await ServerTls.create(signer, certified_hosts(settings.names), database.clock)
    role = ApiRole(database, settings, worker, server_id, signer, tls, guard, keyring)
    role.background += background
    return role


async def _background(
    database: "Database",
    settings: ServerSettings,
    worker: Worker | None,
    server_id: str,
    resources: AsyncExitStack,
    guard: "ClockGuard",
    front: "ApiRole | None",
    keyring: "Keyring",
) -> "list[BackgroundTask]":
    """The background tasks of the roles other than api. Closing `resources` ends the processes that they have started."""
    background: list[BackgroundTask] = []
    if API not in settings.roles:
        from precast.app.shared_services import build_quiet_presence

        background.append(build_quiet_presence(database, settings, worker, server_id).run)
    if COMPILER in settings.roles:
        from precast.app.roles.compiler import compiler_tasks

        background += await compiler_tasks(database, settings, server_id, resources, keyring)
    if SCHEDULER in settings.roles:
        from precast.app.roles.scheduler import scheduler_tasks

        background += scheduler_tasks(database, settings, server_id, guard, None if front is None else front.intake_lag)
    return background


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise issues.NO_DIRECTORY.error(path=path, reason=error.strerror) from error


def _collect_seldom() -> None:
    """Exempt the objects that exist now from garbage collection, and run the collector less often.

    The server's own objects live as long as the process, and requests rarely create reference cycles. With the default threshold the
    collector used a tenth of the server's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 10, 10)


async def _wait_for_stop_signal() -> None:
    is_stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_stopping.set)
    await is_stopping.wait()
