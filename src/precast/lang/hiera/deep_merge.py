"""Merges hashes and arrays to any depth, with the options that Puppet passes to Ruby's deep_merge library.

`source` has the higher priority. The odd cases are the library's, which works on shared objects: an array under a new key is merged
with itself and so loses its duplicates; an array inside such a value is the same object on both sides.
"""

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.lang.hiera import issues
from precast.lang.values.base import Hash, Rich, identity_of
from precast.lang.values.regexps import compile_regexp


class Options(NamedTuple):
    """The options of a merge."""

    knockout: str | None = None
    sort: bool = False
    merge_hashes: bool = False
    overwrite_arrays: bool = False
    extend_arrays: bool = False


def merge(source: Any, target: Any, options: Options) -> Any:
    """The target with the source merged into it. Raises HIERA-040, HIERA-043."""
    if options.knockout == "":
        raise issues.BAD_MERGE.error(reason="knockout_prefix cannot be an empty string in deep_merge!")
    return _frozen(_Merge(options).merged(_thawed(source), _thawed(target)))


class _Merge:
    """One merge, over mutable lists and dicts."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._strip = _stripper(options.knockout)

    def merged(self, source: Any, target: Any) -> Any:
        if source is None:
            return target
        if target is None or target is False:
            return source
        if isinstance(source, dict):
            return self._hash(source, target)
        if isinstance(source, list):
            return self._array(source, target)
        if isinstance(target, list) and self._options.extend_arrays:
            return [*target, source]
        return self._overwritten(source)

    def _hash(self, source: dict[Any, Any], target: Any) -> Any:
        for key, value in list(source.items()):
            if isinstance(target, dict):
                below = target.get(key)
                if below is None or below is False:
                    below = _copied(value)
                target[key] = self.merged(value, below)
            elif isinstance(target, list) and self._options.extend_arrays:
                target.append(source)
            else:
                target = self._overwritten(source)
        return target

    def _array(self, source: list[Any], target: Any) -> Any:
        options = self._options
        if options.overwrite_arrays:
            return source
        if options.knockout and options.knockout in source:
            target = _cleared(target)
            source[:] = [item for item in source if item != options.knockout]
        if not isinstance(target, list):
            return self._overwritten(source)
        if options.knockout:
            self._knock_out(source, target)
        if options.merge_hashes and all(isinstance(item, dict) for item in (*source, *target)):
            target = self._side_by_side(source, target)
        else:
            target = union(target, source)
        return sorted_values(target) if options.sort else target

    def _side_by_side(self, source: list[Any], target: list[Any]) -> list[Any]:
        merged = [self.merged(source[index] if index < len(source) else {}, item) for index, item in enumerate(target)]
        return merged + source[len(target) :]

    def _knock_out(self, source: list[Any], target: list[Any]) -> None:
        """Remove from the target the items that the source knocks out, and from the source the prefixed items.

        Both may be the same list. As in Ruby, the walk then continues over the remaining items and skips those that moved up.
        """
        kept, index = 0, 0
        while index < len(source):
            item = source[index]
            plain = self._strip(item) if isinstance(item, str) else item
            if plain != item:
                target[:] = [target_item for target_item in target if target_item not in (plain, item)]
            else:
                source[kept] = item
                kept += 1
            index += 1
        source[kept:index] = []

    def _overwritten(self, source: Any) -> Any:
        if self._options.knockout is None:
            return source
        if isinstance(source, str):
            return source if self._strip(source) == source else ""
        if isinstance(source, list):
            # The library compares the list with itself here, after it removed the items, so it never notices a change.
            source[:] = [item for item in source if not (isinstance(item, str) and self._strip(item) != item)]
        return source


def _stripper(prefix: str | None) -> Callable[[str], str]:
    """Makes a function that removes the prefix, a regular expression to the library, from the start of each line."""
    if not prefix:
        return lambda text: text
    try:
        pattern = re.compile(f"^(?:{compile_regexp(prefix).pattern})", re.MULTILINE)
    except (PrecastError, re.error) as error:
        raise issues.BAD_MERGE.error(
            reason=f"knockout_prefix '{prefix}' is not a valid regular expression: {error}"
        ) from None
    return lambda text: pattern.sub("", text)


def _copied(value: Any) -> Any:
    """A shallow copy: the items are shared."""
    if isinstance(value, list):
        return list(value)
    return dict(value) if isinstance(value, dict) else value


def union(left: list[Any], right: list[Any]) -> list[Any]:
    """The items of both lists without duplicates, in order of first occurrence."""
    seen: dict[Any, Any] = {}
    for item in (*left, *right):
        seen.setdefault(_identity(item), item)
    return list(seen.values())


def _identity(item: Any) -> Any:
    return identity_of(_frozen(item))


def _cleared(target: Any) -> Any:
    """Empty a container in place, because it may be the source itself."""
    if isinstance(target, list | dict):
        target.clear()
        return target
    return "" if isinstance(target, str) else None


def sorted_values(items: list[Any]) -> list[Any]:
    """The items in Ruby's order. Raises HIERA-043 if they cannot be compared."""
    return sorted(items, key=functools.cmp_to_key(_order))


def _order(left: Any, right: Any) -> int:
    if isinstance(left, str) and isinstance(right, str):
        return _compared(left.encode(), right.encode())
    if _is_number(left) and _is_number(right):
        return _compared(left, right)
    if isinstance(left, list) and isinstance(right, list):
        orders = (order for a, b in zip(left, right, strict=False) if (order := _order(a, b)))
        return next(orders, 0) or _compared(len(left), len(right))
    if type(left) is type(right) and left == right:
        return 0
    raise issues.CANNOT_SORT.error()


def _compared(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _thawed(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_thawed(item) for item in value]
    if isinstance(value, Hash):
        return {key: _thawed(item) for key, item in value.items()}
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict) and not isinstance(value, Hash | Rich):
        return Hash.of((key, _frozen(item)) for key, item in value.items())
    return value
