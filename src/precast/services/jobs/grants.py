"""Grants: a node begins an order only after it has claimed it, and a server has committed that the node may.

In one transaction the attempt moves from QUEUED to PICKED_UP, the attempt gets the node's lock, and the grant is appended to the node's
stream. A claim is granted when the attempt has its turn and nothing else changes the node; until then it is noted and waits. The end of an
attempt releases the lock, and in the same transaction grants the claim on that node that has waited the longest.

A node that asks again is answered again. The answer names the machine that has asked, so a copy of it cannot begin by it. A node whose
claim comes too late, or whose attempt another machine has picked up, is refused.
"""

from precast.base.clock import Clock
from precast.services.sessions.orders import OrderService
from precast.store.engine.query import Transaction
from precast.store.jobs.attempts import AttemptKey, Attempts, EndedWait, Ending, NotedClaim
from precast.store.jobs.node_locks import NodeLocks
from precast.wire.jobs import states
from precast.wire.jobs.order_ids import make_order_id, parse_order_id
from precast.wire.jobs.orders import ABORT, GRANT, Abort, Claim, Grant

OTHER_MACHINE = "another machine with this node's certificate has begun it"


class Grants:
    """Moves attempts into and out of PICKED_UP; holds no state between calls."""

    def __init__(self, clock: Clock, attempts: Attempts, locks: NodeLocks, orders: OrderService) -> None:
        self._clock, self._attempts, self._locks, self._orders = clock, attempts, locks, orders

    def claim(self, node: str, claim: Claim) -> Transaction[None]:
        """A node could begin an order now."""
        key = find_key(node, claim.order)
        attempt = None if key is None else (yield from self._attempts.find_claimed(key))
        if key is None or attempt is None:
            yield from self._post(node, Grant(claim.order, claim.number, claim.instance, False, "no such order exists"))
            return
        noted = NotedClaim(claim.number, claim.instance)
        if attempt.state == states.PICKED_UP:
            is_same = attempt.instance == claim.instance
            if is_same:
                yield from self._attempts.note_claim(key, claim.number, claim.instance)
            yield from self._answer(key, noted, is_same, "" if is_same else OTHER_MACHINE)
            return
        if attempt.state != states.QUEUED:
            reason = f" ({attempt.reason})" if attempt.reason else ""
            yield from self._answer(key, noted, False, f"it is {attempt.state}{reason}")
            return
        # Records of a node arrive in their order, so this is its latest claim. Its number may be lower: the machine was set back.
        yield from self._attempts.note_claim(key, claim.number, claim.instance)
        if attempt.has_turn and (attempt.due_at is None or attempt.due_at > self._clock.now()):
            yield from self.grant(key, noted)

    def grant(self, key: AttemptKey, claim: NotedClaim) -> Transaction[bool]:
        """Grant the claim of an attempt that has its turn, if nothing else changes the node; False if it waits for the lock."""
        if not (yield from self._orders.has_room(key.node)):
            return False  # its deadline ends the attempt, unless the node asks again
        if not (yield from self._locks.take(key)):
            yield from self._attempts.wait_for_lock(key)
            return False
        if not (yield from self._attempts.pick_up(key)):
            yield from self._locks.release(key)
            return False
        yield from self._answer(key, claim, True, "")
        return True

    def end(self, key: AttemptKey, ending: Ending) -> Transaction[bool]:
        """End an attempt by what its node reports; False if it had ended before.

        A result for an attempt that is still queued means that this database was restored to an earlier time: the node had picked it up.
        """
        if not (yield from self._attempts.end(key, states.PICKED_UP, ending)):
            is_unseen = ending.state == states.FAILED and ending.reason in states.FAILED_UNSEEN
            if not is_unseen and not (yield from self._attempts.pick_up(key)):
                return False
            if not (yield from self._attempts.end(key, states.QUEUED if is_unseen else states.PICKED_UP, ending)):
                return False
        yield from self.release(key)
        return True

    def fail(self, key: AttemptKey, ending: Ending) -> Transaction[bool]:
        """Fail an attempt whatever its node does, and tell the node to end it; False if it had ended before."""
        for state in (states.PICKED_UP, states.QUEUED):
            if (yield from self._attempts.end(key, state, ending)):
                yield from self.abort(key, ending.message or "")
                yield from self.release(key)
                return True
        return False

    def end_wait(self, ended: EndedWait, message: str) -> Transaction[None]:
        """Follow the end of an attempt that its driver has decided: answer its claim, release its lock."""
        if ended.was_picked_up:
            yield from self.release(ended.key)
        elif ended.claim is not None and (yield from self._orders.has_room(ended.key.node)):
            yield from self._answer(ended.key, ended.claim, False, message)

    def release(self, key: AttemptKey) -> Transaction[None]:
        """Release the lock of an attempt that has ended, and grant the next claim on the node."""
        yield from self._attempts.end_waits(key)
        if not (yield from self._locks.release(key)):
            return
        following = yield from self._attempts.find_next_claim(key.node)
        if following is not None:
            yield from self.grant(*following)

    def abort(self, key: AttemptKey, why: str) -> Transaction[None]:
        """Tell a node to end an attempt."""
        if (yield from self._orders.has_room(key.node)):
            yield from self._orders.post(key.node, ABORT, Abort(make_order_id(key.job, key.task, key.n), why))

    def _answer(self, key: AttemptKey, claim: NotedClaim, is_granted: bool, message: str) -> Transaction[None]:
        order = make_order_id(key.job, key.task, key.n)
        yield from self._post(key.node, Grant(order, claim.number, claim.instance, is_granted, message))

    def _post(self, node: str, grant: Grant) -> Transaction[None]:
        if (yield from self._orders.has_room(node)):
            yield from self._orders.post(node, GRANT, grant)


def find_key(node: str, order: str) -> AttemptKey | None:
    """The attempt that a node means with the id of an order; None if the text is no such id."""
    parsed = parse_order_id(order)
    return None if parsed is None else AttemptKey(parsed.job, parsed.task, node, parsed.n)
