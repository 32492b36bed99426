"""with, then, lest, call, unwrap, break, next, return: functions that control which code runs next."""

from typing import Any, NoReturn

from precast.lang.control_flow import Break, Next, Return
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.values.base import Hash, Sensitive, Unknown
from precast.lang.values.secret_texts import note_unwrapped
from precast.lang.values.unknowns import DeferredCall, is_deferred, is_late

WITH = Function(
    "with", "Calls the block with the arguments, which gives the block a scope of its own.", unknowns=Unknowns.FLOW
)
THEN = Function(
    "then", "Calls the block with the value and returns its result; undef stays undef.", unknowns=Unknowns.FLOW
)
LEST = Function("lest", "Returns the value, or the result of the block if the value is undef.", unknowns=Unknowns.FLOW)
CALL = Function(
    "call", "Calls a function by its name, or makes the call that a Deferred describes.", unknowns=Unknowns.FLOW
)
UNWRAP = Function(
    "unwrap",
    "Returns the value inside a Sensitive, or the result of the block for it; other values are returned as they are.",
    unknowns=Unknowns.FLOW,
)
BREAK = Function("break", "Ends the innermost iteration.")
NEXT = Function("next", "Ends the current call of the block, whose result is the value.", unknowns=Unknowns.FLOW)
RETURN = Function("return", "Leaves the function, class or define with the value.", unknowns=Unknowns.FLOW)


@WITH.dispatch("Any *arg, Callable &block")
def _with(call: Call, *args: Any) -> Any:
    return call.run_block(*args)


@THEN.dispatch("Any arg, Callable[1, 1] &block")
def _then(call: Call, value: Any) -> Any:
    return None if value is None else call.run_block(value)


@LEST.dispatch("Any arg, Callable[0, 0] &block")
def _lest(call: Call, value: Any) -> Any:
    return call.run_block() if value is None else value


@CALL.dispatch("String function_name, Any *arguments, Callable &block?", pure=False)
def _call(call: Call, name: str, *args: Any) -> Any:
    return call.host.call_function(call.scope, name.removeprefix("::").lower(), args, call.block)


@CALL.dispatch("Deferred deferred", pure=False)
def _call_deferred(call: Call, deferred: Any) -> Any:
    if isinstance(deferred, DeferredCall):
        return call.host.call_function(call.scope, deferred.name, deferred.arguments)
    args = deferred.attributes["arguments"] or ()
    return call.host.call_function(call.scope, deferred.attributes["name"], args)


@UNWRAP.dispatch("Any arg, Callable &block?", pure=False)
def _unwrap(call: Call, value: Any) -> Any:
    if isinstance(value, Unknown) or (isinstance(value, Sensitive) and _has_late(value.unwrap())):
        # The node unwraps it, and keeps secret what it makes of it.
        value = call.host.defer("unwrap", (value,))
    while isinstance(value, Sensitive):
        value = value.unwrap()
        note_unwrapped(value)
    return value if call.block is None else call.block.call(value)


def _has_late(value: Any) -> bool:
    """Whether a value is, or contains, one that only the node will know, or a call that code has deferred."""
    if isinstance(value, tuple):
        return any(map(_has_late, value))
    if isinstance(value, Hash):
        return any(map(_has_late, value.values()))
    return is_late(value) or is_deferred(value)


@BREAK.dispatch("")
def _break() -> NoReturn:
    raise Break


@NEXT.dispatch("Any value?")
def _next(value: Any = None) -> NoReturn:
    raise Next(value)


@RETURN.dispatch("Any value?")
def _return(value: Any = None) -> NoReturn:
    raise Return(value)
