"""The first value that is there, arrays of anything, and booleans from and to texts and numbers."""

from typing import Any, Final

from precast.lang.functions.modules.declaration import declare_older, wrong
from precast.lang.functions.registry import Unknowns
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import strict_float, to_i
from precast.lang.values.core import Hash, is_number
from precast.lang.values.regexps import compile_regexp

_EMPTY: Final = compile_regexp("^$")
_YES: Final = compile_regexp("(?i:^(1|t|y|true|yes)$)")
_NO: Final = compile_regexp("(?i:^(0|f|n|false|no)$)|^(undef|undefined)$")


def _is_there(value: Any) -> bool:
    return value is not None and value != ""


@declare_older(
    "pick", "Any *values", "The first of the values that is neither undef nor empty text.", unknowns=Unknowns.FLOW
)
def _pick(*values: Any) -> Any:
    for value in values:
        if _is_there(value):
            return value
    raise wrong("pick", "must receive at least one non empty value")


@declare_older(
    "pick_default",
    "Any +values",
    "The first of the values that is neither undef nor empty text, else the last one whatever it is.",
    unknowns=Unknowns.FLOW,
)
def _pick_default(*values: Any) -> Any:
    return next(filter(_is_there, values[:-1]), values[-1])


@declare_older(
    "any2array",
    "Any *values",
    "An array of anything: an array as it is, a hash as its keys and values in turn, nothing as an empty array.",
    unknowns=Unknowns.FLOW,
)
def _any2array(*values: Any) -> tuple[Any, ...]:
    if len(values) != 1:
        return values
    (value,) = values
    if isinstance(value, tuple):
        return value
    if isinstance(value, Hash):
        return tuple(each for entry in value.items() for each in entry)
    return () if value == "" else values


def is_yes(name: str, value: Any) -> bool:
    """A boolean, or one from a text. Raises where the text says neither."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise wrong(name, "Requires string to work with")
    if _EMPTY.search(value):
        return False
    if _YES.search(value):
        return True
    if _NO.search(value):
        return False
    raise wrong(name, f"Unknown type of boolean given: '{value}'")


@declare_older(
    "str2bool", "Any value, Any *rest", "A boolean from a text: 1, t, y, true, yes; 0, f, n, false, no, undef."
)
def _str2bool(value: Any, *rest: Any) -> bool:
    return is_yes("str2bool", value)


@declare_older("bool2num", "Any value, Any *rest", "1 or 0 for a boolean, or for a text that str2bool takes.")
def _bool2num(value: Any, *rest: Any) -> int:
    return int(is_yes("bool2num", value))


@declare_older("bool2str", "Any value, Any *texts", "'true' or 'false', or two texts of one's own, for a boolean.")
def _bool2str(value: Any, *texts: Any) -> str:
    if len(texts) not in (0, 2):
        raise wrong("bool2str", f"takes one argument or three, got {1 + len(texts)}")
    if not isinstance(value, bool):
        raise wrong("bool2str", "Requires a boolean to work with")
    yes, no = (
        text if text is not False else str(default).lower()
        for text, default in zip(texts or (False, False), (True, False), strict=True)
    )
    if not isinstance(yes, str) or not isinstance(no, str):
        raise wrong("bool2str", "Requires strings to convert to")
    return yes if value else no


def is_positive(value: Any) -> bool:
    """Whether a number, or a text that is one, is above zero when its fraction is cut off."""
    if isinstance(value, str):
        number = strict_float(value)
        if number is None:
            raise wrong("num2bool", f"'{value}' does not look like a number")
        return int(number) > 0
    return int(value) > 0 if is_number(value) else to_i(ruby_text(value)) > 0


@declare_older("num2bool", "Any number", "Whether a number, or a text that is one, is above zero.")
def _num2bool(value: Any) -> bool:
    return is_positive(value)


@declare_older(
    "any2bool",
    "Any value, Any *rest",
    "A boolean of anything: numbers by num2bool, texts by str2bool, all else is true.",
)
def _any2bool(value: Any, *rest: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value is None:
        return False
    if is_number(value) or (isinstance(value, str) and strict_float(value) is not None):
        return is_positive(value)
    return is_yes("any2bool", value) if isinstance(value, str) else True
