"""The methods of Ruby that only rearrange what is written down, as far as declarations use them."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from precast.lang.ruby.erb.values import Pattern, Symbol

# A declaration that builds something longer is not read.
_LONGEST: Final = 100_000


class NotConstant(Exception):
    """The value depends on more than the text."""


def ruby_text(value: Any) -> str:
    """What `to_s` gives. Raises NotConstant for what has no plain text."""
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, Pattern):
        return f"(?-mix:{value.text})"
    raise NotConstant


def _plus(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or not isinstance(left, str | int | list):
        raise NotConstant
    found = left + right
    if not isinstance(found, int) and len(found) > _LONGEST:
        raise NotConstant
    return found


def _push(left: Any, right: Any) -> Any:
    if isinstance(left, list):
        left.append(right)
        return left
    return _plus(left, right)


def _get(receiver: Any, key: Any) -> Any:
    if isinstance(receiver, dict):
        return receiver.get(key)
    if isinstance(receiver, list) and isinstance(key, int):
        return receiver[key] if -len(receiver) <= key < len(receiver) else None
    raise NotConstant


def _map(receiver: Any, function: Any) -> Any:
    return [_applied(function, item) for item in _each(receiver)]


def _applied(function: Any, item: Any) -> Any:
    if isinstance(function, Symbol):
        method = METHODS.get(function.name)
        if method is None:
            raise NotConstant
        return method(item)
    return function(item)


def _each(receiver: Any) -> Iterable[Any]:
    if isinstance(receiver, dict):
        return [list(pair) for pair in receiver.items()]
    if isinstance(receiver, list):
        return receiver
    raise NotConstant


def _kept(receiver: Any, function: Any, wanted: bool) -> Any:
    return [item for item in _each(receiver) if (_applied(function, item) not in (None, False)) == wanted]


def _flat(value: Any) -> list[Any]:
    return [inner for item in value for inner in (_flat(item) if isinstance(item, list) else [item])]


def _unique(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in value:
        if item not in found:
            found.append(item)
    return found


def _without(left: Any, right: Any) -> Any:
    if isinstance(left, list):
        return [item for item in left if item not in right]
    return left - right


def _size(value: Any) -> int:
    if isinstance(value, str | list | dict) and not isinstance(value, Symbol):
        return len(value)
    raise NotConstant


def _snake(value: Any) -> Any:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ruby_text(value)).lower()


def _same(value: Any, *_: Any) -> Any:
    return value


def _last(value: Any) -> Any:
    return value[-1] if value else None


def _first(value: Any) -> Any:
    return value[0] if value else None


METHODS: Final[dict[str, Callable[..., Any]]] = {
    "+": _plus,
    "-": _without,
    "<<": _push,
    "push": _push,
    "==": lambda left, right: type(left) is type(right) and left == right,
    "[]": _get,
    "fetch": _get,
    "map": _map,
    "collect": _map,
    "each": lambda receiver, function: (_map(receiver, function), receiver)[1],
    "select": lambda receiver, function: _kept(receiver, function, wanted=True),
    "reject": lambda receiver, function: _kept(receiver, function, wanted=False),
    "to_sym": lambda value: Symbol(ruby_text(value)),
    "intern": lambda value: Symbol(ruby_text(value)),
    "to_s": ruby_text,
    "source": lambda value: value.text,
    "freeze": _same,
    "dup": _same,
    "to_a": _same,
    "flatten": _flat,
    "uniq": _unique,
    "compact": lambda value: [item for item in value if item is not None],
    "sort": lambda value: sorted(value),
    "keys": lambda value: list(value.keys()),
    "values": lambda value: list(value.values()),
    "merge": lambda left, right: {**left, **right},
    "concat": _plus,
    "first": _first,
    "last": _last,
    "empty?": lambda value: _size(value) == 0,
    "any?": lambda value: _size(value) > 0,
    "nil?": lambda value: value is None,
    "count": _size,
    "length": _size,
    "size": _size,
    "include?": lambda value, item: item in value,
    "join": lambda value, mark="": mark.join(map(ruby_text, _flat(value))),
    "split": lambda value, mark=None: value.split(mark if mark != " " else None),
    "upcase": lambda value: value.upper(),
    "downcase": lambda value: value.lower(),
    "capitalize": lambda value: value[:1].upper() + value[1:].lower(),
    "strip": lambda value: value.strip(),
    "tr": lambda value, before, after: value.replace(before, after) if len(before) == 1 else _no(),
    "underscore": _snake,
}


def _no() -> Any:
    raise NotConstant
