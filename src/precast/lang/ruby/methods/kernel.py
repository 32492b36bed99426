"""Functions that are called without a receiver: conversions, `sprintf`, `raise` and the like."""

from typing import Any

from precast.lang.issues import erb as issues
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import kernel_function, plain_text, to_str
from precast.lang.ruby.methods.enumerable import pairs
from precast.lang.ruby.stdlib.sprintf import sprintf
from precast.lang.ruby.values import Constant, Proc, Range, from_ruby, range_items

Args = list[Any]


@kernel_function("sprintf", "format")
def _sprintf(execution: Execution, args: Args, block: Proc | None) -> str:
    return sprintf(to_str(args[0]), [from_ruby(execution.resolve(arg)) for arg in args[1:]])


@kernel_function("Array")
def _array(execution: Execution, args: Args, block: Proc | None) -> list[Any]:
    (value,) = args
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return pairs(value)
    if isinstance(value, Range):
        return range_items(value)
    return [] if value is None else [value]


@kernel_function("Integer")
def _integer(execution: Execution, args: Args, block: Proc | None) -> int:
    value = execution.resolve(args[0])
    if isinstance(value, str):
        return int(value.replace("_", ""), int(args[1]) if len(args) > 1 else 0)
    if value is None:
        raise TypeError("can't convert nil into Integer")
    return int(value)


@kernel_function("Float")
def _float(execution: Execution, args: Args, block: Proc | None) -> float:
    return float(execution.resolve(args[0]))


@kernel_function("String")
def _string(execution: Execution, args: Args, block: Proc | None) -> str:
    return plain_text(execution, args[0])


@kernel_function("puts", "print", "p", "pp", "warn")
def _say(execution: Execution, args: Args, block: Proc | None) -> None:
    """Do nothing: Ruby would write to the terminal of the server."""


@kernel_function("raise", "fail")
def _raise(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    words = [plain_text(execution, arg) for arg in args if not isinstance(arg, Constant)]
    raise issues.RAISED.error(message=words[0] if words else "unhandled exception")


@kernel_function("require", "require_relative", "load")
def _require(execution: Execution, args: list[Any], block: Proc | None) -> bool:
    return True  # the library is built in, or its use is refused at the call


@kernel_function("loop")
def _loop(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    while True:
        execution.yield_to(block)
