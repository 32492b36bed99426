"""Hooks: a forge reports a push, and the server deploys the environment that it is configured to deploy.

A request proves only that its sender knows the secret; environment, repository and ref are configured in a file on the server. So a
replayed request can only trigger another fetch of the current state, and if that version is deployed already, nothing changes. Calls
are coalesced into one work item, and rate limited.
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
from precast.base.repository_addresses import parse_address, redact_address
from precast.services.code import issues
from precast.services.code.address_policy import AddressPolicy, check_address
from precast.services.code.content import MAX_DIGESTS, ContentScope, ContentService
from precast.services.code.environments import EnvironmentService, check_name
from precast.services.code.fetching import CodeFetcher, remove_leftovers
from precast.services.code.file_trees import FileTree, open_regular
from precast.services.code.git_sources import check_ref
from precast.services.code.signing import SigningService
from precast.services.queue_worker import run_worker
from precast.services.work_kinds import DEPLOY
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.kinds import Claim
from precast.store.queue.queue import WorkQueue
from precast.wire.code.content_frames import encode_header
from precast.wire.code.environments import DeployAnswer, DeployBody

log = logging.getLogger("precast.hooks")

LEASE_S = 60.0
# The directories of fetches begin so.
PREFIX = "deploy-"
EXTEND_S = 15.0
MAX_CALLS_PER_MINUTE = 12
MIN_SECRET_CHARS = 20
READ_BYTES = 256 * 1024
MAX_REASON_CHARS = 2_000


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The repository and ref that a call of the hook deploys."""

    repository: str
    ref: str
    secret: str


def load_hooks(path: Path) -> dict[str, Hook]:
    """Load the hooks of a server, by environment. Raises InputError ENV-024."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~stat.S_IRGRP:
            raise issues.HOOKS_UNUSABLE.error(
                path=path, reason="other users may read or change it, and it contains secrets"
            )
        hooks = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Hook])
        for name, hook in hooks.items():
            check_name(name)
            check_address(hook.repository, hook_policy(hook))
            check_ref(hook.ref)
            if len(hook.secret) < MIN_SECRET_CHARS:
                raise issues.HOOKS_UNUSABLE.error(
                    path=path, reason=f"the secret of {name} has fewer than {MIN_SECRET_CHARS} characters"
                )
    except OSError as error:
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error.strerror) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error) from None
    except PrecastError as error:
        if issues.HOOKS_UNUSABLE.matches(error):
            raise
        raise issues.HOOKS_UNUSABLE.error(path=path, reason=error.message) from None
    return hooks


def hook_policy(hook: Hook) -> AddressPolicy:
    """What fetching a hook's repository may reach: the administrator chose it, so it may be a path, or on this machine."""
    try:
        address = parse_address(hook.repository)
    except ValueError:
        return AddressPolicy()
    if address.is_local:
        return AddressPolicy(schemes=(), directories=(address.path,) if address.path.startswith("/") else ())
    return AddressPolicy(hosts=(address.host,))


