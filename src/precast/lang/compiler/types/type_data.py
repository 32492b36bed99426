"""Serializes data types for a catalog in Puppet's Pcore form: `{"__ptype": "Pcore::IntegerType", "from": 1}`."""

from collections.abc import Callable
from typing import Any

from precast.lang.datatypes import ANY, CallableType, Type
from precast.lang.datatypes.base import Size
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, TypeType, VariantType
from precast.lang.datatypes.init_types import InitType
from precast.lang.datatypes.iterables import IterableType
from precast.lang.datatypes.scalars import EnumType, FloatType, IntegerType, PatternType, RegexpType, StringType


def type_data(value: Type) -> Any:
    """A type as JSON data: its name and its parameters."""
    data: dict[str, Any] = {"__ptype": f"Pcore::{value.name}Type"}
    for kind, attributes in _ATTRIBUTES:
        if isinstance(value, kind):
            data.update(attributes(value))
            return data
    return data


def _range(value: Any) -> dict[str, Any]:
    if value.high is not None:
        return {"from": value.low, "to": value.high}
    return {} if value.low is None else {"from": value.low}


def _size(size: Size | None) -> dict[str, Any]:
    return {} if size is None else {"size_type": type_data(IntegerType(size.low, size.high))}


def _string(value: StringType) -> dict[str, Any]:
    if value.literal is not None:
        return {"size_type_or_value": value.literal}
    size = _size(value.size if value.text != "String" else None)
    return {"size_type_or_value": size["size_type"]} if size else {}


def _enum(value: EnumType) -> dict[str, Any]:
    case: dict[str, Any] = {"case_insensitive": True} if value.any_case else {}
    return ({"values": list(value.values)} if value.values else {}) | case


def _array(value: ArrayType) -> dict[str, Any]:
    return ({} if value.element == ANY else {"element_type": type_data(value.element)}) | _size(value.given_size)


def _hash(value: HashType) -> dict[str, Any]:
    if value.key_type == ANY and value.value_type == ANY and value.given_size is None:
        return {}
    return {"key_type": type_data(value.key_type), "value_type": type_data(value.value_type)} | _size(value.given_size)


def _tuple(value: TupleType) -> dict[str, Any]:
    return {"types": [type_data(element) for element in value.types]} | _size(value.given_size)


def _struct(value: StructType) -> dict[str, Any]:
    elements = [
        {
            "__ptype": "Pcore::StructElement",
            "key_type": type_data(StringType(literal=member.key)),
            "value_type": type_data(member.value),
        }
        for member in value.members
    ]
    return {"elements": elements} if elements else {}


def _inner(value: Any) -> dict[str, Any]:
    inner = value.element if isinstance(value, IterableType) else value.inner
    return {} if inner is None else {"type": type_data(inner)}


def _callable(value: CallableType) -> dict[str, Any]:
    parameters, block, returns = value.parameters_type, value.block, value.returns
    return {
        "param_types": None if parameters is None else type_data(parameters),
        "block_type": None if block is None else type_data(block),
        "return_type": None if returns is None else type_data(returns),
    }


# In the order of the tests: a subtype comes before its supertype.
_ATTRIBUTES: tuple[tuple[Any, Callable[[Any], dict[str, Any]]], ...] = (
    (IntegerType, _range),
    (FloatType, _range),
    (StringType, _string),
    (EnumType, _enum),
    (PatternType, lambda value: {"patterns": [type_data(RegexpType(pattern)) for pattern in value.patterns]}),
    (RegexpType, lambda value: {} if value.pattern is None else {"pattern": value.pattern.plain_text()}),
    (ArrayType, _array),
    (HashType, _hash),
    (TupleType, _tuple),
    (StructType, _struct),
    (CollectionType, lambda value: _size(value.given_size)),
    (VariantType, lambda value: {"types": [type_data(member) for member in value.types]} if value.types else {}),
    ((OptionalType, NotUndefType, TypeType, IterableType, InitType), _inner),
    (CallableType, _callable),
)
