"""The verbs about commands: a person orders one, and the signer seals it for each node; an order is signed only with such a seal.

The seal names the node, the order, the digest of what is run, the person's token and the time until which orders may begin. Any server
that has the job's rows can have its orders signed, so a job goes on when another server takes it over; and no server can have a command
signed that was not ordered, or for a node that it was not ordered from.

A command that an action repeats has a standing seal, which names the action instead of the order: until its end it is good for any number
of orders, to one node, or to any node if the action finds its nodes when it starts.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from precast.base.digests import Digest
from precast.services.identity import issues, roles
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import (
    MAX_ITEMS,
    CommandRecord,
    SealCommand,
    Seals,
    SealStanding,
    Signature,
    SignOrder,
    SignTask,
    StandingRecord,
)
from precast.services.identity.signer.seals import command_of, digest_command
from precast.services.identity.signer.verbs.documents import sign
from precast.wire.identity.names import is_name
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.jobs.orders import MAX_ARGUMENTS
from precast.wire.jobs.signed_orders import order_text, signed_order_bytes, signed_task_bytes, task_text

# The longest time between the sealing of a command and its last order. Servers' clocks may differ a little from ours.
LONGEST = timedelta(days=30)
_CLOCKS = timedelta(hours=1)
_SHOWN_CHARS = 200
# The node of a standing seal that is valid for all of them.
_ANY_NODE = ""


def seal_command(context: SignerContext, verb: SealCommand, operation: SignerOperation) -> Seals:
    """Seal a command for several nodes, which a person with the role for commands on the whole site orders."""
    operation.detail["order"] = verb.order[:100]
    token, digest = _approve(context, verb, operation)
    if not verb.nodes:
        raise issues.SIGNER_REFUSED.error(reason="the nodes of the command are invalid")
    records = [CommandRecord(node, verb.order, digest, token, verb.expires_at) for node in verb.nodes]
    return Seals([context.seal_key.seal(record) for record in records])


def seal_standing(context: SignerContext, verb: SealStanding, operation: SignerOperation) -> Seals:
    """Seal a command that an action repeats. Each seal is valid for any number of orders to its node, or to any node, until its end."""
    operation.detail["action"] = verb.action[:100]
    token, digest = _approve(context, verb, operation)
    if not verb.action:
        raise issues.SIGNER_REFUSED.error(reason="the action has no id")
    records = [StandingRecord(verb.action, node, digest, token, verb.expires_at) for node in verb.nodes or (_ANY_NODE,)]
    return Seals([context.seal_key.seal(record) for record in records])


def sign_order(context: SignerContext, verb: SignOrder, operation: SignerOperation) -> Signature:
    """Sign the order of a command that a person has ordered from this node: its record is sealed."""
    order = verb.order
    operation.subject, operation.detail["order"], operation.detail["token"] = (
        order.node[:100],
        order.order,
        verb.token[:100],
    )
    if not any(context.seal_key.is_sealed(record, verb.seal) for record in _records(verb)):
        raise issues.SIGNER_REFUSED.error(reason="nobody has ordered this command from this node")
    _require_time(context, verb, order.expires_at, operation)
    return sign(context, signed_order_bytes(order_text(order)))


def sign_task(context: SignerContext, verb: SignTask, operation: SignerOperation) -> Signature:
    """Sign the order of a task of a plan that a person has started over this node: its record is sealed for the job, or for the action."""
    order = verb.order
    operation.subject = order.node[:100]
    operation.detail["order"], operation.detail["token"] = order.order, verb.token[:100]
    parsed, digest = parse_order_id(order.order), digest_command(command_of(order))
    nodes = (order.node, _ANY_NODE) if verb.action else (order.node,)
    records = [StandingRecord(verb.action or verb.job, node, digest, verb.token, verb.sealed_until) for node in nodes]
    is_ordered = any(context.seal_key.is_sealed(record, verb.seal) for record in records)
    if parsed is None or parsed.job != verb.job or not is_ordered:
        raise issues.SIGNER_REFUSED.error(reason="nobody has ordered this task from this node")
    _require_time(context, verb, order.expires_at, operation)
    return sign(context, signed_task_bytes(task_text(order)))


def _require_time(
    context: SignerContext, verb: SignOrder | SignTask, expires_at: datetime, operation: SignerOperation
) -> None:
    """Raises DeniedError CA-032 if an order would begin too late, or its token is revoked."""
    if verb.sealed_until <= operation.now or expires_at > verb.sealed_until:
        raise issues.SIGNER_REFUSED.error(reason="the command had to begin earlier")
    if context.state.tokens.is_revoked(verb.token):
        raise issues.SIGNER_REFUSED.error(reason="the token by which the command was ordered is revoked")


def _records(verb: SignOrder) -> Sequence[CommandRecord | StandingRecord]:
    """The records of which one must be sealed. They are made of the order itself: an order that differs in anything has other records."""
    order, digest = verb.order, digest_command(command_of(verb.order))
    if not verb.action:
        return [CommandRecord(order.node, order.order, digest, verb.token, verb.sealed_until)]
    return [
        StandingRecord(verb.action, node, digest, verb.token, verb.sealed_until) for node in (order.node, _ANY_NODE)
    ]


def _approve(
    context: SignerContext, verb: SealCommand | SealStanding, operation: SignerOperation
) -> tuple[str, Digest]:
    """Check the person who orders a command, and the command; returns the id of their token, and the command's digest."""
    operation.subject = f"{len(verb.nodes)} nodes, from {verb.nodes[0][:100]}" if verb.nodes else "no nodes"
    operation.detail["argv"] = (" ".join(verb.command.argv) or verb.command.program)[:_SHOWN_CHARS]
    operation.by = context.approvals.check(verb.approver, roles.COMMANDS, operation.peer, operation.now)
    token = "" if verb.approver is None else verb.approver.record.id
    operation.detail["token"] = token
    if len(verb.nodes) > MAX_ITEMS or not all(map(is_name, verb.nodes)):
        raise issues.SIGNER_REFUSED.error(reason="the nodes of the command are invalid")
    if len(verb.command.argv) > MAX_ARGUMENTS or bool(verb.command.argv) == bool(verb.command.program):
        raise issues.SIGNER_REFUSED.error(reason="the command is invalid")
    if not operation.now < verb.expires_at <= operation.now + LONGEST + _CLOCKS:
        raise issues.SIGNER_REFUSED.error(reason="the time in which the command may begin is invalid")
    digest = operation.detail["command"] = digest_command(verb.command)
    return token, digest
