"""The core types by their names."""

from typing import Final

from precast.lang.datatypes.base import ANY, DEFAULT_TYPE, UNDEF, Type
from precast.lang.datatypes.callables import CALLABLE
from precast.lang.datatypes.collections import ARRAY, COLLECTION, HASH, STRUCT, TUPLE
from precast.lang.datatypes.composites import NOT_UNDEF, OPTIONAL, SENSITIVE, TYPE, VARIANT
from precast.lang.datatypes.groups import DATA, RICH_DATA, RICH_DATA_KEY, SCALAR
from precast.lang.datatypes.init_types import INIT
from precast.lang.datatypes.iterables import ITERABLE, ITERATOR
from precast.lang.datatypes.library import DEFERRED, ERROR, LOOKUP_CONTEXT
from precast.lang.datatypes.objects import OBJECT
from precast.lang.datatypes.references import CATALOG_ENTRY, CLASS, RESOURCE, TypeAlias, TypeReference
from precast.lang.datatypes.rich import BINARY, RUNTIME, URI_TYPE
from precast.lang.datatypes.scalars import (
    BOOLEAN,
    ENUM,
    FLOAT,
    INTEGER,
    NUMERIC,
    PATTERN,
    REGEXP,
    SCALAR_DATA,
    STRING,
)
from precast.lang.datatypes.times_and_versions import SEM_VER, SEM_VER_RANGE, TIMESPAN, TIMESTAMP
from precast.lang.datatypes.typesets import TYPE_SET

_TYPES: Final = (
    ANY, UNDEF, DEFAULT_TYPE, SCALAR, SCALAR_DATA, DATA, RICH_DATA, NUMERIC, INTEGER, FLOAT, STRING, BOOLEAN, ENUM, PATTERN,
    REGEXP, COLLECTION, ARRAY, HASH, TUPLE, STRUCT, ITERABLE, ITERATOR, VARIANT, OPTIONAL, NOT_UNDEF, TYPE, SENSITIVE, CALLABLE,
    SEM_VER, SEM_VER_RANGE, TIMESTAMP, TIMESPAN, BINARY, URI_TYPE, RUNTIME, CATALOG_ENTRY, RESOURCE, CLASS, INIT,
)  # fmt: skip
CORE: Final[dict[str, Type]] = {
    **{core_type.name.lower(): core_type for core_type in _TYPES},
    "richdatakey": TypeAlias("RichDataKey", RICH_DATA_KEY, is_core=True),
    "object": OBJECT,
    "typeset": TYPE_SET,
    "typealias": TypeAlias("UnresolvedAlias", TypeReference()),
    "error": ERROR,
    "deferred": DEFERRED,
    "puppet::lookupcontext": LOOKUP_CONTEXT,
    "puppet::lookupkey": TypeAlias("Puppet::LookupKey", RICH_DATA_KEY, is_core=True),
    "puppet::lookupvalue": TypeAlias("Puppet::LookupValue", RICH_DATA, is_core=True),
}


def core(name: str) -> Type | None:
    """The core type with a name in any case; None if there is none."""
    return CORE.get(name.lower())
