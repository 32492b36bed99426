"""The functions that expressions can call: those of YAQL that are pure, and Fuel's that compare the data of a node with its earlier data.

What is random, what reads a clock, and what calls functions by computed names is left out. A value that leaves an expression is plain data.
"""

import collections.abc  # also for yaql, which uses it and does not import it
import functools
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import yaml  # type: ignore[import-untyped] # it has no types of its own
import yaql  # type: ignore[import-untyped]
from yaql.language import specs, utils, yaqltypes  # type: ignore[import-untyped]

from precast.base import canonical
from precast.services.plans.evaluation.data import FrozenList, FrozenMapping, NotedMapping, is_same

# The largest collection that an expression may make or go through.
MAX_ITEMS: Final = 20_000
# The largest single value that an expression may make.
MAX_VALUE_BYTES: Final = 64 * 1024 * 1024

_REMOVED: Final = ("call", "def", "random")
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_OPTIONS: Final = {
    "yaql.limitIterators": MAX_ITEMS,
    "yaql.memoryQuota": MAX_VALUE_BYTES,
    "yaql.convertTuplesToLists": True,
    "yaql.convertSetsToLists": True,
}


class NotData(ValueError):
    """A value is not plain data, so it cannot leave its expression."""


class Comparing(Protocol):
    """Answers the functions that compare. An argument is an expression that has not been evaluated."""

    def new(self, expression: Any, context: Any) -> Any: ...

    def old(self, expression: Any, context: Any) -> Any: ...

    def is_changed(self, expression: Any, context: Any) -> bool: ...

    def added(self, expression: Any, context: Any) -> Any: ...

    def deleted(self, expression: Any, context: Any) -> Any: ...


@functools.cache
def make_engine() -> Any:
    """What parses expressions; making it takes a tenth of a second."""
    return yaql.YaqlFactory().create(_OPTIONS)


def make_library(comparing: Comparing) -> Any:
    """The context with all functions and without variables."""
    context = yaql.create_context(datetime=False, yaqlized=False)
    for name in _REMOVED:
        for function in context.get_functions(name)[0]:
            context.delete_function(function)

    _add_comparisons(context, comparing)
    _add(context, "isUndef", lambda value: value is None, is_method=True)
    _add(context, "toYaml", lambda value: write_yaml(value), is_method=True)
    _add(context, "toJson", lambda value: canonical.encode(thaw(settle(value))).decode(), is_method=True)
    return context


def names_of_functions(library: Any) -> frozenset[str]:
    """All functions that expressions can name."""
    names: set[str] = set()
    while library is not None:
        names |= {name for name, functions in library._functions.items() if functions and name[0].isalpha()}
        library = library.parent
    return frozenset(names)


def _add_comparisons(context: Any, comparing: Comparing) -> None:
    """Add the functions whose arguments are not evaluated before the call."""

    def changed_any(context: Any, *expressions: Any) -> bool:
        return any(comparing.is_changed(expression, context) for expression in expressions)

    def changed_all(context: Any, *expressions: Any) -> bool:
        return all(comparing.is_changed(expression, context) for expression in expressions)

    _add(context, "new", lambda expression, context: comparing.new(expression, context))
    _add(context, "old", lambda expression, context: comparing.old(expression, context))
    _add(context, "changed", lambda expression, context: comparing.is_changed(expression, context))
    _add(context, "added", lambda expression, context: comparing.added(expression, context))
    _add(context, "deleted", lambda expression, context: comparing.deleted(expression, context))
    _add(context, "changedAny", changed_any)
    _add(context, "changedAll", changed_all)


def _add(context: Any, name: str, function: Any, *, is_method: bool = False) -> None:
    definition = specs.get_function_definition(function, name=name, method=is_method, function=not is_method)
    for parameter in definition.parameters.values():
        if parameter.name in ("expression", "expressions"):
            parameter.value_type = yaqltypes.YaqlExpression()
    context.register_function(definition)


def write_yaml(value: Any) -> str:
    """A value as YAML. Raises NotData."""
    plain = thaw(settle(value))
    text: str = yaml.dump(plain, Dumper=_DUMPER, default_flow_style=False, allow_unicode=True, sort_keys=True)
    return text


def settle(value: Any) -> Any:
    """The value with everything in it computed, as frozen data. Raises NotData."""
    if value is None or isinstance(value, str | int | float | FrozenMapping | FrozenList):
        return value
    if isinstance(value, NotedMapping):
        return value.whole()
    if isinstance(value, Mapping):
        return FrozenMapping({settle(key): settle(item) for key, item in _limited(value.items())})
    if isinstance(value, set | frozenset):
        return frozenset(settle(item) for item in _limited(value))
    if isinstance(value, Iterable):
        return FrozenList(settle(item) for item in _limited(value))
    raise NotData(f"a {type(value).__name__} is not plain data")


def thaw(value: Any) -> Any:
    """Frozen data as plain data for JSON. Sets become sorted lists. Raises NotData."""
    if isinstance(value, Mapping):
        return {_as_key(key): thaw(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(thaw, value), key=canonical.encode)
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def find_added(old: Any, new: Any) -> Any:
    """What `new` has and `old` does not: entries of a mapping, members of a set, items of a list as often as they are added.

    A list has no order here: an item that has moved is not added. Other values are added if they differ.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return FrozenMapping({key: item for key, item in new.items() if key not in old or not is_same(old[key], item)})
    if isinstance(old, frozenset) and isinstance(new, frozenset):
        return new - old
    if isinstance(old, tuple) and isinstance(new, tuple):
        left = collections.Counter(old)
        return FrozenList(item for item in new if not _take(left, item))
    return None if is_same(old, new) else new


def _take(left: "collections.Counter[Any]", item: Any) -> bool:
    """Take an item from those that are left; False if there is none."""
    is_left = left[item] > 0
    left[item] -= is_left
    return is_left


def _limited(items: Any) -> Any:
    return utils.limit_iterable(items, MAX_ITEMS)


def _as_key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotData(f"the key {key!r} of a mapping is not a text"[:200])
    return key
