"""Creates actions: checks what was requested, finds the nodes and their environment, and has commands sealed.

A command that is due once has a seal of the signer for each node; one that is due again, or whose nodes are found at the start, has a
standing seal, which is valid for its action until a time. The signer refuses both once the owner's token is revoked.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from precast.base.ids import Ids
from precast.services import texts
from precast.services.actions import issues
from precast.services.actions.approved_actions import ApprovedActions
from precast.services.actions.descriptions import describe_action
from precast.services.actions.parameters import fill_in
from precast.services.actions.plan_runs import PlanActions, require_plan_kind
from precast.services.actions.requests import make_request
from precast.services.actions.rights import ActionRights
from precast.services.actions.starting import ActionStarter
from precast.services.actions.stored import (
    ParseCron,
    SealedJob,
    StandingCommand,
    StoredAction,
    check_times,
    first_due,
    make_schedule,
    may_own,
    needed_roles,
)
from precast.services.actions.views import ActionViews
from precast.services.approvals.approvals import Participant
from precast.services.identity.signer.messages import Credential
from precast.services.identity.signer.verbs.commands import LONGEST
from precast.services.jobs.sealed_commands import CommandSigner, NewCommand, seal_command, seal_standing
from precast.services.query.targets import parse_targets
from precast.store.actions import actions as store
from precast.store.actions.actions import ActionRow, Actions
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionTimes, ActionView, NewAction

MAX_UNENDED = 100_000
NAMES_SHOWN = 20
# A command is due so long before the signer stops to sign its orders: the job takes its time.
MARGIN = timedelta(days=1)
_FOREVER = datetime(9999, 1, 1, tzinfo=UTC)


class _Placement(NamedTuple):
    """Where an action belongs: the nodes that match now with their environments, and the action's environment."""

    environment_of: Mapping[str, str]
    environment: str | None


class _Sealed(NamedTuple):
    stored: StoredAction
    seals: Mapping[str, bytes]


