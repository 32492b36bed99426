"""Signs ordered commands on their way to the node: the stream holds the order, the node gets the signed one.

An order is signed when a server sends it, so the signature is always of the authority that the node trusts now. The text that is signed
names the node, the order, the command and its times; the process on the node that starts the command verifies it.
"""

from typing import Protocol

import msgspec

from precast.wire.jobs.orders import EXEC, ExecOrder, SignedExecOrder
from precast.wire.jobs.signed_orders import order_text


class OrderSigner(Protocol):
    """The authority, as far as orders need it."""

    async def sign_order(self, order: ExecOrder) -> str:
        """Return the signature of the order's text, in base64. Raises the signer's error."""


class OrderSignatures:
    """Prepares the orders of a node for sending."""

    def __init__(self, signer: OrderSigner) -> None:
        self._signer = signer

    async def prepare(self, node: str, kind: str, body: msgspec.Raw) -> msgspec.Raw:
        """Return the body to send: of a command the signed one, of other orders the same. Raises the signer's error."""
        if kind != EXEC:
            return body
        order = msgspec.json.decode(body, type=ExecOrder)
        assert order.node == node, "an order is posted to its node"
        signature = await self._signer.sign_order(order)
        signed = SignedExecOrder(
            order.order, order.expires_at, order.timeout_s, order_text(order), signature, order.why
        )
        return msgspec.Raw(msgspec.json.encode(signed))
