"""Environments: a tree becomes current whole or not at all, and what was current can be so again.

Everything slow (sending files, reading them, checking code) happens before the one transaction that makes a version current: it
notes who did it, names the content so that it stays, and asks for all nodes of the environment to be decided anew. A server that
dies before leaves the version before; content that was sent is found when somebody tries again.
"""

import asyncio
import re
from collections.abc import Sequence

import msgspec

from precast.base.errors import PrecastError
from precast.lang.compiler.environment import FILE as SETTINGS
from precast.services import texts
from precast.services.code import checks as code_checks
from precast.services.code import issues as issues
from precast.services.code.check_child import Report
from precast.services.code.content import ContentService, owner_of_tree
from precast.services.code.trees import File, Tree, difference
from precast.services.work_kinds import REDECIDE
from precast.store import issues as store_issues
from precast.store.code.blobs import Blobs
from precast.store.code.environments import Arrival, Environment, Environments, EnvironmentVersion
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
    RollbackBody,
    VersionRow,
)

POLICIES = ("manual", "automatic")
HISTORY = 50
LISTED = 500
TRIES = 3
_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
NEWEST = 2**53


class EnvironmentService:
    """Deploys and rolls back; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        environments: Environments,
        blobs: Blobs,
        content: ContentService,
        work: WorkQueue,
        audit: AuditLog,
    ) -> None:
        self._database = database
        self._environments = environments
        self._blobs = blobs
        self._content = content
        self._work = work
        self._audit = audit

    async def everyone(self, after: str, allowed: Sequence[str]) -> list[EnvironmentRow]:
        """Environments by name, a page of them; only those that are allowed, if that is not empty."""
        rows = [_row(one) for one in await self._environments.list(after, LISTED)]
        return [one for one in rows if not allowed or one.name in allowed]

    async def show(self, name: str) -> EnvironmentView:
        """An environment and what was current. Raises NotFoundError ENV-005."""
        found, versions = await self._database.read(self._showing, name)
        tree = await self._tree(found.current.version)
        size = sum(file.size for file in tree.files.values())
        rows = [_version(one) for one in versions]
        return EnvironmentView(name, found.policy, _version(found.current), len(tree.files), size, rows)

    async def deploy(self, name: str, body: DeployBody, actor: str) -> DeployAnswer:
        """Make a tree current, if its content is here and its code can be read.

        Raises InputError ENV-001, ENV-002, ENV-003, ENV-008; ConflictError ENV-007 if content is missing. Cancelling is safe: it is
        current or it is not.
        """
        check_name(name)
        texts.check("the source", body.source)
        if body.commit is not None and not _COMMIT.fullmatch(body.commit):
            raise issues.BAD_COMMIT.error(commit=repr(body.commit[:80]))
        tree = await self._tree(body.version)
        current = await self._environments.current(name)
        if current is not None and current.version == body.version:
            return DeployAnswer(_version(current), False, len(tree.files), 0)
        known = await self._tree(current.version) if current is not None else None
        await self._check_content(tree)
        warnings = await self._look_at_settings(name, tree)
        checked = code_checks.to_check(tree, known)
        report = await code_checks.check_files(name, checked, self._content.read)
        if report.error_count:
            raise issues.BROKEN_TREE.error(environment=name, count=report.error_count, problems=_problems(report))
        arrival = Arrival(name, body.version, body.source, body.commit, actor)
        now, is_new = await self._arrive(arrival, tree)
        warnings += [one.line_of("warning") for one in report.warnings]
        return DeployAnswer(_version(now), is_new, len(tree.files), len(checked), warnings)

    async def roll_back(self, name: str, body: RollbackBody, actor: str) -> DeployAnswer:
        """Make an earlier version current again, under a new number. Raises NotFoundError ENV-005, ENV-006."""
        check_name(name)
        texts.check("the reason", body.why)
        found, versions = await self._database.read(self._showing, name)
        number = body.number or next((one.number for one in versions if one.version != found.current.version), 0)
        chosen = await self._numbered(name, number)
        if chosen.version == found.current.version:
            tree = await self._tree(chosen.version)
            return DeployAnswer(_version(found.current), False, len(tree.files), 0)
        tree = await self._tree(chosen.version)
        why = f": {body.why}" if body.why else ""
        source = f"back to {chosen.number}{why}"
        now, is_new = await self._arrive(Arrival(name, chosen.version, source, chosen.commit_id, actor), tree)
        return DeployAnswer(_version(now), is_new, len(tree.files), 0)

    async def set_policy(self, name: str, policy: str, actor: str) -> EnvironmentRow:
        """Say what happens with what was compiled. Raises InputError ENV-016, NotFoundError ENV-005."""
        if policy not in POLICIES:
            raise issues.BAD_POLICY.error(policy=repr(policy[:80]))
        return _row(await self._database.write(self._setting_policy, name, policy, actor))

    async def differ(self, name: str, before: int, after: int) -> DifferenceAnswer:
        """How two versions differ; 0 stands for the current one, and as `before` for the one before the other.

        Raises NotFoundError ENV-005, ENV-006.
        """
        found, _ = await self._database.read(self._showing, name)
        new = await self._numbered(name, after or found.current.number)
        if not before:
            older = await self._database.read(self._environments.history, name, new.number, 1)
            before = older[0].number if older else 0
        old = await self._numbered(name, before)
        changes = difference(await self._tree(old.version), await self._tree(new.version))
        rows = [FileChange(one.path, _file(one.before), _file(one.after)) for one in changes]
        return DifferenceAnswer(_version(old), _version(new), rows)

    async def is_of(self, name: str, digest: str) -> bool:
        """Whether a version that the environment retains has a file of this digest."""
        return await self._database.read(self._naming, name, digest)

    async def _tree(self, version: str) -> Tree:
        try:
            # Of a large tree that takes a good part of a second: others are served meanwhile.
            return await asyncio.to_thread(Tree.decode, await self._content.read(version))
        except PrecastError as error:
            if issues.NO_CONTENT.matches(error):
                raise issues.MISSING_CONTENT.error(count=1, first="its manifest") from None
            raise

    async def _check_content(self, tree: Tree) -> None:
        """All files are here, as large as the tree says."""
        sizes = await self._database.read(self._blobs.sizes, tree.digests)
        missing = [path for path, file in sorted(tree.files.items()) if file.digest not in sizes]
        if missing:
            raise issues.MISSING_CONTENT.error(count=len(missing), first=missing[0])
        for path, file in tree.files.items():
            if sizes[file.digest] != file.size:
                raise issues.BAD_TREE.error(reason=f"{path} has {sizes[file.digest]} bytes, not {file.size}")

    async def _look_at_settings(self, name: str, tree: Tree) -> list[str]:
        """What is to be said of environment.conf. Raises InputError ENV-008 if no compile could use it."""
        file = tree.files.get(SETTINGS)
        if file is None:
            return []
        text = await self._content.read(file.digest) if file.size <= code_checks.MAX_CODE_BYTES else b"\xff"
        try:
            return code_checks.look_at_settings(tree, text)
        except PrecastError as error:
            line = f"{SETTINGS}: error: {error.message} [{error.code}]"
            raise issues.BROKEN_TREE.error(environment=name, count=1, problems=line) from None

    async def _arrive(self, arrival: Arrival, tree: Tree) -> tuple[EnvironmentVersion, bool]:
        named = [*tree.digests, arrival.version]
        for _ in range(TRIES):
            try:
                found = await self._database.write(self._arriving, arrival, named)
            except PrecastError as error:
                if store_issues.CONSTRAINT.matches(error):  # content was collected after we looked
                    raise issues.MISSING_CONTENT.error(count=1, first="one of them") from None
                raise
            if found is not None:
                return found
        raise issues.DEPLOYED_MEANWHILE.error(environment=arrival.environment)

    def _arriving(self, arrival: Arrival, named: Sequence[str]) -> Transaction[tuple[EnvironmentVersion, bool] | None]:
        """None if another was first to make the environment."""
        taken = yield from self._environments.taking(arrival.environment)
        is_new = taken is None or taken[0] != arrival.version
        number = 1 if taken is None else taken[1] + 1
        if is_new:
            owner = owner_of_tree(arrival.version)
            yield from self._blobs.referring(owner, named)
            if not (yield from self._environments.arriving(arrival, number)):
                return None
            yield from self._work.enqueuing(REDECIDE.name, arrival.environment, b"")
            yield from self._audit.adding(
                arrival.deployed_by,
                "environment.deploy",
                arrival.environment,
                version=arrival.version,
                number=number,
                source=arrival.source,
                commit=arrival.commit_id,
            )
        found = yield from self._environments.showing(arrival.environment)
        assert found is not None, "it was just written"
        return found.current, is_new

    def _setting_policy(self, name: str, policy: str, actor: str) -> Transaction[Environment]:
        if (yield from self._environments.setting_policy(name, policy)):
            yield from self._audit.adding(actor, "environment.policy", name, policy=policy)
        found, _ = yield from self._showing(name)
        return found

    def _showing(self, name: str) -> Transaction[tuple[Environment, list[EnvironmentVersion]]]:
        found = (yield from self._environments.showing(name)) if _NAME.fullmatch(name) else None
        if found is None:
            raise issues.NO_ENVIRONMENT.error(name=name[:100])
        return found, (yield from self._environments.history(name, NEWEST, HISTORY))

    async def _numbered(self, name: str, number: int) -> EnvironmentVersion:
        found = await self._database.read(self._environments.numbered, name, number) if 0 < number < NEWEST else None
        if found is None:
            raise issues.NO_VERSION.error(name=name, number=number or "before that")
        return found

    def _naming(self, name: str, digest: str) -> Transaction[bool]:
        for version in (yield from self._environments.versions(name, LISTED)):
            if (yield from self._blobs.refers(owner_of_tree(version), digest)):
                return True
        return False


def check_name(name: str) -> None:
    """Raises InputError ENV-001."""
    if not _NAME.fullmatch(name):
        raise issues.BAD_NAME.error(name=repr(name[:100]))


def _problems(report: Report) -> str:
    more = report.error_count - len(report.errors)
    lines = [one.line_of("error") for one in report.errors]
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])


def _version(found: EnvironmentVersion) -> VersionRow:
    return msgspec.convert(found, VersionRow, from_attributes=True)


def _row(found: Environment) -> EnvironmentRow:
    return EnvironmentRow(found.name, found.policy, _version(found.current))


def _file(found: File | None) -> FileRow | None:
    return None if found is None else FileRow(*found)
