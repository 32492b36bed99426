"""Commands that the signer has sealed for a person: the seals are stored with the job, so any server that drives it can use them.

The signer verifies the person's own token, and later signs only orders that have a seal. A server that drives a job can neither change
the command nor order it from another node.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

import msgspec

from precast.services.identity.signer.messages import MAX_ITEMS, Command, Credential
from precast.services.identity.signer.verbs.commands import LONGEST
from precast.services.jobs.requests import EXEC_GRACE_S, ONLY_TASK, JobRequest, explain, resolve_amount
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.jobs.orders import ExecOrder, TaskOrder

# Beyond the time that the job's own limits allow: servers may be down for a while and go on.
SLACK = timedelta(hours=1)


class CommandSigner(Protocol):
    """The signer, as far as new commands need it."""

    async def seal_command(
        self, order: str, command: Command, nodes: Sequence[str], expires_at: datetime, approver: Credential | None
    ) -> list[bytes]:
        """Seal a command for at most `MAX_ITEMS` nodes. Raises the signer's error."""

    async def seal_standing(
        self, action: str, command: Command, nodes: Sequence[str], expires_at: datetime, approver: Credential | None
    ) -> list[bytes]:
        """Seal a command that an action repeats, for at most `MAX_ITEMS` nodes; without nodes for any. Raises the signer's error."""


class SealedExecOrder(msgspec.Struct, frozen=True):
    """An ordered command as the stream of its node holds it: what the signer needs to sign it."""

    order: ExecOrder
    token: str
    sealed_until: datetime
    seal: bytes
    action: str = ""  # whose standing seal it is


class SealedTaskOrder(msgspec.Struct, frozen=True):
    """An ordered task as the stream of its node holds it. Without a seal it needs none: it only applies catalogs and looks."""

    order: TaskOrder
    job: str
    token: str = ""
    sealed_until: datetime | None = None
    seal: bytes = b""
    action: str = ""  # whose standing seal it is


class SealedRequest(NamedTuple):
    """The request of a command as it is stored, and the seal of each node."""

    request: JobRequest
    seals: dict[str, bytes]


class NewCommand(NamedTuple):
    """A command that a person orders, before it is sealed."""

    job: str
    round: int
    request: JobRequest
    nodes: Sequence[str]
    made_by: str


async def seal_command(
    signer: CommandSigner, new: NewCommand, credential: Credential | None, now: datetime
) -> SealedRequest:
    """Have the signer seal a command for a person. Raises the signer's error; then nothing is ordered."""
    request = new.request
    sealed_until = find_sealed_until(request, len(new.nodes), now)
    command = make_command(request, new.made_by)
    seals: dict[str, bytes] = {}
    for start in range(0, len(new.nodes), MAX_ITEMS):
        part = new.nodes[start : start + MAX_ITEMS]
        order = make_order_id(new.job, ONLY_TASK, new.round)
        given = await signer.seal_command(order, command, part, sealed_until, credential)
        seals.update(zip(part, given, strict=True))
    token = "" if credential is None else credential.record.id
    sealed = msgspec.structs.replace(request, token=token, sealed_until=sealed_until, standing=None)
    return SealedRequest(sealed, seals)


async def seal_standing(
    signer: CommandSigner, new: NewCommand, until: datetime, credential: Credential | None
) -> dict[str, bytes]:
    """Have the signer seal a command that an action (`new.job`) repeats until a time: for each node, or without nodes for any (under an
    empty name). Raises the signer's error."""
    command = make_command(new.request, new.made_by)
    seals: dict[str, bytes] = {}
    for start in range(0, max(1, len(new.nodes)), MAX_ITEMS):
        part = list(new.nodes[start : start + MAX_ITEMS])
        given = await signer.seal_standing(new.job, command, part, until, credential)
        seals.update(zip(part or [""], given, strict=True))
    return seals


def find_sealed_until(request: JobRequest, count: int, now: datetime) -> datetime:
    """When the last order of a job over `count` nodes that starts now may begin at the latest."""
    return now + min(LONGEST, _longest_turns(request, count) + SLACK)


def make_command(request: JobRequest, made_by: str) -> Command:
    return Command(request.argv, request.limits.take_s, request.output_bytes, explain(request, made_by))


def _longest_turns(request: JobRequest, count: int) -> timedelta:
    """How long it may take until the last node begins, if every node takes as long as it may."""
    limits = request.limits
    batch = min(count, resolve_amount(limits.batch, count) or count)
    turns = math.ceil(count / batch) * math.ceil(batch / min(batch, request.at_once or batch))
    turn_s = max(limits.begin_s, limits.away_s) + limits.take_s + EXEC_GRACE_S
    # Bounded before it is a time, which cannot be as long as the limits of a large fleet allow.
    return timedelta(seconds=min(turns * turn_s, LONGEST.total_seconds()))
