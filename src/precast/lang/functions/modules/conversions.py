"""Functions that convert to arrays, booleans, numbers and texts, and that pick the first value that is set."""

from typing import Any, Final

from precast.lang.functions.modules.declaration import argument_error, declare_legacy
from precast.lang.functions.registry import Unknowns
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import strict_float, to_i
from precast.lang.values.base import Hash, is_number
from precast.lang.values.regexps import compile_regexp

_EMPTY: Final = compile_regexp("^$")
_TRUE: Final = compile_regexp("(?i:^(1|t|y|true|yes)$)")
_FALSE: Final = compile_regexp("(?i:^(0|f|n|false|no)$)|^(undef|undefined)$")


def _is_set(value: Any) -> bool:
    return value is not None and value != ""


@declare_legacy(
    "pick", "Any *values", "Returns the first value that is neither undef nor an empty text.", unknowns=Unknowns.FLOW
)
def _pick(*values: Any) -> Any:
    for value in values:
        if _is_set(value):
            return value
    raise argument_error("pick", "must receive at least one non empty value")


@declare_legacy(
    "pick_default",
    "Any +values",
    "Returns the first value that is neither undef nor an empty text, otherwise the last value.",
    unknowns=Unknowns.FLOW,
)
def _pick_default(*values: Any) -> Any:
    return next(filter(_is_set, values[:-1]), values[-1])


@declare_legacy(
    "any2array",
    "Any *values",
    "Converts to an array: an array stays as it is, a hash becomes its keys and values in turn, an empty text an empty array.",
    unknowns=Unknowns.FLOW,
)
def _any2array(*values: Any) -> tuple[Any, ...]:
    if len(values) != 1:
        return values
    (value,) = values
    if isinstance(value, tuple):
        return value
    if isinstance(value, Hash):
        return tuple(item for entry in value.items() for item in entry)
    return () if value == "" else values


def parse_boolean(name: str, value: Any) -> bool:
    """Return a boolean, or the one that a text stands for. Raises LANG-470 for other texts and values."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise argument_error(name, "Requires string to work with")
    if _EMPTY.search(value):
        return False
    if _TRUE.search(value):
        return True
    if _FALSE.search(value):
        return False
    raise argument_error(name, f"Unknown type of boolean given: '{value}'")


@declare_legacy(
    "str2bool", "Any value, Any *rest", "Converts a text to a boolean: 1, t, y, true, yes; 0, f, n, false, no, undef."
)
def _str2bool(value: Any, *rest: Any) -> bool:
    return parse_boolean("str2bool", value)


@declare_legacy("bool2num", "Any value, Any *rest", "Converts a boolean, or a text that str2bool accepts, to 1 or 0.")
def _bool2num(value: Any, *rest: Any) -> int:
    return int(parse_boolean("bool2num", value))


@declare_legacy(
    "bool2str", "Any value, Any *texts", "Converts a boolean to 'true' or 'false', or to one of two given texts."
)
def _bool2str(value: Any, *texts: Any) -> str:
    if len(texts) not in (0, 2):
        raise argument_error("bool2str", f"takes one argument or three, got {1 + len(texts)}")
    if not isinstance(value, bool):
        raise argument_error("bool2str", "Requires a boolean to work with")
    true_text, false_text = (
        text if text is not False else str(default).lower()
        for text, default in zip(texts or (False, False), (True, False), strict=True)
    )
    if not isinstance(true_text, str) or not isinstance(false_text, str):
        raise argument_error("bool2str", "Requires strings to convert to")
    return true_text if value else false_text


def is_positive(value: Any) -> bool:
    """Return whether a number, or a text that is one, is greater than zero without its fraction. Raises LANG-470."""
    if isinstance(value, str):
        number = strict_float(value)
        if number is None:
            raise argument_error("num2bool", f"'{value}' does not look like a number")
        return int(number) > 0
    return int(value) > 0 if is_number(value) else to_i(ruby_text(value)) > 0


@declare_legacy("num2bool", "Any number", "Returns whether a number, or a text that is one, is greater than zero.")
def _num2bool(value: Any) -> bool:
    return is_positive(value)


@declare_legacy(
    "any2bool",
    "Any value, Any *rest",
    "Converts to a boolean: numbers by num2bool, texts by str2bool, other values are true.",
)
def _any2bool(value: Any, *rest: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value is None:
        return False
    if is_number(value) or (isinstance(value, str) and strict_float(value) is not None):
        return is_positive(value)
    return parse_boolean("any2bool", value) if isinstance(value, str) else True
