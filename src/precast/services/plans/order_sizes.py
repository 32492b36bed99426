"""How large the order of a task is: it has to fit in one frame of its node's session.

A program is a text within the order, and the order is a text within the frame, so each quote or line break of a program takes up to four
bytes. A frame that is too large would end the session of its node, again whenever the node connects; and the signer would disconnect the
server that asks for its signature.
"""

from datetime import UTC, datetime

import msgspec

from precast.wire.jobs.orders import SignedTaskOrder, TaskOrder
from precast.wire.jobs.signed_orders import task_text
from precast.wire.sessions import MAX_FRAME_BYTES

# Besides the order, a frame has its number and time; the order gets a signature.
MAX_ORDER_BYTES = MAX_FRAME_BYTES - 32 * 1024
# What remains of an order is for inputs, which are known only when the task begins.
MAX_PROGRAM_BYTES = MAX_ORDER_BYTES - 64 * 1024
# The most bytes of a frame for one byte of a text within an order.
_GROWTH = 4
_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def measure_order(order: TaskOrder) -> int:
    """The bytes of an order as it is sent, without its signature; of one that is surely small enough at least as many."""
    if (most := _GROWTH * len(order.program.encode()) + _GROWTH * len(order.inputs.encode())) < MAX_ORDER_BYTES // 4:
        return most
    signed = SignedTaskOrder(order.order, order.expires_at, order.timeout_s, task_text(order), "", order.why)
    return len(msgspec.json.encode(signed))


def measure_program(program: str) -> int:
    """The bytes that a program takes in its order."""
    return measure_order(TaskOrder("", "", program, _SOME_TIME, _SOME_TIME, 0.0, 0))
