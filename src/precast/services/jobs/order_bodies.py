"""The orders that a job sends to its nodes, by the kind of the job. A new kind of job is added here."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from precast.services.jobs import requests
from precast.services.jobs.requests import JobRequest, explain
from precast.services.jobs.sealed_commands import SealedExecOrder
from precast.store.jobs.attempts import AttemptKey
from precast.store.jobs.jobs import JobRow
from precast.wire.jobs import orders
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import ExecOrder, PlainOrder, RunOrder

_PLAIN = {requests.FACTS: orders.REFRESH_FACTS, requests.RESTART: orders.RESTART_AGENT, requests.REBOOT: orders.REBOOT}


class OrderBody(NamedTuple):
    """The kind of an order's record, and its body."""

    kind: str
    body: msgspec.Struct


def make_order(
    job: JobRow, request: JobRequest, key: AttemptKey, now: datetime, expires_at: datetime, seal: bytes | None
) -> OrderBody:
    """The order of an attempt. Commands have the signer's seal, which covers their node and their order."""
    order, why = make_order_id(key.job, key.task, key.n), explain(request, job.made_by)
    if job.kind == requests.EXEC:
        assert request.sealed_until is not None, "a command is sealed when it is created"
        document = ExecOrder(
            key.node,
            order,
            request.argv,
            now,
            request.sealed_until,
            request.limits.take_s,
            request.output_bytes,
            why,
        )
        sealed_until, action = request.sealed_until, ""
        if request.standing is not None:
            sealed_until, action = request.standing.until, request.standing.action
        return OrderBody(orders.EXEC, SealedExecOrder(document, request.token, sealed_until, seal or b"", action))
    if job.kind in _PLAIN:
        return OrderBody(_PLAIN[job.kind], PlainOrder(order, expires_at, why))
    return OrderBody(orders.RUN, RunOrder(order, request.mode, expires_at, request.tags, why))
