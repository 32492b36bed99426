"""Requests that other people must approve: one mechanism for everything that takes more than one person.

A request is bound to a digest of exactly what would be done. With the last approval that is needed it is carried out, in the same
transaction, if that digest is still the same; if it is not, the request is void and nothing is done. So a request is granted at most
once, and what people approved is what happens. The person who requests it never counts, each person counts once however many tokens
they have, and a revoked token counts for nothing.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

import msgspec

from precast.base.ids import Ids
from precast.services import texts
from precast.services.approvals import issues
from precast.services.identity import roles
from precast.store.approvals import approvals as store
from precast.store.approvals.approvals import ApprovalDecision, ApprovalRequest, Approvals
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.tokens import Tokens
from precast.wire.approvals.bodies import ApprovalView, DecisionBody, DecisionView

# A request that is not granted by then has expired.
VALID = timedelta(days=3)
MAX_OPEN = 100
PAGE = 100
NAMES_SHOWN = 20
EXPIRED = "expired"
# Characters that count as printable and show nothing: fillers of Hangul, the blank of Braille, joiners and selectors.
_INKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(code) for code in range(0xFE00, 0xFE10)}


class Participant(NamedTuple):
    """A person who requests or decides: their name, and the token they use."""

    actor: str  # person:NAME
    role: str
    environments: Sequence[str]  # that they may act in; none means all
    token: str = ""  # its id

    @property
    def person(self) -> str:
        """The person in one spelling: names that differ only in case, spaces, accents' encoding or characters without ink are one."""
        kind, _, name = self.actor.partition(":")
        # Folding the case can undo the normal form, so it comes between two normalisations.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        inked = "".join(character for character in folded if character not in _INKLESS)
        return f"{kind}:{' '.join(inked.split())}"


class Proposal(NamedTuple):
    """What is to be done, by the code of its kind."""

    kind: str
    environment: str
    subject: str  # in words
    digest: str
    payload: bytes
    needed: int


class ApprovedAction(Protocol):
    """What is carried out when a request of its kind is granted."""

    role: str  # that an approver needs

    def perform(self, request: ApprovalRequest, approved_by: Sequence[str]) -> Transaction[str | None]:
        """Do what was approved, and say in words what was done; None if it has changed since, and then do nothing."""

    def count_needed(self, request: ApprovalRequest) -> Transaction[int]:
        """How many people must approve it: as many as when it was requested, and as many as now."""

    def concerned_nodes(self, request: ApprovalRequest) -> Sequence[str]:
        """The nodes that an open request concerns."""


class RequestBook:
    """Adds requests as part of the transaction of whoever makes them; holds no state between calls."""

    def __init__(self, database: Database, approvals: Approvals, audit: AuditLog, ids: Ids) -> None:
        self._database, self._approvals, self._audit, self._ids = database, approvals, audit, ids

    def add(self, proposal: Proposal, requested_by: Participant, why: str) -> Transaction[ApprovalRequest]:
        """Add a request; a person who requests the same again gets their open request. Raises LimitedError APPROVAL-006."""
        now = self._database.clock.now()
        kind, environment, digest = proposal.kind, proposal.environment, proposal.digest
        same = yield from self._approvals.find_open(environment, kind, digest, requested_by.actor, now)
        if same is not None:
            return same
        count = yield from self._approvals.count_open(environment, now)
        if count >= MAX_OPEN:
            raise issues.TOO_MANY.error(environment=environment, count=count)
        request = ApprovalRequest(
            self._ids.new(),
            *(kind, environment, proposal.subject, digest, proposal.payload, proposal.needed),
            *(requested_by.actor, requested_by.token, why, now, now + VALID),
        )
        yield from self._approvals.add(request)
        yield from self._audit.add(
            requested_by.actor,
            "approval.request",
            request.id,
            kind=kind,
            environment=environment,
            subject=proposal.subject,
            digest=digest,
            needed=proposal.needed,
            why=why,
        )
        return request


