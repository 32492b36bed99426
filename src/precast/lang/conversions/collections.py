"""Makes Array, Hash, Tuple and Struct from other values."""

import sys
from collections.abc import Sequence
from typing import Final

from precast.lang.conversions.arguments import Arguments, not_convertible
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.references import TypeAlias
from precast.lang.datatypes.scalars import EnumType, IntegerType
from precast.lang.issues import types as issues
from precast.lang.values import base as values
from precast.lang.values.base import Binary, Hash, Value

_TREES: Final = ("tree", "hash_tree")


def elements(value: Value) -> tuple[Value, ...] | None:
    """The values that an iteration over a value yields; None if it cannot be iterated."""
    if isinstance(value, tuple):
        return tuple(value)
    if isinstance(value, Hash):
        return tuple(value.items())
    if isinstance(value, str):
        return tuple(value)
    if isinstance(value, values.Iterator):
        return _counted(value.items)
    if isinstance(value, Binary):
        return tuple(value.data)
    if isinstance(value, Type):
        return _of_type(value.resolved() if isinstance(value, TypeAlias) else value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _counted(range(value))
    return None


MAX_ELEMENTS: Final = 1_000_000  # of an Array made from a range: a typing error must not exhaust the memory


def _counted(numbers: Sequence[Value]) -> tuple[Value, ...]:
    """The elements of a range or another lazy sequence. Raises LANG-288 if there are too many."""
    try:
        count = len(numbers)
    except OverflowError:  # len() cannot represent the length of a very long range
        count = sys.maxsize
    if count > MAX_ELEMENTS:
        raise issues.TOO_MANY_ELEMENTS.error(count=count, limit=MAX_ELEMENTS)
    return tuple(numbers)


def _of_type(value: Type) -> tuple[Value, ...] | None:
    if isinstance(value, IntegerType) and value.is_finite:
        return _counted(value.range())
    return value.values if isinstance(value, EnumType) else None


def new_array(arguments: Arguments) -> Value:
    value = arguments.take("from")
    wrap = arguments.take_boolean("wrap")
    arguments.done()
    if wrap:
        return value if isinstance(value, tuple) else (value,)
    items = elements(value)
    if items is None:
        raise not_convertible(value, "Array")
    return items


def new_hash(arguments: Arguments) -> Value:
    value = arguments.take("from")
    build = arguments.take("build_option", None)
    arguments.done()
    if build is not None:
        if build not in _TREES or not _is_tree(value):
            raise arguments.wrong("with a tree expects an Array of [path, value] pairs and 'tree' or 'hash_tree'")
        return _tree(value, build == "hash_tree")
    if isinstance(value, Hash):
        return value
    items = elements(value)
    if items is None:
        raise not_convertible(value, "Hash")
    if items and all(isinstance(item, tuple) and len(item) == 2 for item in items):
        return Hash.of(items)
    if len(items) % 2:
        raise issues.ODD_HASH.error(count=len(items))
    return Hash.of(zip(items[::2], items[1::2], strict=True))


def _is_tree(value: Value) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple) for item in value
    )


def _tree(entries: tuple[Value, ...], all_hashes: bool) -> Value:
    """Nested hashes from paths. An array on a path keeps its indexes, unless `all_hashes` makes it a hash."""
    root: dict[Value, Value] = {}
    result: Value = None
    for path, value in entries:
        if not path:
            if isinstance(value, Hash):
                root.update(value)
            elif isinstance(value, tuple) and all_hashes:
                root.update(enumerate(value))
            else:
                result = value
            continue
        container: Value = root
        for step in path[:-1]:
            container = _below(container, step, all_hashes)
        _put(container, path[-1], value)
    return result if result is not None and not root else _frozen(root)


def _below(container: Value, step: Value, all_hashes: bool) -> Value:
    child = _element(container, step) if isinstance(container, list) else container.get(step)
    if isinstance(child, Hash):
        child = dict(child)
    elif isinstance(child, tuple):
        child = dict(enumerate(child)) if all_hashes else list(child)
    elif not isinstance(child, dict | list):
        child = {}
    _put(container, step, child)
    return child


def _element(container: list[Value], step: Value) -> Value:
    is_index = isinstance(step, int) and not isinstance(step, bool)
    return container[step] if is_index and -len(container) <= step < len(container) else None


def _put(container: Value, step: Value, value: Value) -> None:
    if isinstance(container, list):
        if not isinstance(step, int) or isinstance(step, bool) or not -len(container) <= step < MAX_ELEMENTS:
            raise issues.BAD_TREE_STEP.error(step=values.to_string(step))
        container.extend([None] * (step + 1 - len(container)))
    container[step] = value


def _frozen(value: Value) -> Value:
    if isinstance(value, Hash):
        return value
    if isinstance(value, dict):
        return Hash.of((key, _frozen(item)) for key, item in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