class HookService:
    """Receives calls, and deploys the environments of their hooks."""

    def __init__(
        self,
        database: Database,
        hooks: Mapping[str, Hook],
        environments: EnvironmentService,
        content: ContentService,
        work: WorkQueue,
        audit: AuditLog,
        spool: Path,
        fetcher: CodeFetcher,
        signing: SigningService,
    ) -> None:
        self._database = database
        self._hooks = hooks
        self._environments = environments
        self._content = content
        self._work = work
        self._audit = audit
        self._spool = spool
        self._fetcher = fetcher
        self._signing = signing
        self._calls: dict[str, list[float]] = {}

    def is_signed(self, environment: str, signature: str, body: bytes) -> bool:
        """Whether a call was signed with the hook's secret; False also if there is no such hook."""
        hook = self._hooks.get(environment)
        secret = hook.secret if hook is not None else ""
        expected = "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()
        return hmac.compare_digest(expected.encode(), signature.encode(errors="replace")) and hook is not None

    async def call(self, environment: str) -> bool:
        """Enqueue a deployment after a signed call; returns False if one is already queued. Raises LimitedError ENV-025."""
        self._limit(environment, self._database.clock)
        return await self._work.enqueue(DEPLOY.name, environment, b"")

    def _limit(self, environment: str, clock: Clock) -> None:
        now_s = clock.monotonic_s()
        calls = [at_s for at_s in self._calls.get(environment, []) if now_s - at_s < 60.0]
        if len(calls) >= MAX_CALLS_PER_MINUTE:
            raise issues.HOOK_TOO_OFTEN.error(environment=environment, limit=MAX_CALLS_PER_MINUTE)
        self._calls[environment] = [*calls, now_s]

    async def work_off(self, owner: str) -> int:
        """Deploy queued environments; returns how many."""
        claims = await self._work.claim(DEPLOY.name, owner, limit=1, lease_s=LEASE_S)
        for claim in claims:
            await self._process(claim)
        return len(claims)

    async def run(self, owner: str) -> None:
        """Process the queue for ever. Cancelling is safe: a claimed item becomes free when its lease expires."""
        await asyncio.to_thread(remove_leftovers, self._spool, PREFIX)
        await run_worker(self._database, lambda: self.work_off(owner), DEPLOY)

    async def _process(self, claim: Claim) -> None:
        hook = self._hooks.get(claim.key)
        if hook is None:  # another server has the hook, or it was removed from the file
            await self._work.fail(claim, "this server has no such hook")
            return
        extension = asyncio.create_task(self._extend_lease(claim))
        try:
            answer = await self._deploy(claim.key, hook, f"hook:{claim.key}")
            log.info("the hook of %s deployed version %d", claim.key, answer.current.number)
            await self._work.complete(claim)
        except PrecastError as error:
            log.warning("the hook of %s could not deploy it: %s", claim.key, error.message)
            if error.kind in (Kind.UNAVAILABLE, Kind.LIMITED, Kind.CONFLICT):
                await self._work.fail(claim, f"{error.message} [{error.code}]")
            else:  # the same commit would fail again
                await self._database.write(self._record_refusal, claim, error)
        finally:
            extension.cancel()

    async def _extend_lease(self, claim: Claim) -> None:
        while True:
            await asyncio.sleep(EXTEND_S)
            await self._work.extend(claim, LEASE_S)

    async def deploy(self, environment: str, actor: str) -> DeployAnswer:
        """Deploy an environment from the repository of its hook for a person, without waiting for a call.

        Raises NotFoundError ENV-042, LimitedError ENV-025, and what fetching, verifying and deploying raise.
        """
        hook = self._hooks.get(environment)
        if hook is None:
            raise issues.NO_REPOSITORY.error(environment=environment[:100])
        self._limit(environment, self._database.clock)
        return await self._deploy(environment, hook, actor)

    async def _deploy(self, environment: str, hook: Hook, actor: str) -> DeployAnswer:
        """Fetch the ref of the hook, verify its signature if the environment requires one, and deploy it."""
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=self._spool) as directory:
            fetched = await self._fetcher.fetch(hook.repository, hook.ref, hook_policy(hook), Path(directory))
            signer = await self._signing.verify(environment, fetched, hook.ref)
            await self._store_missing(fetched.tree, fetched.places, ContentScope(environment, ()))
            source = f"{redact_address(hook.repository)} {hook.ref}"
            body = DeployBody(fetched.tree.version, source, fetched.commit)
            return await self._environments.deploy(environment, body, actor, (), signer)

    async def _store_missing(self, tree: FileTree, places: Mapping[str, Path], scope: ContentScope) -> None:
        """Store the content of a tree that is missing, as an upload does."""
        wanted = [*tree.digests, tree.version]
        sizes: dict[str, int] = {file.digest: file.size for file in tree.files.values()}
        missing: list[str] = []
        for start in range(0, len(wanted), MAX_DIGESTS):
            missing += await self._content.find_missing(wanted[start : start + MAX_DIGESTS], scope)

        async def frames() -> AsyncIterator[bytes]:
            for digest in missing:
                if digest == tree.version:
                    data = tree.encode()
                    yield encode_header(digest, len(data)) + data
                    continue
                yield encode_header(digest, sizes[digest])
                with open_regular(places[digest]) as file:
                    while part := file.read(READ_BYTES):
                        yield part

        await self._content.receive(frames(), scope)

    def _record_refusal(self, claim: Claim, error: PrecastError) -> Transaction[None]:
        yield from self._work.complete_claim(claim)
        reason = f"{error.message} [{error.code}]"[:MAX_REASON_CHARS]
        yield from self._audit.add(f"hook:{claim.key}", "environment.refuse", claim.key, reason=reason)
