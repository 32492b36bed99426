"""A signer on a real socket within the test process, as the child of a server has it: no request counts as a local command."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec

from precast.base.clock import Clock, SystemClock
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.connection import SocketConnection
from precast.services.identity.signer.listener import Listener, bind
from precast.services.identity.signer.local import LocalConnection, build_signer, state_directory
from precast.services.identity.signer.messages import Credential, EnrolmentRecord, PersonRecord
from precast.services.identity.signer.signer import Signer
from precast.services.identity.signer.signer_log import LogLine
from precast.wire.identity import tokens as wire


class SocketSite:
    """The signer, its socket, and what a server would have in its database: sealed records."""

    def __init__(self, files: AuthorityFiles, signer: Signer, path: Path, clock: Clock) -> None:
        self.files, self.path = files, path
        self.client = SignerClient(SocketConnection(path))
        # What a local command of the signer's own user can do.
        self.local = SignerClient(LocalConnection(signer))
        self.clock = clock

    async def person(self, role: str, environments: list[str] | None = None, valid_s: float = 60) -> Credential:
        """A person's token that was created properly."""
        secret = wire.PersonSecret(f"{os.urandom(16).hex():0>36}"[:36], os.urandom(wire.SECRET_BYTES))
        expires_at = self.clock.now() + timedelta(seconds=valid_s)
        hashed = wire.hash_secret(secret.secret)
        record = PersonRecord(secret.id, hashed, f"a {role}", role, environments or [], expires_at)
        return Credential(str(secret), record, await self.local.seal_person(record, None))

    async def enrolment(self, pattern: str, uses: int = 1, **extensions: str) -> tuple[str, EnrolmentRecord, bytes]:
        """An enrolment token that was created properly: its text, its record and the seal."""
        text, record = enrolment_record(self, pattern, uses, extensions)
        return text, record, await self.local.seal_enrolment(record, None)

    def log(self) -> list[LogLine]:
        path = state_directory(self.files) / "log.jsonl"
        data = path.read_bytes() if path.exists() else b""
        return [msgspec.json.decode(line, type=LogLine) for line in data.splitlines()]


def enrolment_record(
    site: SocketSite, pattern: str, uses: int, extensions: dict[str, str]
) -> tuple[str, EnrolmentRecord]:
    fingerprint = site.files.load().fingerprint
    secret = wire.EnrolmentSecret(f"{os.urandom(16).hex():0>36}"[:36], os.urandom(wire.SECRET_BYTES), fingerprint)
    expires_at = site.clock.now() + timedelta(seconds=60)
    hashed = wire.hash_secret(secret.secret)
    return str(secret), EnrolmentRecord(secret.id, hashed, pattern, extensions, uses, expires_at)


@contextlib.asynccontextmanager
async def serving(
    directory: Path,
    hosts: tuple[str, ...] = ("localhost",),
    *,
    per_minute: dict[str, int] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[SocketSite]:
    """Serve the authority of a directory on a socket, or a new one."""
    clock = clock or SystemClock()
    files = AuthorityFiles(directory / "authority")
    if not files.directory.exists():
        with files.created(Authority.new(clock.now())):
            pass
    signer = build_signer(files, clock, hosts, per_minute=per_minute)
    path = directory / "s"
    running = asyncio.create_task(Listener(signer, clock, frozenset({os.getuid()}), frozenset()).run(bind(path)))
    site = SocketSite(files, signer, path, clock)
    try:
        await site.client.refresh()
        yield site
    finally:
        await site.client.close()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
