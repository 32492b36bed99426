"""Verifies an ordered command before its process is started: signature, node, id, and expiry. Needs `cryptography`.

The order came through other processes and files. Only the signed text counts: what is run is exactly what the authority has signed for
this node.
"""

from datetime import datetime
from pathlib import Path

import msgspec

from precast.agent import issues
from precast.agent.catalog.policy_check import check_cached_policy
from precast.agent.catalog.signatures import is_signed
from precast.agent.identity.enrolment import Identity
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import ExecOrder, SignedExecOrder
from precast.wire.jobs.signed_orders import signed_order_bytes


def check_order(root: Path, order_id: str, signed: SignedExecOrder, now: datetime) -> ExecOrder:
    """Return the command to run. Raises DeniedError AGENT-031 if the node must not run it."""
    identity = Identity(root)
    if not is_signed(identity.authority, signed_order_bytes(signed.text), signed.signature):
        raise _refusal(order_id, "it is not signed by an authority that this node trusts")
    try:
        order = msgspec.json.decode(signed.text, type=ExecOrder)
    except msgspec.MsgspecError:
        raise _refusal(order_id, "a newer Precast has written it") from None
    if order.node != identity.name():
        raise _refusal(order_id, f"it is for {order.node}, and this node is {identity.name()}")
    if order.order != order_id:
        raise _refusal(order_id, f"its signature is that of the command {order.order}")
    if order.expires_at <= now:
        raise _refusal(order_id, f"it had to begin before {order.expires_at:%Y-%m-%d %H:%M:%SZ}")
    decision = check_cached_policy(root, "ordered", now)
    if not decision.may_enforce:
        raise _refusal(order_id, decision.why)
    return order


def check_reboot(root: Path, order_id: str, now: datetime) -> None:
    """Raises DeniedError AGENT-031 if the node's policy permits no ordered commands, and so no reboot."""
    decision = check_cached_policy(root, "ordered", now)
    if not decision.may_enforce:
        raise _refusal(order_id, decision.why)


def _refusal(order_id: str, reason: str) -> PrecastError:
    return issues.ORDER_REFUSED.error(order=order_id, reason=reason)
