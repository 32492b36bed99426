"""The verbs about commands: a person orders one, and the signer seals it for each node; an order is signed only with such a seal.

The seal names the node, the order, the digest of what is run, the person's token and the time until which orders may begin. Any server
that has the job's rows can have its orders signed, so a job goes on when another server takes it over; and no server can have a command
signed that was not ordered, or for a node that it was not ordered from.
"""

from datetime import timedelta

from precast.services.identity import issues, roles
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import MAX_ITEMS, CommandRecord, SealCommand, Seals, Signature, SignOrder
from precast.services.identity.signer.seals import command_of, digest_command
from precast.services.identity.signer.verbs.documents import sign
from precast.wire.identity.names import is_name
from precast.wire.jobs.orders import MAX_ARGUMENTS
from precast.wire.jobs.signed_orders import order_text, signed_order_bytes

# The longest time between the sealing of a command and its last order. Servers' clocks may differ a little from ours.
LONGEST = timedelta(days=30)
_CLOCKS = timedelta(hours=1)
_SHOWN_CHARS = 200


def seal_command(context: SignerContext, verb: SealCommand, operation: SignerOperation) -> Seals:
    """Seal a command for several nodes, which a person with the role for commands on the whole site orders."""
    operation.subject = f"{len(verb.nodes)} nodes, from {verb.nodes[0][:100]}" if verb.nodes else "no nodes"
    operation.detail["order"], operation.detail["argv"] = verb.order[:100], " ".join(verb.command.argv)[:_SHOWN_CHARS]
    operation.by = context.approvals.check(verb.approver, roles.COMMANDS, operation.peer, operation.now)
    token = "" if verb.approver is None else verb.approver.record.id
    operation.detail["token"] = token
    if not 0 < len(verb.nodes) <= MAX_ITEMS or not all(map(is_name, verb.nodes)):
        raise issues.SIGNER_REFUSED.error(reason="the nodes of the command are invalid")
    if not 0 < len(verb.command.argv) <= MAX_ARGUMENTS:
        raise issues.SIGNER_REFUSED.error(reason="the command is invalid")
    if not operation.now < verb.expires_at <= operation.now + LONGEST + _CLOCKS:
        raise issues.SIGNER_REFUSED.error(reason="the time in which the command may begin is invalid")
    digest = digest_command(verb.command)
    operation.detail["command"] = digest
    records = [CommandRecord(node, verb.order, digest, token, verb.expires_at) for node in verb.nodes]
    return Seals([context.seal_key.seal(record) for record in records])


def sign_order(context: SignerContext, verb: SignOrder, operation: SignerOperation) -> Signature:
    """Sign the order of a command that a person has ordered from this node: its record is sealed."""
    order = verb.order
    operation.subject, operation.detail["order"], operation.detail["token"] = (
        order.node[:100],
        order.order,
        verb.token[:100],
    )
    # The record is made of the order itself: an order that differs in anything has another record, which is not sealed.
    record = CommandRecord(order.node, order.order, digest_command(command_of(order)), verb.token, verb.sealed_until)
    if not context.seal_key.is_sealed(record, verb.seal):
        raise issues.SIGNER_REFUSED.error(reason="nobody has ordered this command from this node")
    if record.expires_at <= operation.now or order.expires_at > record.expires_at:
        raise issues.SIGNER_REFUSED.error(reason="the command had to begin earlier")
    if context.state.tokens.is_revoked(record.token):
        raise issues.SIGNER_REFUSED.error(reason="the token by which the command was ordered is revoked")
    return sign(context, signed_order_bytes(order_text(order)))
