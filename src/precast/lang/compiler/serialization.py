"""Serializes values for a catalog: plain JSON, references as text, everything else as an object with `__ptype`."""

from typing import Any

from precast.lang import datatypes
from precast.lang.compiler.resources import ref_of
from precast.lang.compiler.types.type_data import type_data
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Hash, Object, Rich, Sensitive
from precast.lang.values.unknowns import DeferredCall, UnknownText

_PLAIN = frozenset((str, int, bool, type(None)))


def parameter_data(value: Any) -> Any:
    """A parameter's value as JSON data."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):
        return [parameter_data(item) for item in value]
    if isinstance(value, Hash):
        return _hash_data(value)
    if isinstance(value, Rich):
        return _rich_data(value)
    return values.rich(value)


def _hash_data(value: Hash) -> Any:
    if all(type(key) is str for key in value):
        return {key: parameter_data(item) for key, item in value.items()}
    flat = [parameter_data(item) for pair in value.items() for item in pair]
    return {"__ptype": "Hash", "__pvalue": flat}


def _rich_data(value: Rich) -> Any:
    if isinstance(value, datatypes.ClassType | datatypes.ResourceType):
        return ref_of(value)
    if isinstance(value, datatypes.Type):
        return type_data(value)
    if value is DEFAULT:
        return {"__ptype": "Default"}
    if isinstance(value, Sensitive):
        return {"__ptype": "Sensitive", "__pvalue": parameter_data(value.unwrap())}
    if isinstance(value, Object | DeferredCall):
        attributes = value.rich_value()
        return {"__ptype": value.rich_name(), **{key: parameter_data(item) for key, item in attributes.items()}}
    if isinstance(value, UnknownText):
        return {"__ptype": value.rich_name(), "__pvalue": [parameter_data(part) for part in value.parts]}
    return {"__ptype": value.rich_name(), "__pvalue": parameter_data(value.rich_value())}
