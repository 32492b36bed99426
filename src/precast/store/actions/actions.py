"""Actions: one row for each, its nodes if they were resolved when it was created, and one row for each due time.

An action with `next_at` is looked at by a scheduler at that time. A due time that is decided never changes again.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.actions import queries as queries
from precast.store.engine.database import Database
from precast.store.engine.query import Row, Transaction, Wake

# Topics: a scheduler has something to do; an action (prefix + id) has changed for those who watch it.
DUE_TOPIC = "action-due"
CHANGED_PREFIX = "action-changed."

AWAITING_APPROVAL, ACTIVE, PAUSED, ENDED, CANCELLED = "awaiting-approval", "active", "paused", "ended", "cancelled"
OVER = (ENDED, CANCELLED)
# States of due times: the first two are open.
DUE, QUEUED, STARTED, SKIPPED, MISSED, FAILED = "due", "queued", "started", "skipped", "missed", "failed"
# Why a due time exists.
BY_TIME, BY_PERSON, BY_RETURN, BY_ENROLMENT = "time", "person", "return", "enrolment"
# Due times that are deleted in one transaction.
DELETE_DUE_BATCH = 500


class ActionRow(msgspec.Struct, frozen=True):
    """An action as it is stored."""

    id: str
    name: str
    kind: str
    body: bytes
    environment: str | None
    made_by: str
    token: str
    made_at: datetime
    state: str
    request: str | None
    approvals: int
    event: str | None
    next_at: datetime | None
    ended_at: datetime | None = None
    message: str | None = None


class ActionState(NamedTuple):
    """The part of an action that changes."""

    state: str
    next_at: datetime | None = None
    message: str | None = None
    ended_at: datetime | None = None


class DueRow(msgspec.Struct, frozen=True):
    """A due time as it is stored."""

    action: str
    due_at: datetime
    node: str
    cause: str
    state: str
    count: int = 1
    job: str | None = None
    message: str | None = None
    decided_at: datetime | None = None


class Actions:
    """The actions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _now(self) -> int:
        return to_micros(self._database.clock.now())

    # Creating, reading and changing

    def add(self, action: ActionRow, nodes: Iterable[tuple[str, bytes | None]]) -> Transaction[None]:
        """Add an action, with its nodes and their seals if the nodes are known."""
        yield queries.ADD(
            id=action.id,
            name=action.name,
            kind=action.kind,
            body=action.body,
            environment=action.environment,
            actor=action.made_by,
            token=action.token,
            now=to_micros(action.made_at),
            state=action.state,
            request_id=action.request,
            event=action.event,
            next_at=_optional(action.next_at),
        )
        yield queries.ADD_NODE.many(
            {"action": action.id, "place": place, "node": node, "seal": seal}
            for place, (node, seal) in enumerate(nodes)
        )
        yield Wake(DUE_TOPIC)

    def find(self, action: str) -> Transaction[ActionRow | None]:
        rows = yield queries.SHOW(id=action)
        return _action(rows[0]) if rows else None

    def lock(self, action: str) -> Transaction[ActionRow | None]:
        """Find an action and lock it until the commit."""
        rows = yield queries.LOCK(id=action)
        return _action(rows[0]) if rows else None

    def list_newest(self, environments: Sequence[str], before: str, limit: int) -> Transaction[list[ActionRow]]:
        """List actions below an id, the newest first: those of these environments, all if there are none."""
        if not environments:
            return [_action(row) for row in (yield queries.LIST(before=before, limit=limit))]
        rows: list[ActionRow] = []
        for environment in environments:
            found = yield queries.LIST_OF(environment=environment, before=before, limit=limit)
            rows += [_action(row) for row in found]
        return sorted(rows, key=lambda row: row.id, reverse=True)[:limit]

    def count_unended(self) -> Transaction[int]:
        ((count,),) = yield queries.COUNT_UNENDED()
        return int(count)

    def list_nodes(self, action: str) -> Transaction[dict[str, bytes | None]]:
        """The nodes that were resolved when the action was created, in their order, with their seals."""
        return {node: None if seal is None else bytes(seal) for node, seal in (yield queries.NODES(action=action))}

    def count_nodes(self, action: str) -> Transaction[int]:
        ((count,),) = yield queries.COUNT_NODES(action=action)
        return int(count)

    def set_state(self, action: str, new: ActionState) -> Transaction[None]:
        """Set the state of an action that is locked."""
        yield queries.SET_STATE(id=action, **_values(new))
        yield Wake(DUE_TOPIC)
        yield Wake(CHANGED_PREFIX + action)

    def approve(self, action: str, approvals: int, next_at: datetime | None) -> Transaction[bool]:
        """Activate an action that awaits its approval; False if it does not."""
        rows = yield queries.APPROVE(id=action, count=approvals, next_at=_optional(next_at))
        yield Wake(DUE_TOPIC)
        yield Wake(CHANGED_PREFIX + action)
        return bool(rows)

    def end_unapproved(self, before: datetime, message: str) -> Transaction[None]:
        """Cancel the actions that were created before a time and still await their approval."""
        yield queries.END_UNAPPROVED(before_at=to_micros(before), message=message, now=self._now())

    # Scheduling

    async def find_next(self) -> tuple[datetime | None, datetime | None]:
        """When the next action is due, and the first due time that is to be handled."""
        return await self._database.read(self._find_next)

    def _find_next(self) -> Transaction[tuple[datetime | None, datetime | None]]:
        ((next_at, open_at),) = yield queries.NEXT()
        return from_optional_micros(next_at), from_optional_micros(open_at)

    def list_due(self, after: ActionRow | None, limit: int) -> Transaction[list[ActionRow]]:
        """List actions whose time has come, by that time, after one of them."""
        after_at = -1 if after is None or after.next_at is None else to_micros(after.next_at)
        after_id = "" if after is None else after.id
        rows = yield queries.LIST_DUE(now=self._now(), after_at=after_at, after_id=after_id, limit=limit)
        return [_action(row) for row in rows]

    def move(self, seen: ActionRow, new: ActionState) -> Transaction[bool]:
        """Move an active action on from the time at which it was seen; False if another scheduler has, or it is not active any more."""
        assert seen.next_at is not None, "an action without a time is not due"
        rows = yield queries.MOVE(id=seen.id, seen_at=to_micros(seen.next_at), **_values(new))
        if rows:
            yield Wake(CHANGED_PREFIX + seen.id)
        return bool(rows)

    def add_due(self, due: DueRow) -> Transaction[bool]:
        """Add a due time; False if it exists."""
        rows = yield queries.ADD_DUE(
            action=due.action,
            due_at=to_micros(due.due_at),
            node=due.node,
            cause=due.cause,
            state=due.state,
            count=due.count,
            job_id=due.job,
            message=due.message,
            decided_at=None if due.state in (DUE, QUEUED) else self._now(),
        )
        if due.state in (DUE, QUEUED):
            yield Wake(DUE_TOPIC)
        yield Wake(CHANGED_PREFIX + due.action)
        return bool(rows)

    def add_event(self, node: str, event: str) -> Transaction[int]:
        """Add a due time of a node for every active action that waits for this event. Returns how many."""
        rows = yield queries.ADD_EVENT(node=node, event=event, now=self._now())
        if rows:
            yield Wake(DUE_TOPIC)
        return len(rows)

    def list_open(self, after: DueRow | None, limit: int) -> Transaction[list[DueRow]]:
        """List the due times that are to be handled, by time, after one of them."""
        place = (-1, "", "") if after is None else (to_micros(after.due_at), after.action, after.node)
        rows = yield queries.LIST_OPEN(after_at=place[0], action=place[1], node=place[2], limit=limit)
        return [_due(row) for row in rows]

    def list_open_of(self, action: str) -> Transaction[set[DueRow]]:
        """The due times of one action that are to be handled."""
        return {_due(row) for row in (yield queries.LIST_OPEN_OF(action=action))}

    def decide(self, due: DueRow, state: str, job: str | None, message: str | None) -> Transaction[bool]:
        """Decide an open due time; False if it is decided."""
        rows = yield queries.DECIDE(
            action=due.action,
            due_at=to_micros(due.due_at),
            node=due.node,
            state=state,
            job_id=job,
            message=message,
            now=self._now(),
        )
        yield Wake(CHANGED_PREFIX + due.action)
        return bool(rows)

    def decide_all(self, due: Sequence[DueRow], state: str, job: str | None, message: str | None) -> Transaction[None]:
        """Decide open due times alike."""
        for row in due:
            yield from self.decide(row, state, job, message)

    def decide_open(self, action: str, state: str, message: str) -> Transaction[None]:
        """Decide all open due times of an action."""
        yield queries.DECIDE_OPEN(action=action, state=state, message=message, now=self._now())

    def has_open(self, action: str) -> Transaction[bool]:
        """Whether a due time of all nodes of the action is to be handled."""
        return bool((yield queries.HAS_OPEN(action=action)))

    def list_dues(self, action: str, limit: int) -> Transaction[list[DueRow]]:
        """List the due times of an action, the newest first."""
        return [_due(row) for row in (yield queries.DUE(action=action, limit=limit))]

    def count_missed(self, since: datetime) -> Transaction[int]:
        """Count the due times since a time that were missed."""
        ((count,),) = yield queries.MISSED(since=to_micros(since))
        return int(count)

    # Deleting

    async def delete_old(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` actions that ended before a time, and due times that were decided before it. Returns how many actions."""
        return await self._database.write(_delete_old, before, limit)


def delete_node_actions(node: str) -> Transaction[None]:
    """Delete a node from every action."""
    yield queries.DELETE_NODE_DUE(node=node)
    yield queries.DELETE_NODE(node=node)


def _delete_old(before: datetime, limit: int) -> Transaction[int]:
    rows = yield queries.OLD(before_at=to_micros(before), limit=limit)
    for (action,) in rows:
        yield queries.DELETE_DUE(action=action)
        yield queries.DELETE_NODES(action=action)
        yield queries.DELETE(id=action)
    due = yield queries.OLD_DUE(before_at=to_micros(before), limit=DELETE_DUE_BATCH)
    yield queries.DELETE_ONE_DUE.many({"action": action, "due_at": at, "node": node} for action, at, node in due)
    return limit if len(due) == DELETE_DUE_BATCH else len(rows)


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _values(new: ActionState) -> dict[str, object]:
    return {
        "state": new.state,
        "next_at": _optional(new.next_at),
        "message": new.message,
        "ended_at": _optional(new.ended_at),
    }


def _action(row: Row) -> ActionRow:
    id_, name, kind, body, environment, by, token, made, state, request, approvals, event, next_at, ended, message = row
    times = (from_optional_micros(next_at), from_optional_micros(ended))
    made_at = from_micros(made)
    return ActionRow(
        *(id_, name, kind, bytes(body), environment, by, token, made_at, state, request, approvals, event),
        *times,
        message,
    )


def _due(row: Row) -> DueRow:
    action, due_at, node, cause, state, count, job, message, decided = row
    return DueRow(action, from_micros(due_at), node, cause, state, count, job, message, from_optional_micros(decided))
