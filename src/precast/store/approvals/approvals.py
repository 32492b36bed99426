"""Requests for approval, and what people decided about them.

A request is open until it ends, once, in one of the other states. Every change locks the request's row first, so two decisions about one
request are made one after the other, also at two servers. What would be carried out is stored with the request until it ends.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from precast.base.clock import from_micros, from_optional_micros, to_micros
from precast.store.engine.compression import compress, decompress
from precast.store.engine.query import Query, Row, Transaction, json_list

OPEN, GRANTED, REJECTED, WITHDRAWN, VOID = "open", "granted", "rejected", "withdrawn", "void"

ADD = Query(
    "approvals.add",
    """
    INSERT INTO approval_request (id, kind, environment, subject, digest, payload, needed, requested_by, token, why,
        requested_at, expires_at, state, outcome)
    VALUES (:id, :kind, :environment, :subject, :digest, :payload, :needed, :requested_by, :token, :why, :now, :expires_at,
        'open', '')
    """,
)
LOCK = Query(
    "approvals.lock",
    """
    -- Locks the row until the commit, without changing it.
    UPDATE approval_request SET state = state WHERE id = :id RETURNING id
    """,
)
FIND = Query(
    "approvals.find",
    """
    SELECT id, kind, environment, subject, digest, payload, needed, requested_by, token, why, requested_at, expires_at,
        state, ended_at, outcome
    FROM approval_request WHERE id = :id
    """,
)
FIND_OPEN = Query(
    "approvals.find_open",
    """
    SELECT id, kind, environment, subject, digest, payload, needed, requested_by, token, why, requested_at, expires_at,
        state, ended_at, outcome
    FROM approval_request
    WHERE environment = :environment AND state = 'open' AND kind = :kind AND digest = :digest AND requested_by = :person
        AND expires_at > :now
    ORDER BY id LIMIT 1
    """,
)
COUNT_OPEN = Query(
    "approvals.count_open",
    """
    SELECT count(*) FROM approval_request WHERE environment = :environment AND state = 'open' AND expires_at > :now
    """,
)
LIST = Query(
    "approvals.list",
    """
    -- The newest first, below an id.
    SELECT id, kind, environment, subject, digest, payload, needed, requested_by, token, why, requested_at, expires_at,
        state, ended_at, outcome
    FROM approval_request WHERE id < :before ORDER BY id DESC LIMIT :limit
    """,
)
LIST_OF = Query(
    "approvals.list_of",
    """
    SELECT id, kind, environment, subject, digest, payload, needed, requested_by, token, why, requested_at, expires_at,
        state, ended_at, outcome
    FROM approval_request WHERE id < :before
        AND environment IN (SELECT value FROM json_each(:environments))
    ORDER BY id DESC LIMIT :limit
    """,
    postgresql="""
    SELECT id, kind, environment, subject, digest, payload, needed, requested_by, token, why, requested_at, expires_at,
        state, ended_at, outcome
    FROM approval_request WHERE id < :before
        AND environment = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:environments AS JSONB))))
    ORDER BY id DESC LIMIT :limit
    """,
)
DECIDE = Query(
    "approvals.decide",
    """
    INSERT INTO approval_decision (request, person, approves, token, why, decided_at)
    VALUES (:request, :person, :approves, :token, :why, :now)
    ON CONFLICT (request, person) DO NOTHING
    RETURNING person
    """,
)
DECISIONS = Query(
    "approvals.decisions",
    """
    SELECT request, person, approves, token, why, decided_at FROM approval_decision
    WHERE request IN (SELECT value FROM json_each(:requests)) ORDER BY request, decided_at, person
    """,
    postgresql="""
    SELECT request, person, approves, token, why, decided_at FROM approval_decision
    WHERE request = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:requests AS JSONB))))
    ORDER BY request, decided_at, person
    """,
)
END = Query(
    "approvals.end",
    """
    UPDATE approval_request SET state = :state, ended_at = :now, outcome = :outcome, payload = :payload
    WHERE id = :id AND state = 'open' RETURNING id
    """,
)
# Replaces the payload of a request that has ended.
_EMPTY = b"{}"
# Sorts after every id.
NEWEST = "~"


class ApprovalRequest(msgspec.Struct, frozen=True):
    """A request as it is stored. `payload` says what is carried out, for the code that does it; it is empty after the end."""

    id: str
    kind: str
    environment: str
    subject: str
    digest: str
    payload: bytes
    needed: int
    requested_by: str
    token: str  # the id of the token that requested it
    why: str
    requested_at: datetime
    expires_at: datetime
    state: str = OPEN
    ended_at: datetime | None = None
    outcome: str = ""


class ApprovalDecision(msgspec.Struct, frozen=True):
    """What one person decided about a request, with which token."""

    request: str
    person: str
    is_approval: bool
    token: str
    why: str
    at: datetime


class Approvals:
    """The requests and decisions of one database."""

    def add(self, request: ApprovalRequest) -> Transaction[None]:
        yield ADD(
            id=request.id,
            kind=request.kind,
            environment=request.environment,
            subject=request.subject,
            digest=request.digest,
            payload=compress(request.payload),
            needed=request.needed,
            requested_by=request.requested_by,
            token=request.token,
            why=request.why,
            now=to_micros(request.requested_at),
            expires_at=to_micros(request.expires_at),
        )

    def lock(self, id_: str) -> Transaction[ApprovalRequest | None]:
        """Find a request and lock it until the commit."""
        if not (yield LOCK(id=id_)):
            return None
        return (yield from self.find(id_))

    def find(self, id_: str) -> Transaction[ApprovalRequest | None]:
        rows = yield FIND(id=id_)
        return _request(rows[0]) if rows else None

    def find_open(
        self, environment: str, kind: str, digest: str, person: str, now: datetime
    ) -> Transaction[ApprovalRequest | None]:
        """Find a person's open request for exactly the same."""
        rows = yield FIND_OPEN(environment=environment, kind=kind, digest=digest, person=person, now=to_micros(now))
        return _request(rows[0]) if rows else None

    def count_open(self, environment: str, now: datetime) -> Transaction[int]:
        ((count,),) = yield COUNT_OPEN(environment=environment, now=to_micros(now))
        return int(count)

    def list_newest(self, environments: Sequence[str], before: str, limit: int) -> Transaction[list[ApprovalRequest]]:
        """List requests of these environments, of all if there are none, the newest first."""
        if environments:
            rows = yield LIST_OF(environments=json_list(environments), before=before, limit=limit)
        else:
            rows = yield LIST(before=before, limit=limit)
        return [_request(row) for row in rows]

    def decide(self, decision: ApprovalDecision) -> Transaction[bool]:
        """Add a decision; False if this person has decided already."""
        return bool(
            (
                yield DECIDE(
                    request=decision.request,
                    person=decision.person,
                    approves=int(decision.is_approval),
                    token=decision.token,
                    why=decision.why,
                    now=to_micros(decision.at),
                )
            )
        )

    def list_decisions(self, requests: Sequence[str]) -> Transaction[list[ApprovalDecision]]:
        """List what people decided about these requests, in order."""
        return [
            ApprovalDecision(request, person, bool(approves), token, why, from_micros(at))
            for request, person, approves, token, why, at in (yield DECISIONS(requests=json_list(requests)))
        ]

    def end(self, id_: str, state: str, outcome: str, now: datetime) -> Transaction[bool]:
        """End an open request; False if it has ended already."""
        return bool((yield END(id=id_, state=state, outcome=outcome, now=to_micros(now), payload=_EMPTY)))


def _request(row: Row) -> ApprovalRequest:
    id_, kind, environment, subject, digest, payload, needed, by, token, why, at, expires, state, ended, outcome = row
    proposed = id_, kind, environment, subject, digest, decompress(payload), needed
    times = from_micros(at), from_micros(expires)
    return ApprovalRequest(*proposed, by, token, why, *times, state, from_optional_micros(ended), outcome)
