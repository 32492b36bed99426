"""future and futures: values that other nodes promise, which are unknown at compile time.

A key must be known when the catalog is compiled: the keys of a catalog decide who may read them, and who waits for whom. So a hole in a key
becomes concrete. The same holds for the options.
"""

from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.values.unknowns import Future

_TIMEOUT = "Optional[timeout] => Integer[1, 31536000]"
_AT_LEAST = "Optional[at_least] => Variant[Integer[0, 20000], Pattern[/\\A(100|[0-9]{1,2})%\\z/]]"

FUTURE = Function(
    "future",
    "Returns the value that a promise of this key will have. It is unknown at compile time; the node binds it before it applies "
    "the resource that needs it. In a job the resource waits for it, `timeout` seconds at most (600 if not given), and then fails.",
)
FUTURES = Function(
    "futures",
    "Returns the values that all promises of this key will have, as a hash of nodes and values. Nodes that fail are absent from it. The "
    "resource waits for all nodes of the job that promise the key, and fails if one of them does; with `at_least`, a number of nodes or "
    "a percentage such as '80%', so many are enough.",
)


@FUTURE.dispatch(f"String[1, 200] key, Struct[{{{_TIMEOUT}}}] options?", pure=False)
def _future(call: Call, key: str, options: Any = None) -> Future:
    call.host.has_unknowns = True
    return _make(key, options, many=False)


@FUTURES.dispatch(f"String[1, 200] key, Struct[{{{_AT_LEAST}, {_TIMEOUT}}}] options?", pure=False)
def _futures(call: Call, key: str, options: Any = None) -> Future:
    call.host.has_unknowns = True
    return _make(key, options, many=True)


def _make(key: str, options: Any, *, many: bool) -> Future:
    given = {} if options is None else dict(options.items())
    at_least, timeout_s = given.get("at_least"), given.get("timeout")
    if isinstance(at_least, str):
        return Future(key, many, at_least_percent=int(at_least.rstrip("%")), timeout_s=timeout_s)
    return Future(key, many, at_least=at_least, timeout_s=timeout_s)
