"""type, assert_type, new, convert_to, annotate: functions on data types."""

from typing import Any

from precast.lang import datatypes
from precast.lang.conversions import create
from precast.lang.datatypes import mismatch
from precast.lang.datatypes.composites import SensitiveType
from precast.lang.datatypes.library import DEFERRED
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.issues import functions as issues
from precast.lang.values.base import Sensitive, Unknown

TYPE = Function("type", "Returns the data type of a value: detailed, reduced or generalized.")
ASSERT_TYPE = Function(
    "assert_type",
    "Returns the value if it is an instance of the type; otherwise it fails, or returns the result of the block for the "
    "expected and the actual type.",
    unknowns=Unknowns.FLOW,
)
NEW = Function(
    "new", "Creates a value of a type from other values; calling the type does the same.", unknowns=Unknowns.FLOW
)
CONVERT_TO = Function("convert_to", "Converts a value to another type, like new with the value first.")
ANNOTATE = Function("annotate", "Would annotate a value: not supported.")


@TYPE.dispatch("Any value, Enum['detailed'] inference_method?")
def _type(value: Any, method: str = "detailed") -> datatypes.Type:
    return datatypes.infer(value)


@TYPE.dispatch("Any value, Enum['reduced'] inference_method")
def _type_reduced(value: Any, method: str) -> datatypes.Type:
    return datatypes.infer_reduced(value)


@TYPE.dispatch("Any value, Enum['generalized'] inference_method")
def _type_generalized(value: Any, method: str) -> datatypes.Type:
    return datatypes.infer_reduced(value).generalized()


@ASSERT_TYPE.dispatch("Type type, Any value, Callable[Type, Type] &block?", pure=False)
def _assert_type(call: Call, expected: datatypes.Type, value: Any) -> Any:
    if expected.check(value):
        return value
    if call.block is not None:
        return call.block.call(expected, datatypes.infer(value))
    raise issues.WRONG_TYPE.error(reason=mismatch.describe("assert_type():", expected, value))


@ASSERT_TYPE.dispatch("String type_string, Any value, Callable[Type, Type] &block?", pure=False)
def _assert_type_text(call: Call, expected: str, value: Any) -> Any:
    return _assert_type(call, call.host.parse_type(call.scope, expected), value)


@NEW.dispatch("Type type, Any *args, Callable &block?", pure=False)
def new(call: Call, expected: datatypes.Type, *args: Any) -> Any:
    """Create a value of a type. Types that only wrap a value accept an unknown value; for all others it is made concrete."""
    if isinstance(expected, SensitiveType) and len(args) == 1 and isinstance(args[0], Unknown):
        # The value may turn out to be Sensitive itself, but must not be shown until then.
        value: Any = Sensitive(args[0])
    else:
        is_wrapping = isinstance(expected, SensitiveType) or expected == DEFERRED
        value = create(expected, args if is_wrapping else call.host.concrete(args, call.span), call)
    return value if call.block is None else call.block.call(value)


@CONVERT_TO.dispatch("Any value, Type type, Any *args, Callable[1, 1] &block?", pure=False)
def _convert_to(call: Call, value: Any, expected: datatypes.Type, *args: Any) -> Any:
    return new(call, expected, value, *args)


@ANNOTATE.dispatch("Type type, Any value, Any annotation_hash?")
def _annotate(kind: datatypes.Type, value: Any, annotations: Any = None) -> Any:
    raise issues.NO_ANNOTATIONS.error(type=str(kind))
