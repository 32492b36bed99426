"""Runs the signer: reads the keys, gives up every right that it does not need, and serves its socket."""

import asyncio
import contextlib
import os
import pwd
import resource
import signal
import sysconfig
from collections.abc import Callable
from pathlib import Path

import msgspec

from precast.app import issues, logs
from precast.app.signer.settings import SignerSettings, certified_hosts
from precast.base.clock import SystemClock
from precast.base.confinement import kernel
from precast.base.confinement.confine import Confinement, confine
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.limits import PER_MINUTE
from precast.services.identity.signer.listener import Listener, bind
from precast.services.identity.signer.local import build_signer
from precast.services.identity.signer.passphrase import find_passphrase

# Modules that functions import when they first need them, and the time zones that the windows of policies name.
READABLE = (
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(__file__).parents[2],
    Path("/usr/share/zoneinfo"),
)
FILE_BYTES = 1024**3
DESCRIPTORS = 512


def authority_files(settings: SignerSettings, *, may_ask: bool = True) -> AuthorityFiles:
    """The authority's directory with its passphrase. Raises UnavailableError CA-003 or CA-038."""
    directory = settings.data / "authority"
    passphrase = find_passphrase(settings.passphrase_file, settings.key_command, may_ask=False)
    files = AuthorityFiles(directory, passphrase)
    if passphrase is None and may_ask and files.needs_passphrase:
        return AuthorityFiles(directory, find_passphrase(None, "", may_ask=True))
    return files


def serve_signer(settings: SignerSettings, started: Callable[[], None], parent: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT; the child of a server, whose process id is given, until that ends.

    Raises what loading the authority raises, InputError CLI-041 for an unknown client, UnavailableError CA-034 or CONFINE-001.
    """
    _protect(parent)
    clock = SystemClock()
    # Confinement changes the directory.
    data, path = settings.data.absolute(), settings.socket.absolute()
    settings = msgspec.structs.replace(settings, data=data)
    signer = build_signer(
        authority_files(settings, may_ask=parent is None),
        clock,
        certified_hosts(settings.names),
        crl_url=settings.crl_url,
        per_minute=_check_verbs(settings.per_minute),
        log_bytes=settings.log_size,
    )
    # The child of a server runs as the server's user: then a request of that user is never a local command.
    clients = {os.getuid()} if parent is not None else set(map(_user_id, settings.clients))
    approvers = {0, os.getuid()} - clients
    listener = Listener(signer, clock, frozenset(clients), frozenset(approvers))
    logs.set_up("info", os.environ)
    with asyncio.Runner() as runner:
        # The loop and the socket open descriptors, which the confinement refuses.
        server = runner.run(listener.listen(bind(path)))
        _confine(settings, is_child=parent is not None)
        runner.run(_serve(server, listener, started, ends_by_signal=parent is None))
    with contextlib.suppress(OSError):  # outside the directories that it may still change; the next signer replaces it
        path.unlink()


async def _serve(
    server: asyncio.Server, listener: Listener, started: Callable[[], None], *, ends_by_signal: bool
) -> None:
    is_stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # A service manager signals all processes at once: the child serves until its server has ended.
        loop.add_signal_handler(number, is_stopping.set if ends_by_signal else lambda: None)
    async with server:
        answering = asyncio.create_task(listener.answer_all())
        started()
        stopping = asyncio.create_task(is_stopping.wait())
        await asyncio.wait([answering, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in (answering, stopping):
            task.cancel()
        await asyncio.wait([answering, stopping])


def _protect(parent: int | None) -> None:
    """Make the memory of this process unreadable for others before it has a key, and end it with its server."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if parent is not None:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _confine(settings: SignerSettings, *, is_child: bool) -> None:
    """Leave only what serving needs: the signer's two directories, and connections on its socket."""
    confine(
        Confinement(
            reads=[path for path in READABLE if path.exists()],
            writes=[settings.data / "authority", settings.data / "signer"],
            accepts=True,
            keeps=[int(name) for name in os.listdir("/proc/self/fd")],  # noqa: PTH208 - names only
            user=os.getuid(),
            file_bytes=FILE_BYTES,
            descriptors=DESCRIPTORS,
            dies_with_parent=is_child,
            level=settings.confinement,
        )
    )


def _user_id(name: str) -> int:
    if name.isdecimal():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise issues.UNKNOWN_CLIENT.error(name=name) from None


def _check_verbs(per_minute: dict[str, int]) -> dict[str, int]:
    for verb in per_minute:
        if verb not in PER_MINUTE:
            raise issues.UNKNOWN_LIMIT.error(verb=verb, verbs=", ".join(PER_MINUTE))
    return per_minute
