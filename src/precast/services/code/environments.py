"""Environments: deploying a file tree is atomic, and an earlier version can be made current again.

Everything slow (uploading files, reading them, checking code) happens before the one transaction that makes a version current. That
transaction records who did it, adds references to the content, and enqueues a decision about all nodes of the environment. If a
server crashes before, the previous version stays current, and a retry finds the content that is already uploaded.
"""

import asyncio
import re
from collections.abc import Sequence

import msgspec

from precast.base.confinement.confine import Level
from precast.base.errors import PrecastError
from precast.lang.compiler.environment import FILE as SETTINGS
from precast.services import texts
from precast.services.code import checks as code_checks
from precast.services.code import issues
from precast.services.code.check_child import CheckReport
from precast.services.code.content import ContentScope, ContentService, tree_owner
from precast.services.code.file_trees import FileTree, TreeFile, compare_trees
from precast.services.code.signatures import Signer
from precast.services.code.signing import SigningService
from precast.services.work_kinds import REDECIDE
from precast.store import issues as store_issues
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Environment, Environments, EnvironmentVersion, NewVersion
from precast.store.code.signing import EnvironmentSigning
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.queue.queue import WorkQueue
from precast.wire.code.environments import (
    DeployAnswer,
    DeployBody,
    DifferenceAnswer,
    EnvironmentRow,
    EnvironmentView,
    FileChange,
    FileRow,
    RequiredApprovalsBody,
    VersionRollback,
    VersionRow,
)

AUTOMATIC = "automatic"
POLICIES = ("manual", AUTOMATIC)
MAX_APPROVALS = 10
HISTORY = 50
PAGE = 500
MAX_TRIES = 3
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
NEWEST = 2**53


