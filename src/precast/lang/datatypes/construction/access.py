"""`T[…]`: makes a type from a type and the arguments in brackets, with Puppet's rules for each."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from precast.lang.datatypes.base import Type
from precast.lang.datatypes.callables import CallableType
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, SensitiveType, TypeType, VariantType
from precast.lang.datatypes.construction import constructors, rich_constructors
from precast.lang.datatypes.construction.definitions import object_type, type_set
from precast.lang.datatypes.init_types import InitType
from precast.lang.datatypes.iterables import IterableType, IteratorType
from precast.lang.datatypes.objects import ObjectType
from precast.lang.datatypes.references import ClassType, ResourceType, TypeAlias, TypeReference
from precast.lang.datatypes.rich import RuntimeType, URIType
from precast.lang.datatypes.scalars import (
    BooleanType,
    EnumType,
    FloatType,
    IntegerType,
    PatternType,
    RegexpType,
    StringType,
)
from precast.lang.datatypes.times_and_versions import SemVerType, TimespanType, TimestampType
from precast.lang.datatypes.typesets import TypeSetType
from precast.lang.issues import types as issues
from precast.lang.values.base import Value, literal

Arguments = tuple[Value, ...]
_CLASS_NAME: Final = re.compile(r"((::)?[a-z_]\w*)(::[a-z]\w*)*", re.ASCII)
_TYPE_NAME: Final = re.compile(r"((::)?[A-Z]\w*)(::[A-Z]\w*)*", re.ASCII)


def index(target: Type, arguments: Arguments) -> Value:
    """The type `target[arguments]`; several titles give an Array of references. Raises LANG-230 to LANG-239."""
    if isinstance(target, ResourceType):
        return _resources(target, arguments)
    if isinstance(target, ClassType):
        return _classes(target, arguments)
    if isinstance(target, ObjectType):
        return object_type(arguments) if target.is_default else target.with_parameters(arguments)
    if isinstance(target, TypeAlias) and isinstance(target.target, TypeReference):
        raise issues.NOT_PARAMETERIZED.error(name=constructors.with_article(target.simple_name))
    if isinstance(target, TypeReference):
        shown = ", ".join(argument.text if isinstance(argument, Type) else literal(argument) for argument in arguments)
        return TypeReference(f"{target.reference}[{shown}]")
    construct = _CONSTRUCTORS.get(type(target))
    if construct is None:
        raise issues.NOT_PARAMETERIZED.error(name=constructors.with_article(target.simple_name))
    if type(target) not in _NESTED and any(isinstance(argument, tuple) for argument in arguments):
        arguments = tuple(_spread(arguments))
    return construct(arguments)


_NESTED: Final = (CallableType, StructType, InitType)  # an array among their arguments has a meaning


def _spread(arguments: Arguments) -> Iterator[Value]:
    """The arguments, with nested arrays flattened."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _spread(argument)
        else:
            yield argument


def _flat(arguments: Arguments) -> tuple[list[Value], bool]:
    """The arguments with nested arrays flattened and undef removed, and whether the caller gave more than one."""
    flat: list[Value] = []

    def add(value: Value) -> None:
        if isinstance(value, tuple):
            for item in value:
                add(item)
        elif value is not None:
            flat.append(value)

    for argument in arguments:
        add(argument)
    return flat, len(arguments) > 1 or any(isinstance(argument, tuple) for argument in arguments)


def _resources(target: ResourceType, arguments: Arguments) -> Value:
    if target.title is not None:
        raise issues.RESOURCE_NOT_EVALUATED.error(reference=target.text)
    if target.type_name is None:
        if not arguments or arguments[0] is None:
            raise issues.NO_RESOURCE_TYPE.error(got="Undef")
        target, arguments = _resource_type(arguments[0]), arguments[1:]
        if not arguments:
            return target
        if target.title is not None:
            raise issues.BAD_TYPE_ARGUMENT.error(
                type="Resource", got=f"{target.text}-Type", wanted="a resource title String"
            )
        general = "Resource"
    else:
        general = target.simple_name
    titles, is_array = _flat(arguments)
    references = tuple(ResourceType(target.type_name, _title(general, title)) for title in titles)
    if is_array:
        return references
    return references[0] if references else None


def _title(type_name: str, title: Value) -> str:
    if not isinstance(title, str):
        raise issues.BAD_TYPE_ARGUMENT.error(
            type=type_name, got=constructors.type_name_of(title), wanted="a resource title String"
        )
    return title


def _resource_type(first: Value) -> ResourceType:
    if isinstance(first, ResourceType) and first.type_name is not None:
        return first
    if isinstance(first, str):
        resource_type = ResourceType(first)
        if not _TYPE_NAME.fullmatch(resource_type.text):
            raise issues.BAD_TYPE_NAME.error(name=resource_type.text)
        return resource_type
    if isinstance(first, TypeReference):
        return ResourceType(first.reference)
    raise issues.NO_RESOURCE_TYPE.error(got=constructors.inferred_text(first))


def _classes(target: ClassType, arguments: Arguments) -> Value:
    if target.class_name is not None:
        raise issues.RESOURCE_NOT_EVALUATED.error(reference=target.text)
    names, is_array = _flat(arguments)
    references = tuple(ClassType(_class_name(name)) for name in names)
    if is_array:
        return references
    return references[0] if references else None


def _class_name(name: Value) -> str:
    if not isinstance(name, str):
        raise issues.NO_CLASS_NAME.error(got=constructors.with_article(constructors.type_name_of(name)).capitalize())
    lower = name.lower()
    if not _CLASS_NAME.fullmatch(lower):
        raise issues.BAD_CLASS_NAME.error(name=name)
    return lower.removeprefix("::")


_CONSTRUCTORS: Final[dict[type[Type], Callable[[Arguments], Type]]] = {
    IntegerType: constructors.construct_integer,
    FloatType: constructors.construct_float,
    StringType: constructors.construct_string,
    BooleanType: constructors.construct_boolean,
    EnumType: constructors.construct_enum,
    PatternType: constructors.construct_pattern,
    RegexpType: constructors.construct_regexp,
    CollectionType: constructors.construct_collection,
    ArrayType: constructors.construct_array,
    HashType: constructors.construct_hash,
    TupleType: constructors.construct_tuple,
    StructType: constructors.construct_struct,
    IterableType: lambda arguments: IterableType(constructors.one_type("Iterable", arguments)),
    IteratorType: lambda arguments: IteratorType(constructors.one_type("Iterator", arguments)),
    VariantType: constructors.construct_variant,
    OptionalType: lambda arguments: OptionalType(constructors.type_or_string("Optional", arguments)),
    NotUndefType: lambda arguments: NotUndefType(constructors.type_or_string("NotUndef", arguments)),
    TypeType: lambda arguments: TypeType(constructors.one_type("Type", arguments)),
    SensitiveType: lambda arguments: SensitiveType(constructors.one_type("Sensitive", arguments)),
    CallableType: constructors.construct_callable,
    RuntimeType: rich_constructors.construct_runtime,
    TimestampType: rich_constructors.construct_timestamp,
    TimespanType: rich_constructors.construct_timespan,
    SemVerType: rich_constructors.construct_sem_ver,
    URIType: rich_constructors.construct_uri,
    InitType: lambda arguments: InitType(constructors.first_type("Init", arguments), arguments[1:]),
    TypeSetType: type_set,
}