class ActionCreation:
    """Holds no state between calls."""

    def __init__(
        self,
        database: Database,
        actions: Actions,
        starter: ActionStarter,
        rights: ActionRights,
        approved: ApprovedActions,
        views: ActionViews,
        plans: PlanActions,
        audit: AuditLog,
        ids: Ids,
        signer: CommandSigner,
        parse_cron: ParseCron,
    ) -> None:
        self._database, self._actions, self._starter, self._rights = database, actions, starter, rights
        self._approved, self._views, self._audit, self._ids = approved, views, audit, ids
        self._plans, self._signer, self._parse_cron = plans, signer, parse_cron

    async def create(self, new: NewAction, owner: Participant, credential: Credential | None = None) -> ActionView:
        """Create an action, which is scheduled at once, or when other people have approved it.

        Raises what targets, cron expressions and the signer raise, InputError ACTION-004 to -006, -008, -010, RUN-003, DeniedError
        ACTION-003, -007, -014, ConflictError ACTION-009, LimitedError ACTION-011.
        """
        self._check(new, owner)
        argv = fill_in(new.work.argv, new.work.parameters) if new.work.kind == bodies.COMMAND else []
        place = await self._place(new, owner)
        action_id = self._ids.new()
        if new.work.kind in bodies.PLAN_KINDS:
            sealed = await self._seal_plan(action_id, new, place.environment_of, owner, credential)
        else:
            sealed = await self._seal(action_id, new, argv, list(place.environment_of), owner, credential)
        action = ActionRow(
            action_id,
            new.name,
            new.work.kind,
            sealed.stored.encode(),
            place.environment,
            owner.actor,
            owner.token,
            self._database.clock.now(),
            store.ACTIVE,
            None,
            0,
            new.times.on,
            None,
        )
        return await self._database.write(self._store, action, sealed, place, owner)

    def _check(self, new: NewAction, owner: Participant) -> None:
        for what, text in (("the reason", new.why), ("the name", new.name), *(("a tag", tag) for tag in new.work.tags)):
            texts.check(what, text)
        if not may_own(owner.role, new.work.kind):
            role = " or ".join(needed_roles(new.work.kind))
            raise issues.ROLE_NEEDED.error(what="create", kind=new.work.kind, role=role)
        if new.work.kind in bodies.PLAN_KINDS:
            require_plan_kind(new)
        if not owner.token:
            raise issues.NO_OWNER.error()
        parse_targets(new.nodes)
        check_times(new, make_schedule(new.times, self._parse_cron), self._database.clock)
        if new.work.kind == bodies.COMMAND:
            make_request(StoredAction(new, new.work.argv or [""]), 1)

    async def _place(self, new: NewAction, owner: Participant) -> _Placement:
        found = await self._starter.resolve(new.nodes, may_be_none=new.resolve == "start")
        allowed = owner.environments
        if allowed and not set(found.values()) <= set(allowed):
            raise issues.OTHER_ENVIRONMENT.error()
        environments = sorted(set(found.values())) or list(allowed)
        if len(environments) == 1:
            return _Placement(found, environments[0])
        if allowed:
            reason = "a token for some environments makes actions for one of them"
            raise issues.SEVERAL_ENVIRONMENTS.error(environments=", ".join(environments[:5]), reason=reason)
        return _Placement(found, None)

    async def _seal(
        self,
        action_id: str,
        new: NewAction,
        argv: Sequence[str],
        nodes: Sequence[str],
        owner: Participant,
        credential: Credential | None,
    ) -> _Sealed:
        stored = StoredAction(new, list(argv))
        if new.work.kind != bodies.COMMAND:
            return _Sealed(stored, {})
        now, times = self._database.clock.now(), new.times
        is_repeated = times.cron is not None or times.on is not None or new.resolve == "start"
        standing_until = self._find_standing_end(times, credential)
        command = NewCommand(self._ids.new(), 1, make_request(stored, max(1, len(nodes))), nodes, owner.actor)
        if not is_repeated:
            sealed = await seal_command(self._signer, command, credential, times.at or now)
            assert sealed.request.sealed_until is not None, "it was just sealed"
            job = SealedJob(command.job, sealed.request.sealed_until)
            return _Sealed(msgspec.structs.replace(stored, sealed=job), sealed.seals)
        standing = command._replace(job=action_id, nodes=nodes if new.resolve == "now" else ())
        seals = await seal_standing(self._signer, standing, standing_until, credential)
        body = StandingCommand(standing_until, seals.get(""))
        return _Sealed(msgspec.structs.replace(stored, standing=body), seals)

    async def _seal_plan(
        self,
        action_id: str,
        new: NewAction,
        nodes: Mapping[str, str],
        owner: Participant,
        credential: Credential | None,
    ) -> _Sealed:
        """Check the plan over the nodes that match now, and have its commands sealed. Without any node it is checked at the start only."""
        prepared = await self._plans.check(new, owner, nodes) if nodes else None
        if prepared is None or not prepared.commands:
            return _Sealed(StoredAction(new), {})
        until = self._find_standing_end(new.times, credential)
        seals = await self._plans.seal(self._signer, action_id, new, prepared, owner, until, credential)
        standing = StandingCommand(until, seals.pop("", None))
        return _Sealed(StoredAction(new, standing=standing, runs_commands=True), seals)

    def _find_standing_end(self, times: ActionTimes, credential: Credential | None) -> datetime:
        """Until when a standing seal is valid: not longer than the token of the person who orders it. Raises InputError ACTION-010."""
        now = self._database.clock.now()
        last_at = (times.until if times.cron is not None or times.on is not None else times.at or now) or _FOREVER
        if last_at > now + LONGEST - MARGIN:
            raise issues.COMMAND_NOT_SEALED.error(days=(LONGEST - MARGIN).days)
        return min(last_at + MARGIN, _FOREVER if credential is None else credential.record.expires_at)

    def _store(
        self, action: ActionRow, sealed: _Sealed, place: _Placement, owner: Participant
    ) -> Transaction[ActionView]:
        new = sealed.stored.new
        count = yield from self._actions.count_unended()
        if count >= MAX_UNENDED:
            raise issues.TOO_MANY_ACTIONS.error(count=count)
        nodes = list(place.environment_of) if new.resolve == "now" else None
        needed = yield from self._count_approvals(new, place)
        if needed:
            request = yield from self._approved.request(action, needed, nodes, owner)
            action = msgspec.structs.replace(action, state=store.AWAITING_APPROVAL, request=request.id)
        else:
            schedule = make_schedule(new.times, self._parse_cron)
            next_at = first_due(new.times, schedule, self._database.clock.now())
            action = msgspec.structs.replace(action, next_at=next_at)
        yield from self._actions.add(action, [(node, sealed.seals.get(node)) for node in nodes or ()])
        yield from self._audit.add(
            owner.actor,
            "action.create",
            action.id,
            kind=action.kind,
            what=describe_action(new, None if nodes is None else len(nodes)),
            why=new.why,
            environment=action.environment or "",
            nodes=list(place.environment_of)[:NAMES_SHOWN],
            argv=sealed.stored.argv,
            overrides_window=new.overrides_window,
        )
        return (yield from self._views.view(action, 1))

    def _count_approvals(self, new: NewAction, place: _Placement) -> Transaction[int]:
        """How many people must approve the action. Raises InputError ACTION-008, ConflictError ACTION-009."""
        environments = sorted({*place.environment_of.values(), *filter(None, [place.environment])})
        needed = 0
        for environment in environments:
            needed = max(needed, (yield from self._rights.count_approvals(new.work, environment)))
            if new.work.kind == bodies.RELEASE and (yield from self._rights.needs_release_approval(environment)):
                raise issues.RELEASE_NEEDS_APPROVAL.error(environment=environment)
        if needed and place.environment is None:
            reason = "one of them requires approvals"
            raise issues.SEVERAL_ENVIRONMENTS.error(environments=", ".join(environments[:5]), reason=reason)
        return needed