class EnvironmentService:
    """Deploys environments and rolls them back; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        environments: Environments,
        blobs: Blobs,
        content: ContentService,
        work: WorkQueue,
        audit: AuditLog,
        level: Level = Level.STRICT,
    ) -> None:
        self._database = database
        self._level = level
        self._environments = environments
        self._blobs = blobs
        self._content = content
        self._work = work
        self._audit = audit
        self._signing = SigningService(database, EnvironmentSigning(database), audit)

    async def list_page(self, after: str, allowed: Sequence[str]) -> list[EnvironmentRow]:
        """List a page of environments by name; only the allowed ones, unless `allowed` is empty."""
        rows = [_row(environment) for environment in await self._environments.list(after, PAGE)]
        return [row for row in rows if not allowed or row.name in allowed]

    async def show(self, name: str) -> EnvironmentView:
        """Show an environment and its earlier versions. Raises NotFoundError ENV-005."""
        environment, versions = await self._database.read(self._find, name)
        tree = await self._read_tree(environment.current.version)
        size = sum(file.size for file in tree.files.values())
        rows = [_version_row(version) for version in versions]
        current = _version_row(environment.current)
        approvals = environment.release_approvals, environment.action_approvals
        return EnvironmentView(name, environment.policy, current, len(tree.files), size, rows, *approvals)

    async def deploy(
        self, name: str, body: DeployBody, actor: str, readable: Sequence[str], signer: Signer | None = None
    ) -> DeployAnswer:
        """Make a tree current, if its content is stored and visible to the caller, and its code has no errors.

        `readable` are the environments that the caller may read; none means all. Content that only other environments have counts as
        missing. `signer` has signed what the server itself has fetched. Raises DeniedError ENV-041 if that is required and there is
        none, InputError ENV-001, ENV-002, ENV-003, ENV-008; ConflictError ENV-007 if content is missing. Cancelling is safe:
        the tree becomes current or it does not.
        """
        check_name(name)
        texts.check("the source", body.source)
        if body.commit is not None and not _COMMIT.fullmatch(body.commit):
            raise issues.BAD_COMMIT.error(commit=repr(body.commit[:80]))
        await self._database.read(self._signing.require, name, signer, "an upload")
        scope = ContentScope(name, tuple(readable))
        if not await self._database.read(self._content.find_visible, [body.version], scope):
            raise issues.MISSING_CONTENT.error(count=1, first="its manifest")
        tree = await self._read_tree(body.version)
        current = await self._environments.find_current(name)
        if current is not None and current.version == body.version:
            return DeployAnswer(_version_row(current), False, len(tree.files), 0)
        known = await self._read_tree(current.version) if current is not None else None
        await self._check_content(tree, scope)
        warnings = await self._check_settings(name, tree)
        checked = code_checks.select_changed_files(tree, known)
        report = await code_checks.check_files(name, checked, self._content.read, self._level)
        if report.error_count:
            raise issues.BROKEN_TREE.error(environment=name, count=report.error_count, problems=_problems(report))
        signed = signer if signer is not None else (None, None)
        new_version = NewVersion(name, body.version, body.source, body.commit, actor, *signed)
        deployed, is_new = await self._make_current(new_version, tree)
        warnings += [finding.render("warning") for finding in report.warnings]
        return DeployAnswer(_version_row(deployed), is_new, len(tree.files), len(checked), warnings)

    async def roll_back(self, name: str, body: VersionRollback, actor: str) -> DeployAnswer:
        """Make an earlier version current again, under a new number. Raises NotFoundError ENV-005, ENV-006."""
        check_name(name)
        texts.check("the reason", body.why)
        environment, versions = await self._database.read(self._find, name)
        current = environment.current
        number = body.number or next((row.number for row in versions if row.version != current.version), 0)
        chosen = await self._find_version(name, number)
        tree = await self._read_tree(chosen.version)
        if chosen.version == current.version:
            return DeployAnswer(_version_row(current), False, len(tree.files), 0)
        why = f": {body.why}" if body.why else ""
        source = f"back to {chosen.number}{why}"
        signed = chosen.signer, chosen.signing_key
        new_version = NewVersion(name, chosen.version, source, chosen.commit_id, actor, *signed)
        deployed, is_new = await self._make_current(new_version, tree)
        return DeployAnswer(_version_row(deployed), is_new, len(tree.files), 0)

    async def set_policy(self, name: str, policy: str, actor: str) -> EnvironmentRow:
        """Set the release policy of an environment. Raises InputError ENV-016, NotFoundError ENV-005."""
        if policy not in POLICIES:
            raise issues.BAD_POLICY.error(policy=repr(policy[:80]))
        return _row(await self._database.write(self._set_policy, name, policy, actor))

    async def set_required_approvals(self, name: str, body: RequiredApprovalsBody, actor: str) -> EnvironmentRow:
        """Set how many other people must approve a release, or an action that changes nodes.

        Raises InputError ENV-026, NotFoundError ENV-005, ConflictError ENV-027 while releases are automatic.
        """
        if not 0 <= body.count <= MAX_APPROVALS:
            raise issues.BAD_APPROVALS.error(count=body.count, most=MAX_APPROVALS)
        change = self._set_action_approvals if body.subject == "actions" else self._set_release_approvals
        return _row(await self._database.write(change, name, body.count, actor))

    async def compare(self, name: str, before: int, after: int) -> DifferenceAnswer:
        """Compare two versions. As `after`, 0 means the current version; as `before`, the version that precedes the other.

        Raises NotFoundError ENV-005, ENV-006.
        """
        environment, _ = await self._database.read(self._find, name)
        new = await self._find_version(name, after or environment.current.number)
        if not before:
            older = await self._database.read(self._environments.list_history, name, new.number, 1)
            before = older[0].number if older else 0
        old = await self._find_version(name, before)
        differences = compare_trees(await self._read_tree(old.version), await self._read_tree(new.version))
        rows = [FileChange(change.path, _file_row(change.before), _file_row(change.after)) for change in differences]
        return DifferenceAnswer(_version_row(old), _version_row(new), rows)

    async def has_file(self, name: str, digest: str) -> bool:
        """Whether a stored version of the environment has a file with this digest."""
        return await self._database.read(self._has_file, name, digest)

    async def _read_tree(self, version: str) -> FileTree:
        try:
            # Decoding a large tree takes a good part of a second, so it runs in a thread.
            return await asyncio.to_thread(FileTree.decode, await self._content.read(version))
        except PrecastError as error:
            if issues.NO_CONTENT.matches(error):
                raise issues.MISSING_CONTENT.error(count=1, first="its manifest") from None
            raise

    async def _check_content(self, tree: FileTree, scope: ContentScope) -> None:
        """Raises if the content of a file is missing, or has another size than the tree states."""
        sizes = await self._database.read(self._content.find_visible, tree.digests, scope)
        missing = [path for path, file in sorted(tree.files.items()) if file.digest not in sizes]
        if missing:
            raise issues.MISSING_CONTENT.error(count=len(missing), first=missing[0])
        for path, file in tree.files.items():
            if sizes[file.digest] != file.size:
                raise issues.BAD_TREE.error(reason=f"{path} has {sizes[file.digest]} bytes, not {file.size}")

    async def _check_settings(self, name: str, tree: FileTree) -> list[str]:
        """Check environment.conf; returns warnings. Raises InputError ENV-008 if no compile could use it."""
        file = tree.files.get(SETTINGS)
        if file is None:
            return []
        text = await self._content.read(file.digest) if file.size <= code_checks.MAX_CODE_BYTES else b"\xff"
        try:
            return await asyncio.to_thread(code_checks.check_settings, tree, text)
        except PrecastError as error:
            line = f"{SETTINGS}: error: {error.message} [{error.code}]"
            raise issues.BROKEN_TREE.error(environment=name, count=1, problems=line) from None

    async def _make_current(self, new_version: NewVersion, tree: FileTree) -> tuple[EnvironmentVersion, bool]:
        referenced = [*tree.digests, new_version.version]
        for _ in range(MAX_TRIES):
            try:
                deployed = await self._database.write(self._deploy, new_version, referenced)
            except PrecastError as error:
                if store_issues.CONSTRAINT.matches(error):  # content was deleted after our check
                    raise issues.MISSING_CONTENT.error(count=1, first="one of them") from None
                raise
            if deployed is not None:
                return deployed
        raise issues.CONCURRENT_DEPLOYMENT.error(environment=new_version.environment)

    def _deploy(
        self, new_version: NewVersion, referenced: Sequence[str]
    ) -> Transaction[tuple[EnvironmentVersion, bool] | None]:
        """Make a version current, unless it is; returns None if another transaction has just created the environment."""
        locked = yield from self._environments.lock(new_version.environment)
        is_new = locked is None or locked[0] != new_version.version
        number = 1 if locked is None else locked[1] + 1
        if is_new:
            yield from self._signing.require(new_version.environment, _signer_of(new_version), "this version")
            owner = tree_owner(new_version.version)
            yield from self._blobs.add_references(owner, referenced)
            if not (yield from self._environments.make_current(new_version, number)):
                return None
            yield from self._work.enqueue_item(REDECIDE.name, new_version.environment, b"")
            yield from self._audit.add(
                new_version.deployed_by,
                "environment.deploy",
                new_version.environment,
                version=new_version.version,
                number=number,
                source=new_version.source,
                commit=new_version.commit_id,
                **_signature_detail(new_version),
            )
        environment = yield from self._environments.find(new_version.environment)
        assert environment is not None, "it was just written"
        return environment.current, is_new

    def _set_policy(self, name: str, policy: str, actor: str) -> Transaction[Environment]:
        yield from self._environments.lock(name)
        environment, _ = yield from self._find(name)
        if policy == AUTOMATIC and environment.release_approvals:
            raise issues.APPROVALS_AND_AUTOMATIC.error(environment=name)
        if (yield from self._environments.set_policy(name, policy)):
            yield from self._audit.add(actor, "environment.policy", name, policy=policy)
        environment, _ = yield from self._find(name)
        return environment

    def _set_release_approvals(self, name: str, count: int, actor: str) -> Transaction[Environment]:
        yield from self._environments.lock(name)
        environment, _ = yield from self._find(name)
        if count and environment.policy == AUTOMATIC:
            raise issues.APPROVALS_AND_AUTOMATIC.error(environment=name)
        if (yield from self._environments.set_release_approvals(name, count)):
            before = environment.release_approvals
            yield from self._audit.add(actor, "environment.approvals", name, before=before, after=count)
        environment, _ = yield from self._find(name)
        return environment

    def _set_action_approvals(self, name: str, count: int, actor: str) -> Transaction[Environment]:
        yield from self._environments.lock(name)
        before, _ = yield from self._find(name)
        if (yield from self._environments.set_action_approvals(name, count)):
            detail = {"before": before.action_approvals, "after": count}
            yield from self._audit.add(actor, "environment.action-approvals", name, **detail)
        environment, _ = yield from self._find(name)
        return environment

    def _find(self, name: str) -> Transaction[tuple[Environment, list[EnvironmentVersion]]]:
        environment = yield from require_environment(self._environments, name)
        return environment, (yield from self._environments.list_history(name, NEWEST, HISTORY))

    async def _find_version(self, name: str, number: int) -> EnvironmentVersion:
        version = (
            await self._database.read(self._environments.find_version, name, number) if 0 < number < NEWEST else None
        )
        if version is None:
            raise issues.NO_VERSION.error(name=name, number=number or "before that")
        return version

    def _has_file(self, name: str, digest: str) -> Transaction[bool]:
        for version in (yield from self._environments.list_versions(name, PAGE)):
            if (yield from self._blobs.has_reference(tree_owner(version), digest)):
                return True
        return False


def is_environment_name(name: str) -> bool:
    """Whether an environment could have this name: the database is asked for no other."""
    return _NAME.fullmatch(name) is not None


def require_environment(environments: Environments, name: str) -> Transaction[Environment]:
    """Find an environment. Raises NotFoundError ENV-005."""
    environment = (yield from environments.find(name)) if is_environment_name(name) else None
    if environment is None:
        raise issues.NO_ENVIRONMENT.error(name=name[:100])
    return environment


def check_name(name: str) -> None:
    """Raises InputError ENV-001."""
    if not is_environment_name(name):
        raise issues.BAD_NAME.error(name=repr(name[:100]))


def _signer_of(new_version: NewVersion) -> Signer | None:
    if new_version.signer is None or new_version.signing_key is None:
        return None
    return Signer(new_version.signer, new_version.signing_key)


def _signature_detail(new_version: NewVersion) -> dict[str, str]:
    """Who signed, for the audit log."""
    signer = _signer_of(new_version)
    return {} if signer is None else {"signer": signer.principal, "key": signer.key}


def _problems(report: CheckReport) -> str:
    more = report.error_count - len(report.errors)
    lines = [finding.render("error") for finding in report.errors]
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])


def _version_row(version: EnvironmentVersion) -> VersionRow:
    return msgspec.convert(version, VersionRow, from_attributes=True)


def _row(environment: Environment) -> EnvironmentRow:
    current = _version_row(environment.current)
    approvals = environment.release_approvals, environment.action_approvals
    return EnvironmentRow(environment.name, environment.policy, current, *approvals)


def _file_row(file: TreeFile | None) -> FileRow | None:
    return None if file is None else FileRow(*file)
