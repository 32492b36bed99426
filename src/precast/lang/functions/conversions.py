"""type, assert_type, new, convert_to, annotate: functions on data types."""

from typing import Any

from precast.lang import datatypes
from precast.lang.conversions import create
from precast.lang.datatypes import mismatch
from precast.lang.datatypes.combined import SensitiveType
from precast.lang.datatypes.library import DEFERRED
from precast.lang.functions import issues
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.values.core import Sensitive, Unknown

TYPE = Function("type", "The data type of a value: detailed, reduced or generalized.")
ASSERT_TYPE = Function(
    "assert_type",
    "The value, if it is an instance of the type; else an error, or what the block says of the wanted and the actual type.",
    unknowns=Unknowns.FLOW,
)
NEW = Function("new", "A new value of a type from other values; the same as calling the type.", unknowns=Unknowns.FLOW)
CONVERT_TO = Function("convert_to", "The value as one of another type: new with the value first.")
ANNOTATE = Function("annotate", "Annotations on values; Precast keeps none.")


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
def _assert_type(call: Call, wanted: datatypes.Type, value: Any) -> Any:
    if wanted.check(value):
        return value
    if call.block is not None:
        return call.block.call(wanted, datatypes.infer(value))
    raise issues.WRONG_TYPE.error(reason=mismatch.describe("assert_type():", wanted, value))


@ASSERT_TYPE.dispatch("String type_string, Any value, Callable[Type, Type] &block?", pure=False)
def _assert_type_text(call: Call, wanted: str, value: Any) -> Any:
    return _assert_type(call, call.host.parse_type(call.scope, wanted), value)


@NEW.dispatch("Type type, Any *args, Callable &block?", pure=False)
def new(call: Call, wanted: datatypes.Type, *args: Any) -> Any:
    """What only wraps values takes those that are not known yet; every other type looks at them."""
    if isinstance(wanted, SensitiveType) and len(args) == 1 and isinstance(args[0], Unknown):
        made: Any = Sensitive(args[0])  # it may turn out to be Sensitive itself, but must not be shown until then
    else:
        is_wrapping = isinstance(wanted, SensitiveType) or wanted == DEFERRED
        made = create(wanted, args if is_wrapping else call.host.concrete(args, call.span), call)
    return made if call.block is None else call.block.call(made)


@CONVERT_TO.dispatch("Any value, Type type, Any *args, Callable[1, 1] &block?", pure=False)
def _convert_to(call: Call, value: Any, wanted: datatypes.Type, *args: Any) -> Any:
    return new(call, wanted, value, *args)


@ANNOTATE.dispatch("Type type, Any value, Any annotation_hash?")
def _annotate(kind: datatypes.Type, value: Any, annotations: Any = None) -> Any:
    raise issues.NO_ANNOTATIONS.error(type=str(kind))
