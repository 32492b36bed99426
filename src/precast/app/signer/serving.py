"""Runs the signer: reads the keys, gives up every right that it does not need, and serves its socket."""

import asyncio
import ctypes
import logging
import os
import pwd
import resource
import signal
from collections.abc import Callable

from precast.app import issues
from precast.app.signer.settings import SignerSettings, certified_hosts
from precast.base.clock import SystemClock
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.limits import PER_MINUTE
from precast.services.identity.signer.listener import Listener, bind
from precast.services.identity.signer.local import build_signer
from precast.services.identity.signer.passphrase import find_passphrase

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


def authority_files(settings: SignerSettings, *, may_ask: bool = True) -> AuthorityFiles:
    """The authority's directory with its passphrase. Raises UnavailableError CA-038."""
    directory = settings.data / "authority"
    passphrase = find_passphrase(settings.passphrase_file, settings.key_command, may_ask=False)
    files = AuthorityFiles(directory, passphrase)
    if passphrase is None and may_ask and files.key.exists() and files.is_encrypted:
        return AuthorityFiles(directory, find_passphrase(None, "", may_ask=True))
    return files


def serve_signer(settings: SignerSettings, started: Callable[[], None], parent: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT; the child of a server, whose process id is given, until that ends.

    Raises what loading the authority raises, InputError CLI-041 for an unknown client, UnavailableError CA-034.
    """
    _protect(parent)
    clock = SystemClock()
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
    listening = bind(settings.socket)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)

    async def serve() -> None:
        is_stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # A service manager signals all processes at once: the child serves until its server has ended.
            loop.add_signal_handler(number, is_stopping.set if parent is None else lambda: None)
        running = asyncio.create_task(listener.run(listening))
        started()
        stopping = asyncio.create_task(is_stopping.wait())
        await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(serve())
    settings.socket.unlink(missing_ok=True)


def _protect(parent: int | None) -> None:
    """Make the memory of this process unreadable for others, and end it with its server."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if parent is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


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