class ApprovalService:
    """Shows requests, and carries out what people decide; holds no state between calls."""

    def __init__(
        self,
        database: Database,
        approvals: Approvals,
        tokens: Tokens,
        audit: AuditLog,
        actions: Mapping[str, ApprovedAction],
    ) -> None:
        self._database, self._approvals, self._tokens = database, approvals, tokens
        self._audit, self._actions = audit, actions

    async def list_page(self, environments: Sequence[str], before: str) -> list[ApprovalView]:
        """List the newest requests of these environments, of all if there are none."""
        return await self._database.read(self._list, environments, before or store.NEWEST)

    async def show(self, id_: str, environments: Sequence[str]) -> ApprovalView:
        """Show a request. Raises NotFoundError APPROVAL-001, also for one of an environment that the caller may not see."""
        return await self._database.read(self._show, id_, environments)

    async def approve(self, id_: str, body: DecisionBody, participant: Participant) -> ApprovalView:
        """Approve a request; the last approval that it needs carries it out.

        The answer's state tells whether it was: granted, still open, or void because what would be done has changed. Raises
        NotFoundError APPROVAL-001, ConflictError APPROVAL-002, -004, -007, DeniedError APPROVAL-003, -008. Cancelling is safe: the
        approval is stored with its effect, or neither is.
        """
        texts.check("the reason", body.why)
        return await self._database.write_alone(self._approve, id_, body, participant)

    async def reject(self, id_: str, body: DecisionBody, participant: Participant) -> ApprovalView:
        """Reject a request, which ends it. Raises as `approve` does."""
        texts.check("the reason", body.why)
        return await self._database.write(self._reject, id_, body, participant)

    async def withdraw(self, id_: str, body: DecisionBody, participant: Participant) -> ApprovalView:
        """Withdraw one's own request. Raises NotFoundError APPROVAL-001, ConflictError APPROVAL-002, DeniedError APPROVAL-005."""
        texts.check("the reason", body.why)
        return await self._database.write(self._withdraw, id_, body, participant)

    def _list(self, environments: Sequence[str], before: str) -> Transaction[list[ApprovalView]]:
        requests = yield from self._approvals.list_newest(environments, before, PAGE)
        decisions = yield from self._approvals.list_decisions([request.id for request in requests])
        return [
            self._view(request, [decision for decision in decisions if decision.request == request.id])
            for request in requests
        ]

    def _show(self, id_: str, environments: Sequence[str]) -> Transaction[ApprovalView]:
        request = yield from self._approvals.find(id_)
        if request is None or (environments and request.environment not in environments):
            raise issues.NO_REQUEST.error(id=id_[:80])
        return self._view(request, (yield from self._approvals.list_decisions([id_])))

    def _approve(self, id_: str, body: DecisionBody, participant: Participant) -> Transaction[ApprovalView]:
        request = yield from self._lock_for_decision(id_, body, participant)
        yield from self._record(request, participant, body.why, is_approval=True)
        counted = yield from self._count_approvals(request)
        if len(counted) >= (yield from self._actions[request.kind].count_needed(request)):
            yield from self._carry_out(request, counted)
        return (yield from self._show(id_, participant.environments))

    def _reject(self, id_: str, body: DecisionBody, participant: Participant) -> Transaction[ApprovalView]:
        request = yield from self._lock_for_decision(id_, body, participant)
        yield from self._record(request, participant, body.why, is_approval=False)
        yield from self._approvals.end(
            id_, store.REJECTED, f"rejected by {participant.actor}", self._database.clock.now()
        )
        return (yield from self._show(id_, participant.environments))

    def _withdraw(self, id_: str, body: DecisionBody, participant: Participant) -> Transaction[ApprovalView]:
        request = yield from self._lock_open(id_, participant)
        if _person(request.requested_by) != participant.person:
            raise issues.NOT_YOURS.error(person=request.requested_by, id=id_)
        yield from self._approvals.end(id_, store.WITHDRAWN, body.why, self._database.clock.now())
        yield from self._audit.add(participant.actor, "approval.withdraw", id_, why=body.why)
        return (yield from self._show(id_, participant.environments))

    def _lock_open(self, id_: str, participant: Participant) -> Transaction[ApprovalRequest]:
        request = yield from self._approvals.lock(id_)
        if request is None or (participant.environments and request.environment not in participant.environments):
            raise issues.NO_REQUEST.error(id=id_[:80])
        state = self._state(request)
        if state != store.OPEN:
            raise issues.NOT_OPEN.error(id=id_, state=state)
        return request

    def _lock_for_decision(
        self, id_: str, body: DecisionBody, participant: Participant
    ) -> Transaction[ApprovalRequest]:
        request = yield from self._lock_open(id_, participant)
        role = self._actions[request.kind].role
        if not roles.includes(participant.role, role):
            raise issues.ROLE_NEEDED.error(kind=request.kind, role=role)
        if _person(request.requested_by) == participant.person:
            raise issues.OWN_REQUEST.error(person=participant.actor, id=id_)
        if body.digest and not request.digest.startswith(body.digest):
            raise issues.OTHER_DIGEST.error(id=id_, digest=body.digest[:64])
        return request

    def _record(
        self, request: ApprovalRequest, participant: Participant, why: str, *, is_approval: bool
    ) -> Transaction[None]:
        now = self._database.clock.now()
        decision = ApprovalDecision(request.id, participant.person, is_approval, participant.token, why, now)
        if not (yield from self._approvals.decide(decision)):
            raise issues.DECIDED.error(person=participant.actor)
        action = "approval.approve" if is_approval else "approval.reject"
        yield from self._audit.add(
            participant.actor, action, request.id, kind=request.kind, digest=request.digest, why=why
        )

    def _count_approvals(self, request: ApprovalRequest) -> Transaction[list[str]]:
        """The people whose approvals count: those whose token has not been revoked since."""
        decisions = yield from self._approvals.list_decisions([request.id])
        approvals = [decision for decision in decisions if decision.is_approval]
        revoked = yield from self._tokens.filter_revoked([decision.token for decision in approvals])
        return [decision.person for decision in approvals if decision.token not in revoked]

    def _carry_out(self, request: ApprovalRequest, approved_by: Sequence[str]) -> Transaction[None]:
        now = self._database.clock.now()
        outcome: str | None = None
        if request.token in (yield from self._tokens.filter_revoked([request.token])):
            reason = "the token that requested it was revoked"
        else:
            outcome = yield from self._actions[request.kind].perform(request, approved_by)
            reason = "what would be done has changed since it was requested"
        state = store.VOID if outcome is None else store.GRANTED
        yield from self._approvals.end(request.id, state, outcome or reason, now)
        yield from self._audit.add(
            request.requested_by,
            "approval.void" if outcome is None else "approval.grant",
            request.id,
            kind=request.kind,
            environment=request.environment,
            digest=request.digest,
            approved_by=list(approved_by),
            outcome=outcome or reason,
        )

    def _state(self, request: ApprovalRequest) -> str:
        is_late = request.state == store.OPEN and request.expires_at <= self._database.clock.now()
        return EXPIRED if is_late else request.state

    def _view(self, request: ApprovalRequest, decisions: Sequence[ApprovalDecision]) -> ApprovalView:
        state = self._state(request)
        is_open = request.state == store.OPEN and request.kind in self._actions
        nodes = self._actions[request.kind].concerned_nodes(request) if is_open else ()
        return ApprovalView(
            *(request.id, request.kind, request.environment, request.subject, request.digest, request.needed),
            sum(decision.is_approval for decision in decisions),
            state,
            *(request.requested_by, request.why, request.requested_at, request.expires_at, request.ended_at),
            request.outcome,
            list(nodes[:NAMES_SHOWN]),
            len(nodes),
            [msgspec.convert(decision, DecisionView, from_attributes=True) for decision in decisions],
        )


def _person(actor: str) -> str:
    return Participant(actor, "", ()).person
