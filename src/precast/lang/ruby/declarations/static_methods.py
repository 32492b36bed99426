"""The methods that static evaluation can call: those that only rearrange literals, as far as declarations use them.

They are apart from `lang.ruby.methods`: here a call that the text does not determine must raise NotStatic, not an error of the user.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from precast.lang.ruby.values import Pattern, Symbol

# A declaration that builds a longer string or array is not read.
_MAX_LENGTH: Final = 100_000


class NotStatic(Exception):
    """The value of the code depends on more than its text."""


def static_text(value: Any) -> str:
    """Return Ruby's `to_s` of a value. Raises NotStatic for arrays, hashes and blocks."""
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
    raise NotStatic


def _plus(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or not isinstance(left, str | int | list):
        raise NotStatic
    total = left + right
    if not isinstance(total, int) and len(total) > _MAX_LENGTH:
        raise NotStatic
    return total


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
    raise NotStatic


def _map(receiver: Any, function: Any) -> Any:
    return [_apply(function, item) for item in _items(receiver)]


def _apply(function: Any, item: Any) -> Any:
    if isinstance(function, Symbol):
        method = STATIC_METHODS.get(function.name)
        if method is None:
            raise NotStatic
        return method(item)
    return function(item)


def _items(receiver: Any) -> Iterable[Any]:
    if isinstance(receiver, dict):
        return [list(pair) for pair in receiver.items()]
    if isinstance(receiver, list):
        return receiver
    raise NotStatic


def _filter(receiver: Any, function: Any, keeps: bool) -> Any:
    return [item for item in _items(receiver) if (_apply(function, item) not in (None, False)) == keeps]


def _flatten(value: Any) -> list[Any]:
    return [inner for item in value for inner in (_flatten(item) if isinstance(item, list) else [item])]


def _unique(value: Any) -> list[Any]:
    items: list[Any] = []
    for item in value:
        if item not in items:
            items.append(item)
    return items


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, list):
        return [item for item in left if item not in right]
    return left - right


def _size(value: Any) -> int:
    if isinstance(value, str | list | dict) and not isinstance(value, Symbol):
        return len(value)
    raise NotStatic


def _snake(value: Any) -> Any:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", static_text(value)).lower()


def _same(value: Any, *_: Any) -> Any:
    return value


def _last(value: Any) -> Any:
    return value[-1] if value else None


def _first(value: Any) -> Any:
    return value[0] if value else None


STATIC_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "+": _plus,
    "-": _subtract,
    "<<": _push,
    "push": _push,
    "==": lambda left, right: type(left) is type(right) and left == right,
    "[]": _get,
    "fetch": _get,
    "map": _map,
    "collect": _map,
    "each": lambda receiver, function: (_map(receiver, function), receiver)[1],
    "select": lambda receiver, function: _filter(receiver, function, keeps=True),
    "reject": lambda receiver, function: _filter(receiver, function, keeps=False),
    "to_sym": lambda value: Symbol(static_text(value)),
    "intern": lambda value: Symbol(static_text(value)),
    "to_s": static_text,
    "source": lambda value: value.text,
    "freeze": _same,
    "dup": _same,
    "to_a": _same,
    "flatten": _flatten,
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
    "join": lambda value, mark="": mark.join(map(static_text, _flatten(value))),
    "split": lambda value, mark=None: value.split(mark if mark != " " else None),
    "upcase": lambda value: value.upper(),
    "downcase": lambda value: value.lower(),
    "capitalize": lambda value: value[:1].upper() + value[1:].lower(),
    "strip": lambda value: value.strip(),
    "tr": lambda value, before, after: value.replace(before, after) if len(before) == 1 else _raise_not_static(),
    "underscore": _snake,
}


def _raise_not_static() -> Any:
    raise NotStatic
