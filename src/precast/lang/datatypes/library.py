"""The Object types of the language itself: Error, Deferred and Puppet::LookupContext."""

from typing import Final

from precast.lang.datatypes.base import UNDEF
from precast.lang.datatypes.callables import CallableType, parameters_of
from precast.lang.datatypes.collections import ARRAY, HashType
from precast.lang.datatypes.composites import NOT_UNDEF, OptionalType, TypeType, VariantType
from precast.lang.datatypes.groups import DATA
from precast.lang.datatypes.objects import Attribute, ObjectType
from precast.lang.datatypes.scalars import ENUM, NON_EMPTY_STRING, PATTERN, REGEXP, STRING, PatternType
from precast.lang.values.base import Regexp

_NARROWING: Final = VariantType(
    (STRING, REGEXP, TypeType(ENUM), TypeType(PATTERN), TypeType(NOT_UNDEF), TypeType(UNDEF))
)
_OPTIONAL_NAME: Final = OptionalType(NON_EMPTY_STRING)

ERROR: Final = ObjectType(
    attributes=(
        Attribute("msg", NON_EMPTY_STRING),
        Attribute("kind", _OPTIONAL_NAME, has_value=True),
        Attribute("details", OptionalType(HashType(NON_EMPTY_STRING, DATA)), has_value=True),
        Attribute("issue_code", _OPTIONAL_NAME, has_value=True),
    ),
    functions={"message": CallableType(parameters_of(()), returns=NON_EMPTY_STRING)},
    type_parameters={"kind": _NARROWING, "issue_code": _NARROWING},
).named("Error")

# The context that a Hiera data function receives; calls of its functions go through the object itself.
LOOKUP_CONTEXT: Final = ObjectType(
    attributes=(
        Attribute("environment_name", NON_EMPTY_STRING, kind="derived"),
        Attribute("module_name", _OPTIONAL_NAME),
    ),
).named("Puppet::LookupContext")

DEFERRED: Final = ObjectType(
    attributes=(
        Attribute("name", PatternType((Regexp(r"\A[$]?[a-z][a-z0-9_]*(?:::[a-z][a-z0-9_]*)*\z"),))),
        Attribute("arguments", OptionalType(ARRAY), has_value=True),
    ),
).named("Deferred")
