"""Has ordered commands and tasks signed on their way to the node: the stream holds the order and its seal, the node gets the signed order.

An order is signed when a server sends it, so the signature is always of the authority that the node trusts now. The text that is signed
names the node, the order, the command and its times; the process on the node that starts the command verifies it.

An order that the signer refuses is sent without a signature: the node refuses it too and answers, so that its step ends and the orders
behind it are not held up.
"""

import logging
from datetime import datetime
from typing import Protocol

import msgspec

from precast.base.errors import DeniedError
from precast.services.jobs.sealed_commands import SealedExecOrder, SealedTaskOrder
from precast.wire.jobs.orders import EXEC, TASK, ExecOrder, SignedExecOrder, SignedTaskOrder, TaskOrder
from precast.wire.jobs.signed_orders import order_text, task_text

log = logging.getLogger("precast.runs")


class OrderSigner(Protocol):
    """The authority, as far as orders need it."""

    async def sign_order(
        self, order: ExecOrder, token: str, sealed_until: datetime, seal: bytes, action: str = ""
    ) -> str:
        """Return the signature of the order's text, in base64. Raises the signer's error."""

    async def sign_task(
        self, order: TaskOrder, job: str, token: str, sealed_until: datetime, seal: bytes, action: str = ""
    ) -> str:
        """As `sign_order`, of a task of a plan."""


class OrderSignatures:
    """Prepares the orders of a node for sending."""

    def __init__(self, signer: OrderSigner) -> None:
        self._signer = signer

    async def prepare(self, node: str, kind: str, body: msgspec.Raw) -> msgspec.Raw:
        """Return the body to send: of a command the signed one, of other orders the same. Raises the signer's error, unless it refuses."""
        if kind == TASK:
            return await self._prepare_task(node, body)
        if kind != EXEC:
            return body
        sealed = msgspec.json.decode(body, type=SealedExecOrder)
        order = sealed.order
        assert order.node == node, "an order is posted to its node"
        try:
            signature = await self._signer.sign_order(
                order, sealed.token, sealed.sealed_until, sealed.seal, sealed.action
            )
        except DeniedError as error:
            log.warning("the command %s is sent to %s without a signature: %s", order.order, node, error)
            signature = ""
        signed = SignedExecOrder(
            order.order, order.expires_at, order.timeout_s, order_text(order), signature, order.why
        )
        return msgspec.Raw(msgspec.json.encode(signed))

    async def _prepare_task(self, node: str, body: msgspec.Raw) -> msgspec.Raw:
        sealed = msgspec.json.decode(body, type=SealedTaskOrder)
        order = sealed.order
        assert order.node == node, "an order is posted to its node"
        signature = ""
        if sealed.sealed_until is not None:
            try:
                signature = await self._signer.sign_task(
                    order, sealed.job, sealed.token, sealed.sealed_until, sealed.seal, sealed.action
                )
            except DeniedError as error:
                log.warning("the task %s is sent to %s without a signature: %s", order.order, node, error)
        signed = SignedTaskOrder(order.order, order.expires_at, order.timeout_s, task_text(order), signature, order.why)
        return msgspec.Raw(msgspec.json.encode(signed))
