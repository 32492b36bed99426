"""Functions that are called without a receiver: conversions, `sprintf`, `raise` and the like."""

import re
from typing import Any, Final

from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import Raised, exception_of, of_exception, raised
from precast.lang.ruby.execution import Execution, Jump
from precast.lang.ruby.methods.dispatch import METHODS, call_method, implicit_name, kernel_function, plain_text, to_str
from precast.lang.ruby.methods.enumerable import pairs
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyError
from precast.lang.ruby.puppet_values import strict_float, strict_integer
from precast.lang.ruby.stdlib.sprintf import sprintf
from precast.lang.ruby.values import Range, Symbol, class_name, from_ruby, inspect, range_items

Args = list[Any]
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@kernel_function("sprintf", "format")
def _sprintf(execution: Execution, args: Args, block: Proc | None) -> str:
    given = [execution.resolve(arg) for arg in args[1:]]
    texts = [execution.text(arg) if not isinstance(arg, int | float | dict) else arg for arg in given]
    return sprintf(to_str(args[0]), [from_ruby(item) for item in texts])


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


@kernel_function("Hash")
def _hash(execution: Execution, args: Args, block: Proc | None) -> dict[Any, Any]:
    value = args[0]
    return value if isinstance(value, dict) else call_method(execution, value or [], "to_h", [], None)


def _is_quiet(args: Args) -> bool:
    """Return whether `exception: false` asks for nil instead of an exception."""
    return bool(args) and isinstance(args[-1], dict) and args[-1].get(Symbol("exception")) is False


@kernel_function("Integer")
def _integer(execution: Execution, args: Args, block: Proc | None) -> int | None:
    value, is_quiet = execution.resolve(args[0]), _is_quiet(args)
    base = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
    if isinstance(value, str):
        number = strict_integer(value) if base in (0, 10) else _with_base(value, base)
        if base == 10 and re.match(r"\s*[-+]?0\d", value):
            number = _with_base(value, 10)
        if number is None and not is_quiet:
            raise ValueError(f"invalid value for Integer(): {inspect(value)}")
        return number
    if isinstance(value, int | float) and not isinstance(value, bool):
        if (number := strict_integer(value)) is None and not is_quiet:
            raise raised("FloatDomainError", "NaN" if value != value else "Infinity" if value > 0 else "-Infinity")
        return number
    if is_quiet:
        return None
    raise TypeError(f"can't convert {implicit_name(value)} into Integer")


def _with_base(text: str, base: int) -> int | None:
    digits = text.strip().lower().replace("_", "")
    digits = re.sub(r"^([-+]?)0[xbo]", r"\1", digits) if base in (2, 8, 16) else digits
    try:
        return int(digits, base)
    except ValueError:
        return None


@kernel_function("Float")
def _float(execution: Execution, args: Args, block: Proc | None) -> float | None:
    value, is_quiet = execution.resolve(args[0]), _is_quiet(args)
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        number = strict_float(value)
        if number is None and not is_quiet:
            raise ValueError(f"invalid value for Float(): {inspect(value)}")
        return number
    if is_quiet:
        return None
    raise TypeError(f"can't convert {implicit_name(value)} into Float")


@kernel_function("String")
def _string(execution: Execution, args: Args, block: Proc | None) -> str:
    return plain_text(execution, args[0])


@kernel_function("puts", "print", "p", "pp", "warn")
def _say(execution: Execution, args: Args, block: Proc | None) -> None:
    """Do nothing: Ruby would write to the terminal of the server."""


@kernel_function("raise", "fail")
def _raise(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    given = [arg for arg in args if not (isinstance(arg, dict) and Symbol("cause") in arg)]
    if not given:
        if execution.exception is not None:
            raise of_exception(execution.exception)
        raise raised("RuntimeError", "unhandled exception")
    first, message = given[0], given[1] if len(given) > 1 else None
    if isinstance(first, str):
        raise raised("RuntimeError", first)
    if isinstance(first, RubyError):
        if message is not None:
            first = call_method(execution, first, "exception", [message], None)
        raise of_exception(first)
    if isinstance(first, Constant | RubyClass):
        exception = call_method(execution, first, "new", [] if message is None else [message], None)
        if isinstance(exception, RubyError):
            raise of_exception(exception)
    raise TypeError("exception class/object expected")


@kernel_function("require", "load")
def _require(execution: Execution, args: list[Any], block: Proc | None) -> bool:
    return execution.require(to_str(args[0]), is_relative=False)


@kernel_function("require_relative")
def _require_relative(execution: Execution, args: list[Any], block: Proc | None) -> bool:
    return execution.require(to_str(args[0]), is_relative=True)


@kernel_function("autoload")
def _autoload(execution: Execution, args: list[Any], block: Proc | None) -> None:
    """Do nothing: a constant that is not built in is refused at its use."""


@kernel_function("loop")
def _loop(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    while True:
        try:
            execution.yield_to(block)
        except Raised as error:
            exception = exception_of(error)
            if exception is None or not isinstance(exception.kind, Constant) or exception.kind.name != "StopIteration":
                raise
            return None


@kernel_function("catch")
def _catch(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    tag = args[0] if args else object()
    try:
        return execution.yield_to(block, tag)
    except Jump as jump:
        if jump.kind == "throw" and jump.tag == tag:
            return jump.value
        raise


@kernel_function("throw")
def _throw(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    raise Jump("throw", args[1] if len(args) > 1 else None, args[0])


@kernel_function(
    "srand", "rand", "sleep", "system", "exec", "fork", "spawn", "exit", "abort", "gets", "open", "eval", "test"
)
def _refuse(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="a function that depends on more than its inputs (rand, system, eval …)")


@kernel_function("`")
def _refuse_command(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="commands in backquotes")


@kernel_function("caller", "caller_locations")
def _caller(execution: Execution, args: list[Any], block: Proc | None) -> list[Any]:
    return []


@kernel_function("gettext", "_", "n_")
def _translated(execution: Execution, args: list[Any], block: Proc | None) -> Any:
    """Return a message as it is: Puppet's translations are for people only."""
    if len(args) > 2:
        return args[0] if args[2] == 1 else args[1]
    return args[0]


@kernel_function("is_a?", "respond_to?", "instance_of?", "kind_of?", "nil?")
def _of_main(execution: Execution, args: list[Any], block: Proc | None) -> bool:
    return bool(args) and class_name(args[0]) == "Object"


def _as_method(function: Any) -> Any:
    return lambda execution, this, args, block: function(execution, args, block)


for _name, _function in (
    ("format", _sprintf),
    ("sprintf", _sprintf),
    ("Integer", _integer),
    ("Float", _float),
    ("raise", _raise),
    ("fail", _raise),
    ("Array", _array),
    ("String", _string),
):
    METHODS.setdefault("Kernel.", {})[_name] = _as_method(_function)
