"""Hooks: a forge says that something was pushed, and the server deploys what it is configured to deploy.

Nothing of a request is used but that whoever signed it knows the secret: environment, repository and ref stand in a file on the
server. So an old request that is sent again can do no more than have the present state fetched once more, and if that is what is
current already, nothing happens. Calls are coalesced to one item of work, and limited.
"""

import asyncio
import hmac
import logging
import stat
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from precast.base.clock import Clock
from precast.base.errors import Kind, PrecastError
from precast.services.code import git_sources
from precast.services.code import issues as issues
from precast.services.code import sources as code_sources
from precast.services.code.content import MAX_ASKED, ContentService
from precast.services.code.environments import EnvironmentService, check_name
from precast.services.code.trees import Tree, read_directory
from precast.services.work_kinds import DEPLOY
from precast.services.working import keep_working
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.kinds import Claim
from precast.store.queue.queue import WorkQueue
from precast.wire.code.content_frames import head
from precast.wire.code.environments import DeployAnswer, DeployBody

log = logging.getLogger("precast.hooks")

LEASE_S = 60.0
EXTEND_S = 15.0
A_MINUTE = 12
MIN_SECRET_CHARS = 20
READ_BYTES = 256 * 1024
MAX_REASON_CHARS = 2_000


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is deployed when a hook is called."""

    repository: str
    ref: str
    secret: str


def load_hooks(path: Path) -> dict[str, Hook]:
    """The hooks of a server by environment. Raises InputError ENV-024."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~stat.S_IRGRP:
            raise issues.HOOKS_UNUSABLE.error(path=path, reason="others may read or change it, and it holds secrets")
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Hook])
        for name, hook in found.items():
            check_name(name)
            git_sources.check_repository(hook.repository)
            git_sources.check_ref(hook.ref)
            if len(hook.secret) < MIN_SECRET_CHARS:
                raise issues.HOOKS_UNUSABLE.error(
                    path=path, reason=f"the secret of {name} has less than {MIN_SECRET_CHARS} characters"
                )
    except OSError as error:
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error.strerror) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error) from None
    except PrecastError as error:
        if issues.HOOKS_UNUSABLE.matches(error):
            raise
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error.message) from None
    return found


class HookService:
    """Takes calls, and works off what they ask for."""

    def __init__(
        self,
        database: Database,
        hooks: Mapping[str, Hook],
        environments: EnvironmentService,
        content: ContentService,
        work: WorkQueue,
        audit: AuditLog,
        room: Path,
    ) -> None:
        self._database = database
        self._hooks = hooks
        self._environments = environments
        self._content = content
        self._work = work
        self._audit = audit
        self._room = room
        self._calls: dict[str, list[float]] = {}

    def is_signed(self, environment: str, signature: str, body: bytes) -> bool:
        """Whether a call was signed with the hook's secret; False also if there is no such hook."""
        hook = self._hooks.get(environment)
        secret = hook.secret if hook is not None else ""
        expected = "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()
        return hmac.compare_digest(expected.encode(), signature.encode(errors="replace")) and hook is not None

    async def call(self, environment: str) -> bool:
        """A signed call: have the environment deployed; False if that is asked for already. Raises LimitedError ENV-025."""
        self._limit(environment, self._database.clock)
        return await self._work.enqueue(DEPLOY.name, environment, b"")

    def _limit(self, environment: str, clock: Clock) -> None:
        now_s = clock.monotonic_s()
        calls = [at_s for at_s in self._calls.get(environment, []) if now_s - at_s < 60.0]
        if len(calls) >= A_MINUTE:
            raise issues.HOOK_TOO_OFTEN.error(environment=environment, limit=A_MINUTE)
        self._calls[environment] = [*calls, now_s]

    async def work_off(self, owner: str) -> int:
        """Deploy what was asked for; how many environments."""
        claims = await self._work.claim(DEPLOY.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            await self._work_off_one(claim)
        return len(claims)

    async def run(self, owner: str) -> None:
        """Work off what comes, for ever. Cancelling is safe: what was claimed is anyone's when its lease ends."""
        await keep_working(self._database, lambda: self.work_off(owner), DEPLOY)

    async def _work_off_one(self, claim: Claim) -> None:
        hook = self._hooks.get(claim.key)
        if hook is None:  # it is another server's, or was taken out of the file
            await self._work.fail(claim, "this server has no such hook")
            return
        keeping = asyncio.create_task(self._keep(claim))
        try:
            answer = await self.deploy(claim.key, hook)
            log.info("%s has version %d by its hook", claim.key, answer.current.number)
            await self._work.complete(claim)
        except PrecastError as error:
            log.warning("%s is not deployed by its hook: %s", claim.key, error.message)
            if error.kind in (Kind.UNAVAILABLE, Kind.LIMITED, Kind.CONFLICT):
                await self._work.fail(claim, f"{error.message} [{error.code}]")
            else:  # the same commit would fail again
                await self._database.write(self._refusing, claim, error)
        finally:
            keeping.cancel()

    async def _keep(self, claim: Claim) -> None:
        while True:
            await asyncio.sleep(EXTEND_S)
            await self._work.extend(claim, LEASE_S)

    async def deploy(self, environment: str, hook: Hook) -> DeployAnswer:
        """Fetch what the hook names and make it current. Raises what fetching, installing and deploying raise."""
        with tempfile.TemporaryDirectory(prefix="deploy-", dir=self._room) as room:
            found = await git_sources.check_out(hook.repository, hook.ref, Path(room))
            await asyncio.to_thread(
                code_sources.install_modules, found.place, self._room / "modules", is_remote_only=True
            )
            tree, places = await asyncio.to_thread(read_directory, found.place)
            await self._send(tree, places)
            source = f"{git_sources.shown(hook.repository)} {hook.ref}"
            body = DeployBody(tree.version, source, found.commit)
            return await self._environments.deploy(environment, body, f"hook:{environment}")

    async def _send(self, tree: Tree, places: Mapping[str, Path]) -> None:
        """Keep what is missing of a tree, as if it had been sent."""
        wanted = [*tree.digests, tree.version]
        sizes: dict[str, int] = {file.digest: file.size for file in tree.files.values()}
        missing: list[str] = []
        for at in range(0, len(wanted), MAX_ASKED):
            missing += await self._content.missing(wanted[at : at + MAX_ASKED])

        async def frames() -> AsyncIterator[bytes]:
            for digest in missing:
                if digest == tree.version:
                    data = tree.encode()
                    yield head(digest, len(data)) + data
                    continue
                yield head(digest, sizes[digest])
                with places[digest].open("rb") as file:
                    while part := file.read(READ_BYTES):
                        yield part

        await self._content.receive(frames())

    def _refusing(self, claim: Claim, error: PrecastError) -> Transaction[None]:
        yield from self._work.completing(claim)
        reason = f"{error.message} [{error.code}]"[:MAX_REASON_CHARS]
        yield from self._audit.adding(f"hook:{claim.key}", "environment.refuse", claim.key, reason=reason)
