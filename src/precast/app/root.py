"""What the command line can ask of the rest. The rooms of a server are imported when one is made, by its roles."""

import asyncio
import gc
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from precast.app.database import opened
from precast.app.settings import API, COMPILER, SCHEDULER, Address, ServerSettings
from precast.app.supervision import Worker
from precast.base.clock import SystemClock
from precast.base.ids import TimeOrderedIds
from precast.cli import issues
from precast.cli.server.server import Initialised

if TYPE_CHECKING:
    from precast.app.front import Front
    from precast.app.parts import Part
    from precast.store.engine.database import Database

# New objects between two looks for those that only hold each other.
GARBAGE = 20_000


class App:
    """Serves, and makes what a server needs first."""

    async def initialise(self, settings: ServerSettings, admin: str, puppet_ca: Path | None = None) -> Initialised:
        """Make authority, database and one admin token; take a Puppet authority over.

        Raises ConflictError CA-002 if there is an authority already, InputError CA-016 if Puppet's cannot be used.
        """
        from precast.app.people import importing, people_service
        from precast.services.identity.authority import Authority
        from precast.services.identity.authority_files import AuthorityFiles
        from precast.services.identity.puppet_ca import PuppetCa
        from precast.wire.identity.bodies import NewPersonToken

        files = AuthorityFiles(settings.data / "authority")
        files.refuse_existing()
        now = SystemClock().now()
        puppet = None if puppet_ca is None else PuppetCa(puppet_ca)
        authority = Authority.new(now) if puppet is None else puppet.successor(now)
        found, left = ([], []) if puppet is None else puppet.read_nodes(now)
        _make_directory(settings.data)
        # The authority appears last, and whole: until then `init` can be run again.
        async with opened(settings) as database:
            with files.creating(authority):
                if puppet is not None:
                    await importing(database, puppet, found)
                token = await people_service(database).create(NewPersonToken(admin, "admin"), "system")
        lines = [f"{one.name}: {one.reason}" for one in left]
        return Initialised(authority.fingerprint, files.certificate, token.token, len(found), lines)

    async def create_admin(self, settings: ServerSettings, admin: str) -> str:
        """Make another admin token. Raises NotFoundError STORE-002 if there is no database."""
        from precast.app.people import people_service
        from precast.wire.identity.bodies import NewPersonToken

        async with opened(settings, may_create=False) as database:
            return (await people_service(database).create(NewPersonToken(admin, "admin"), "system")).token

    async def serve(
        self, settings: ServerSettings, worker: Worker | None, started: Callable[[Address | None], None]
    ) -> None:
        """Do what the roles say until SIGTERM or SIGINT, alone or as one of several processes; `started` is told where it serves."""
        async with opened(settings, room=worker.room if worker is not None else None) as database:
            server_id = TimeOrderedIds(database.clock).new()
            front = _front(database, settings, worker, server_id)
            place = worker.address if worker is not None and worker.address is not None else settings.listen
            address = None if front is None else await front.listen(place)
            async with AsyncExitStack() as held, asyncio.TaskGroup() as tasks:
                parts = [] if front is None else front.parts
                parts = [*parts, *await _behind(database, settings, worker, server_id, held)]
                running = [tasks.create_task(part()) for part in parts]
                _collect_seldom()
                if worker is None:
                    started(address)
                else:
                    worker.started()
                await _until_told_to_stop()
                if front is not None:
                    await front.close()
                for task in running:
                    task.cancel()


def _front(database: "Database", settings: ServerSettings, worker: Worker | None, server_id: str) -> "Front | None":
    if API not in settings.roles:
        return None
    from precast.app.front import Front

    return Front(database, settings, worker, server_id)


async def _behind(
    database: "Database", settings: ServerSettings, worker: Worker | None, server_id: str, held: AsyncExitStack
) -> "list[Part]":
    """What the roles other than api do; their processes end with `held`."""
    parts: list[Part] = []
    if API not in settings.roles:
        from precast.app.parts import quiet_presence

        parts.append(quiet_presence(database, settings, worker, server_id).run)
    if COMPILER in settings.roles:
        from precast.app.compiler import compiling

        parts += await compiling(database, settings, server_id, held)
    if SCHEDULER in settings.roles:
        from precast.app.scheduler import scheduled

        parts += scheduled(database, settings, server_id)
    return parts


def _make_directory(place: Path) -> None:
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise issues.NO_DIRECTORY.error(path=place, reason=error.strerror) from error


def _collect_seldom() -> None:
    """What a server is made of stays; what passes through it is rarely in a circle, and to look for those took a tenth of its time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 10, 10)


async def _until_told_to_stop() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    await told.wait()
