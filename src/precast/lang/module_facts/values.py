"""Values of facts: from plain data to Ruby and back, and Facter's merge of the parts of a fact."""

import datetime
from typing import Any

from precast.lang.functions.ruby.puppet_classes import RubyTime
from precast.lang.ruby.values import Range, Symbol, class_name, hash_key, inspect, plain_key


class NotAFactError(Exception):
    """A value that no fact can have; the text says which."""


class MergeError(Exception):
    """Two values that cannot be merged."""


def to_ruby(value: Any) -> Any:
    """Return plain data as Ruby code sees it: fresh arrays and hashes, which the code may change."""
    if isinstance(value, dict):
        return {hash_key(key): to_ruby(item) for key, item in value.items()}
    return [to_ruby(item) for item in value] if isinstance(value, list) else value


def to_plain(value: Any) -> Any:
    """Return what a resolution gave as plain data, as Facter normalizes it. Raises NotAFactError."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {_key(plain_key(key)): to_plain(item) for key, item in value.items()}
    if isinstance(value, RubyTime):
        return datetime.datetime.fromtimestamp(value.moment.ns // 1_000_000_000, datetime.UTC).isoformat()
    raise NotAFactError(f"{inspect(value)[:60]} is a {class_name(value)}")


def _key(key: Any) -> str:
    plain = to_plain(key)
    if isinstance(plain, list | dict):
        raise NotAFactError("a hash has a key that is an array or a hash")
    return (
        {None: "", True: "true", False: "false"}.get(plain, "")
        if plain is None or isinstance(plain, bool)
        else str(plain)
    )


def deep_merge(left: Any, right: Any) -> Any:
    """Return Facter's merge of two parts: hashes by key, arrays one after the other. Raises MergeError."""
    if isinstance(left, dict) and isinstance(right, dict):
        merged = dict(left)
        for key, item in right.items():
            merged[key] = deep_merge(left[key], item) if key in left else item
        return merged
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if left is None or right is None:
        return right if left is None else left
    raise MergeError(f"Cannot merge {inspect(left)}:{class_name(left)} and {inspect(right)}:{class_name(right)}")


def comparable(value: Any) -> Any:
    """Return a value as `confine` compares it: symbols are strings, and case does not count."""
    if isinstance(value, Symbol):
        value = value.name
    return value.lower() if isinstance(value, str) else value


def confine_values(given: Any) -> list[Any]:
    """Return the values of `confine name: values`, which Ruby spreads out."""
    if isinstance(given, list):
        return list(given)
    if isinstance(given, Range) and isinstance(given.first, int) and isinstance(given.last, int):
        return list(range(given.first, given.last + (not given.is_exclusive)))
    return [] if given is None else [given]
