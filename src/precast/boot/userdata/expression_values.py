"""The operations of template expressions: members, operators, and the closed lists of tests, filters and methods."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_LENGTH: Final = 1 << 20
MAX_INDENT: Final = 64


class TemplateError(ValueError):
    """A problem in a template; its text describes it."""


class Missing:
    """A missing value. It is false, and prints cloud-init's marker, so that it is noticed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"CI_MISSING_JINJA_VAR/{self.name}"


def get_member(value: Any, key: Any) -> Any:
    name = f"{value.name}.{key}" if isinstance(value, Missing) else str(key)
    if isinstance(value, dict):
        if key in value:
            return value[key]
        # Names in templates cannot have a dash; keys of metadata often do.
        right = next((each for each in value if isinstance(each, str) and each.replace("-", "_") == key), None)
        return Missing(name) if right is None else value[right]
    if isinstance(value, list | str) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    return Missing(name)


def slice_value(value: Any, start: Any, end: Any) -> Any:
    if not isinstance(value, str | list) or not all(each is None or type(each) is int for each in (start, end)):
        raise TemplateError("only texts and lists can be sliced, by numbers")
    return value[start:end]


def compare(sign: str, left: Any, right: Any) -> bool:
    try:
        if sign in ("in", "not"):
            return (left in right) is (sign == "in")
        if sign in ("==", "!="):
            return bool(left == right) is (sign == "==")
        return bool({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign])
    except TypeError:
        raise TemplateError(f"these cannot be compared by {sign}") from None


def calculate(sign: str, left: Any, right: Any) -> Any:
    if sign == "~":
        return f"{format_value(left)}{format_value(right)}"
    try:
        return _OPERATORS[sign](left, right)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise TemplateError(f"{sign} does not work on these values") from None


def call_function(name: str, function: Callable[..., Any], arguments: list[Any]) -> Any:
    try:
        return function(*arguments)
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise TemplateError(f"{name} does not work on these values") from None


def format_value(value: Any) -> str:
    """Return a value as a template prints it."""
    return str(value)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else format_value(value)


def _default(value: Any, right: Any = "", is_boolean: Any = False) -> Any:
    return right if isinstance(value, Missing) or (is_boolean and not value) else value


def _to_json(value: Any) -> str:
    return json.dumps(value)


def _replace(value: Any, old: str, new: str) -> str:
    text = _to_text(value)
    if len(text) + text.count(old) * len(new) > 2 * MAX_LENGTH:
        raise TemplateError(f"a value is longer than {MAX_LENGTH}")
    return text.replace(old, new)


def _join(value: Any, between: str = "") -> str:
    return between.join(map(_to_text, value))


def _indent(value: Any, width: int = 4, has_first: bool = False) -> str:
    """Indent every line but the first, or with `has_first` all lines, for YAML within YAML."""
    if type(width) is not int or not 0 <= width <= MAX_INDENT:
        raise TemplateError(f"indent goes from 0 to {MAX_INDENT}")
    lines = _to_text(value).split("\n")
    if sum(map(len, lines)) + len(lines) * width > 2 * MAX_LENGTH:
        raise TemplateError(f"a value is longer than {MAX_LENGTH}")
    kept = [f"{' ' * width}{line}" if line and (at or has_first) else line for at, line in enumerate(lines)]
    return "\n".join(kept)


def _to_number(value: Any, default: int = 0) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return default


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: _modulo(left, right),
}


def _modulo(left: Any, right: Any) -> Any:
    if isinstance(left, str):
        raise TypeError  # formatting can make any width
    return left % right


TESTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "defined": lambda value: not isinstance(value, Missing),
    "undefined": lambda value: isinstance(value, Missing),
    "none": lambda value: value is None,
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float),
    "mapping": lambda value: isinstance(value, dict),
    "sequence": lambda value: isinstance(value, list | str),
    "iterable": lambda value: isinstance(value, list | str | dict),
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "odd": lambda value: isinstance(value, int) and value % 2 == 1,
    "even": lambda value: isinstance(value, int) and value % 2 == 0,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "default": _default,
    "d": _default,
    "lower": lambda value: _to_text(value).lower(),
    "upper": lambda value: _to_text(value).upper(),
    "capitalize": lambda value: _to_text(value).capitalize(),
    "title": lambda value: _to_text(value).title(),
    "trim": lambda value: _to_text(value).strip(),
    "replace": _replace,
    "join": _join,
    "first": lambda value: value[0] if value else Missing("first"),
    "last": lambda value: value[-1] if value else Missing("last"),
    "length": len,
    "count": len,
    "int": _to_number,
    "float": float,
    "abs": abs,
    "min": min,
    "max": max,
    "sum": sum,
    "indent": _indent,
    "string": _to_text,
    "list": list,
    "sort": sorted,
    "unique": lambda value: list(dict.fromkeys(value)),
    "reverse": lambda value: value[::-1],
    "items": lambda value: [list(pair) for pair in value.items()],
    "tojson": _to_json,
    "to_json": _to_json,
}
METHODS: Final[Mapping[str, tuple[type, Callable[..., Any]]]] = {
    "split": (str, str.split),
    "replace": (str, _replace),
    "lower": (str, str.lower),
    "upper": (str, str.upper),
    "strip": (str, str.strip),
    "lstrip": (str, str.lstrip),
    "rstrip": (str, str.rstrip),
    "startswith": (str, str.startswith),
    "endswith": (str, str.endswith),
    "join": (str, lambda between, value: _join(value, between)),
    "get": (dict, lambda value, key, default=None: value.get(key, default)),
    "items": (dict, lambda value: [list(pair) for pair in value.items()]),
    "keys": (dict, list),
    "values": (dict, lambda value: list(value.values())),
}
