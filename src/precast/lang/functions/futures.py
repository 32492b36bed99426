"""future and futures: values that other nodes promise, which are unknown at compile time."""

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.values.unknowns import Future

FUTURE = Function(
    "future",
    "Returns the value that a promise of this key will have. It is unknown at compile time; the node binds it before it applies "
    "the resource that needs it.",
)
FUTURES = Function(
    "futures", "Returns the values that all promises of this key will have, as a hash of nodes and values."
)


@FUTURE.dispatch("String[1] key", pure=False)
def _future(call: Call, key: str) -> Future:
    call.host.has_unknowns = True
    return Future(key)


@FUTURES.dispatch("String[1] key", pure=False)
def _futures(call: Call, key: str) -> Future:
    call.host.has_unknowns = True
    return Future(key, many=True)
