"""Whether an action may start: its owner's token still allows it, and its nodes' environments have the approvals that they require.

This is checked at each due time, because tokens are revoked, nodes change their environments, and environments their rules.
"""

from collections.abc import Mapping

from precast.base.clock import Clock
from precast.services.actions.stored import changes_nodes, may_own, needed_roles
from precast.services.approvals.approvals import Participant
from precast.store.actions.actions import ActionRow
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.store.identity.tokens import PersonToken, Tokens
from precast.wire.actions import bodies
from precast.wire.actions.bodies import ActionWork


class ActionRights:
    """Checks rights as part of a transaction; holds no state between calls."""

    def __init__(self, clock: Clock, tokens: Tokens, environments: Environments) -> None:
        self._clock, self._tokens, self._environments = clock, tokens, environments

    def explain_refusal(
        self, action: ActionRow, work: ActionWork, environment_of: Mapping[str, str]
    ) -> Transaction[str | None]:
        """Why the action may not start on these nodes, given with their environments; None if it may."""
        token = yield from self._tokens.read_person_token(action.token)
        refusal = self._judge_token(action, token, environment_of)
        if refusal is not None:
            return refusal
        for environment in sorted(set(environment_of.values())):
            needed = yield from self.count_approvals(work, environment)
            is_approved = action.environment == environment and action.approvals >= needed
            if needed and not is_approved:
                return f"actions in the environment {environment} need approvals, which this one does not have"
            if work.kind == bodies.RELEASE and (yield from self.needs_release_approval(environment)):
                return f"releases in the environment {environment} need approvals of exact catalogs: `precast release`"
        return None

    def find_owner(self, action: ActionRow) -> Transaction[Participant]:
        """The owner of an action with the rights that the owner's token has now: none if it no longer exists."""
        token = yield from self._tokens.read_person_token(action.token)
        if token is None:
            return Participant(action.made_by, "", (), action.token)
        return Participant(action.made_by, token.role, token.environments, token.id)

    def count_approvals(self, work: ActionWork, environment: str) -> Transaction[int]:
        """How many people must approve an action in this environment."""
        if not changes_nodes(work):
            return 0
        found = yield from self._environments.find(environment)
        return 0 if found is None else found.action_approvals

    def needs_release_approval(self, environment: str) -> Transaction[bool]:
        found = yield from self._environments.find(environment)
        return found is not None and found.release_approvals > 0

    def _judge_token(
        self, action: ActionRow, token: PersonToken | None, environment_of: Mapping[str, str]
    ) -> str | None:
        if token is None:
            return f"the token {action.token} of its owner no longer exists"
        if token.revoked_at is not None:
            return f"the token {token.id} of its owner was revoked at {token.revoked_at:%Y-%m-%d %H:%M:%SZ}"
        if token.expires_at <= self._clock.now():
            return f"the token {token.id} of its owner expired at {token.expires_at:%Y-%m-%d %H:%M:%SZ}"
        if not may_own(token.role, action.kind):
            needed = " or ".join(needed_roles(action.kind))
            return f"the token {token.id} of its owner has the role {token.role}, and the action needs {needed}"
        for node, environment in environment_of.items():
            if token.environments and environment not in token.environments:
                return f"{node} is in the environment {environment}, which the token {token.id} of its owner does not allow"
        return None
