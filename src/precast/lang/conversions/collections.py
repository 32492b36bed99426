"""Array, Hash, Tuple and Struct from other values."""

import sys
from collections.abc import Sequence
from typing import Final

from precast.lang.conversions.arguments import Arguments, not_convertible
from precast.lang.datatypes.base import Type
from precast.lang.datatypes.references import TypeAlias
from precast.lang.datatypes.scalars import EnumType, IntegerType
from precast.lang.issues import types as issues
from precast.lang.values import core as values
from precast.lang.values.core import Binary, Hash, Value

_TREES: Final = ("tree", "hash_tree")


def elements(value: Value) -> tuple[Value, ...] | None:
    """What a value yields when iterated; None if it cannot be."""
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


MOST_ELEMENTS: Final = 1_000_000  # of an Array that only counts; a compile must not take all memory for a slip


def _counted(numbers: Sequence[Value]) -> tuple[Value, ...]:
    """The elements of a range or another lazy sequence; raises LANG-288 if they are too many."""
    try:
        count = len(numbers)
    except OverflowError:  # a range may be longer than len() can say
        count = sys.maxsize
    if count > MOST_ELEMENTS:
        raise issues.TOO_MANY_ELEMENTS.error(count=count, limit=MOST_ELEMENTS)
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
    found = elements(value)
    if found is None:
        raise not_convertible(value, "Array")
    return found


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
    found = elements(value)
    if found is None:
        raise not_convertible(value, "Hash")
    if found and all(isinstance(item, tuple) and len(item) == 2 for item in found):
        return Hash.of(found)
    if len(found) % 2:
        raise issues.ODD_HASH.error(count=len(found))
    return Hash.of(zip(found[::2], found[1::2], strict=True))


def _is_tree(value: Value) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple) for item in value
    )


def _tree(entries: tuple[Value, ...], all_hashes: bool) -> Value:
    """Nested hashes from paths. An array met on the way keeps its indexes unless all is to be hashes."""
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
        here: Value = root
        for step in path[:-1]:
            here = _below(here, step, all_hashes)
        _put(here, path[-1], value)
    return result if result is not None and not root else _frozen(root)


def _below(here: Value, step: Value, all_hashes: bool) -> Value:
    found = _element(here, step) if isinstance(here, list) else here.get(step)
    if isinstance(found, Hash):
        found = dict(found)
    elif isinstance(found, tuple):
        found = dict(enumerate(found)) if all_hashes else list(found)
    elif not isinstance(found, dict | list):
        found = {}
    _put(here, step, found)
    return found


def _element(here: list[Value], step: Value) -> Value:
    is_place = isinstance(step, int) and not isinstance(step, bool)
    return here[step] if is_place and -len(here) <= step < len(here) else None


def _put(here: Value, step: Value, value: Value) -> None:
    if isinstance(here, list):
        if not isinstance(step, int) or isinstance(step, bool) or not -len(here) <= step < MOST_ELEMENTS:
            raise issues.BAD_TREE_STEP.error(step=values.to_string(step))
        here.extend([None] * (step + 1 - len(here)))
    here[step] = value


def _frozen(value: Value) -> Value:
    if isinstance(value, Hash):
        return value
    if isinstance(value, dict):
        return Hash.of((key, _frozen(item)) for key, item in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
