"""Verifies an ordered command or task before its process is started: signature, node, id, and expiry. Needs `cryptography`.

The order came through other processes and files. Only the signed text counts: what is run is exactly what the authority has signed for
this node. A task that only applies catalogs and looks needs no signature, as a run needs none: the catalogs are signed, and the node's
policy decides whether they may be enforced.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from precast.agent import issues
from precast.agent.catalog.policy_check import check_cached_policy
from precast.agent.catalog.signatures import is_signed
from precast.agent.identity.enrolment import Identity
from precast.base.errors import Issue, PrecastError
from precast.wire.jobs.orders import ExecOrder, SignedExecOrder, SignedTaskOrder, TaskOrder
from precast.wire.jobs.programs import CatalogWork, CleanTest, ManifestWork, TaskProgram, parse_program
from precast.wire.jobs.signed_orders import signed_order_bytes, signed_task_bytes

NOT_SIGNED = "it is not signed by an authority that this node trusts"
NEWER = "a newer Precast has written it"
NO_COMMANDS = "this node runs no commands: allow_exec is not set in its configuration"


class CheckedTask(NamedTuple):
    """A task that this node may begin, and the values that it gets from other tasks."""

    order: TaskOrder
    program: TaskProgram
    inputs: dict[str, Any]


def check_order(root: Path, order_id: str, signed: SignedExecOrder, now: datetime) -> ExecOrder:
    """Return the command to run. Raises DeniedError AGENT-031 if the node must not run it."""
    identity = Identity(root)
    if not is_signed(identity.authority, signed_order_bytes(signed.text), signed.signature):
        raise _refusal(order_id, NOT_SIGNED)
    try:
        order = msgspec.json.decode(signed.text, type=ExecOrder)
    except msgspec.MsgspecError:
        raise _refusal(order_id, NEWER) from None
    _check_recipient(identity, order_id, order, issues.ORDER_REFUSED)
    if order.expires_at <= now:
        raise _refusal(order_id, _too_late(order.expires_at))
    decision = check_cached_policy(root, "ordered", now)
    if not decision.may_enforce:
        raise _refusal(order_id, decision.why)
    return order


def check_task(
    root: Path, order_id: str, signed: SignedTaskOrder, now: datetime, *, allows_exec: bool, has_begun: bool = False
) -> CheckedTask:
    """Return the task to carry out. Raises DeniedError AGENT-032 if the node must not. One that has begun before does not expire."""
    identity = Identity(root)
    is_valid = is_signed(identity.authority, signed_task_bytes(signed.text), signed.signature)
    if signed.signature and not is_valid:
        raise _task_refusal(order_id, NOT_SIGNED)
    try:
        order = msgspec.json.decode(signed.text, type=TaskOrder)
        task = CheckedTask(order, parse_program(order.program), msgspec.json.decode(order.inputs, type=dict[str, Any]))
    except msgspec.MsgspecError:
        raise _task_refusal(order_id, NEWER) from None
    _check_recipient(identity, order_id, order, issues.TASK_REFUSED)
    if order.expires_at <= now and not has_begun:
        raise _task_refusal(order_id, _too_late(order.expires_at))
    for entry in needed_catalogs(task.program):
        if entry not in order.catalogs:
            raise _task_refusal(order_id, f"it does not name the version of {describe_catalog(entry)}")
    if task.program.needs_command_right:
        if not is_valid:
            raise _task_refusal(order_id, "it runs commands, and is not signed")
        if not allows_exec:
            raise _task_refusal(order_id, NO_COMMANDS)
        decision = check_cached_policy(root, "ordered", now)
        if not decision.may_enforce:
            raise _task_refusal(order_id, decision.why)
    return task


def needed_catalogs(program: TaskProgram) -> Iterator[str]:
    """The entry points whose catalogs a program applies or looks at; an empty one is the released catalog."""
    looked_at = (test.work for test in (*program.before, *program.after) if isinstance(test, CleanTest))
    for work in (program.work, *looked_at):
        if isinstance(work, ManifestWork):
            yield work.entry
        elif isinstance(work, CatalogWork):
            yield ""


def describe_catalog(entry: str) -> str:
    return f"the catalog of {entry}" if entry else "the released catalog"


def check_reboot(root: Path, order_id: str, now: datetime) -> None:
    """Raises DeniedError AGENT-031 if the node's policy permits no ordered commands, and so no reboot."""
    decision = check_cached_policy(root, "ordered", now)
    if not decision.may_enforce:
        raise _refusal(order_id, decision.why)


def _check_recipient(identity: Identity, order_id: str, order: ExecOrder | TaskOrder, refused: Issue) -> None:
    """Raise if an order is for another node, or is another one than its envelope says."""
    if order.node != identity.name():
        raise refused.error(order=order_id, reason=f"it is for {order.node}, and this node is {identity.name()}")
    if order.order != order_id:
        what = "command" if isinstance(order, ExecOrder) else "task"
        raise refused.error(order=order_id, reason=f"its signature is that of the {what} {order.order}")


def _too_late(expires_at: datetime) -> str:
    return f"it had to begin before {expires_at:%Y-%m-%d %H:%M:%SZ}"


def _refusal(order_id: str, reason: str) -> PrecastError:
    return issues.ORDER_REFUSED.error(order=order_id, reason=reason)


def _task_refusal(order_id: str, reason: str) -> PrecastError:
    return issues.TASK_REFUSED.error(order=order_id, reason=reason)
