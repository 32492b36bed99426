"""The verbs that seal records. A seal is a right that is stored outside the signer, so it needs the same approval as the right itself."""

from datetime import timedelta

from precast.base.clock import to_micros
from precast.base.errors import PrecastError
from precast.services import texts
from precast.services.identity import extensions, issues, roles
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import (
    MAX_ITEMS,
    Done,
    PolicyRecord,
    RevokeToken,
    SealEnrolment,
    SealPerson,
    SealPolicies,
    Seals,
)
from precast.services.identity.token_limits import MAX_USES, MAX_VALID_S
from precast.wire.identity.names import is_name
from precast.wire.identity.tokens import is_id
from precast.wire.nodes.policy import MAX_WINDOWS
from precast.wire.windows.rules import parse_rule

# A token's validity begins at the server's clock, which may differ a little from ours.
_LONGEST = timedelta(seconds=MAX_VALID_S) + timedelta(hours=1)
_HASH_BYTES = 32
# As large as the column of the database.
MAX_SERIAL = 2**63 - 1


def seal_person(context: SignerContext, verb: SealPerson, operation: SignerOperation) -> Seals:
    """Seal the token of a person, which an admin of the whole site approves."""
    record = verb.record
    operation.subject, operation.detail["role"] = record.person, record.role
    operation.by = context.approvals.check(verb.approver, "admin", operation.peer, operation.now)
    roles.check_role(record.role)
    texts.check("the person's name", record.person)
    if not is_id(record.id) or len(record.secret_hash) != _HASH_BYTES or record.expires_at > operation.now + _LONGEST:
        raise issues.SIGNER_REFUSED.error(reason="the record of the token is invalid")
    return Seals([context.seal_key.seal(record)])


def seal_enrolment(context: SignerContext, verb: SealEnrolment, operation: SignerOperation) -> Seals:
    """Seal an enrolment token, which an operator of the whole site approves."""
    record = verb.record
    operation.subject, operation.detail["token"] = record.pattern, record.id
    operation.by = context.approvals.check(verb.approver, "operator", operation.peer, operation.now)
    extensions.check(record.extensions)
    texts.check("the pattern", record.pattern)
    is_bounded = 0 < record.uses <= MAX_USES and record.expires_at <= operation.now + _LONGEST
    if not is_id(record.id) or len(record.secret_hash) != _HASH_BYTES or not is_bounded:
        raise issues.SIGNER_REFUSED.error(reason="the record of the token is invalid")
    return Seals([context.seal_key.seal(record)])


def seal_policies(context: SignerContext, verb: SealPolicies, operation: SignerOperation) -> Seals:
    """Seal one policy for several nodes, which an operator of the whole site approves."""
    operation.subject = f"{len(verb.nodes)} nodes, from {verb.nodes[0][:100]}" if verb.nodes else "no nodes"
    operation.detail["enforce"] = verb.enforce
    operation.by = context.approvals.check(verb.approver, "operator", operation.peer, operation.now)
    if len(verb.nodes) > MAX_ITEMS or len(verb.windows) > MAX_WINDOWS or not all(map(is_name, verb.nodes)):
        raise issues.SIGNER_REFUSED.error(reason="the policy is invalid")
    try:
        windows = [str(parse_rule(window)) for window in verb.windows]
    except PrecastError as error:
        raise issues.SIGNER_REFUSED.error(reason=error.message) from None
    serial = max(to_micros(operation.now), verb.after + 1)
    if serial > MAX_SERIAL:
        raise issues.SIGNER_REFUSED.error(reason="the serial of an earlier policy is invalid")
    records = [PolicyRecord(node, serial, verb.enforce, windows) for node in verb.nodes]
    return Seals([context.seal_key.seal(record) for record in records], serial)


def revoke_token(context: SignerContext, verb: RevokeToken, operation: SignerOperation) -> Done:
    """Refuse a token from now on."""
    operation.subject = verb.id[:100]
    if not is_id(verb.id):
        raise issues.SIGNER_REFUSED.error(reason="this is not the id of a token")
    if not context.state.tokens.revoke(verb.id, operation.now + _LONGEST):
        raise issues.SIGNER_REFUSED.error(reason="too many tokens are revoked")
    return Done()
