"""Commands and tasks that are ordered from a node, signed by the authority.

The process on the node that starts the command verifies the signature, the node's name and the expiry first, and runs exactly the signed
command. Whatever carried the order there can delay it or lose it, and nothing else.
"""

from precast.base import canonical
from precast.wire.jobs.orders import ExecOrder, TaskOrder

# Prefixed to the signed text, so that the signature is not valid for any other kind of document.
_SIGNATURE_PREFIX = b"precast order 1\n"
_TASK_PREFIX = b"precast task 1\n"


def order_text(order: ExecOrder) -> str:
    return canonical.encode(order).decode()


def signed_order_bytes(text: str) -> bytes:
    """The bytes that the signature of an order covers."""
    return _SIGNATURE_PREFIX + text.encode()


def task_text(order: TaskOrder) -> str:
    return canonical.encode(order).decode()


def signed_task_bytes(text: str) -> bytes:
    """The bytes that the signature of a task covers."""
    return _TASK_PREFIX + text.encode()
