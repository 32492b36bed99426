"""future and futures: values that other nodes promise, known only when they are there."""

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.values.unknowns import Future

FUTURE = Function(
    "future",
    "What a promise of this key will hold: not known while compiling, bound on the node before the one resource that needs it.",
)
FUTURES = Function("futures", "What every promise of this key will hold, as a hash of nodes to values.")


@FUTURE.dispatch("String[1] key", pure=False)
def _future(call: Call, key: str) -> Future:
    call.host.has_unknowns = True
    return Future(key)


@FUTURES.dispatch("String[1] key", pure=False)
def _futures(call: Call, key: str) -> Future:
    call.host.has_unknowns = True
    return Future(key, many=True)
