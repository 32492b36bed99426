"""`T[…]`: a type from a type and the arguments between brackets, with Puppet's rules for each."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from precast.lang.datatypes.base import Type
from precast.lang.datatypes.callables import CallableType
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, StructType, TupleType
from precast.lang.datatypes.combined import NotUndefType, OptionalType, SensitiveType, TypeType, VariantType
from precast.lang.datatypes.construction import makers, rich_makers
from precast.lang.datatypes.construction.definitions import object_type, type_set
from precast.lang.datatypes.initial import InitType
from precast.lang.datatypes.iterables import IterableType, IteratorType
from precast.lang.datatypes.moments import SemVerType, TimespanType, TimestampType
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
from precast.lang.datatypes.typesets import TypeSetType
from precast.lang.issues import types as issues
from precast.lang.values.core import Value, literal

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
        raise issues.NOT_PARAMETERIZED.error(name=makers.with_article(target.simple_name))
    if isinstance(target, TypeReference):
        shown = ", ".join(each.text if isinstance(each, Type) else literal(each) for each in arguments)
        return TypeReference(f"{target.reference}[{shown}]")
    make = _MAKERS.get(type(target))
    if make is None:
        raise issues.NOT_PARAMETERIZED.error(name=makers.with_article(target.simple_name))
    if type(target) not in _NESTED and any(isinstance(argument, tuple) for argument in arguments):
        arguments = tuple(_spread(arguments))
    return make(arguments)


_NESTED: Final = (CallableType, StructType, InitType)  # an array among their arguments means something


def _spread(arguments: Arguments) -> Iterator[Value]:
    """The arguments with arrays taken apart."""
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _spread(argument)
        else:
            yield argument


def _flat(arguments: Arguments) -> tuple[list[Value], bool]:
    """The arguments with arrays taken apart and undef left out, and whether there was more than one to begin with."""
    found: list[Value] = []

    def take(each: Value) -> None:
        if isinstance(each, tuple):
            for inner in each:
                take(inner)
        elif each is not None:
            found.append(each)

    for argument in arguments:
        take(argument)
    return found, len(arguments) > 1 or any(isinstance(each, tuple) for each in arguments)


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
            type=type_name, got=makers.type_name_of(title), wanted="a resource title String"
        )
    return title


def _resource_type(first: Value) -> ResourceType:
    if isinstance(first, ResourceType) and first.type_name is not None:
        return first
    if isinstance(first, str):
        made = ResourceType(first)
        if not _TYPE_NAME.fullmatch(made.text):
            raise issues.BAD_TYPE_NAME.error(name=made.text)
        return made
    if isinstance(first, TypeReference):
        return ResourceType(first.reference)
    raise issues.NO_RESOURCE_TYPE.error(got=makers.inferred_text(first))


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
        raise issues.NO_CLASS_NAME.error(got=makers.with_article(makers.type_name_of(name)).capitalize())
    lower = name.lower()
    if not _CLASS_NAME.fullmatch(lower):
        raise issues.BAD_CLASS_NAME.error(name=name)
    return lower.removeprefix("::")


_MAKERS: Final[dict[type[Type], Callable[[Arguments], Type]]] = {
    IntegerType: makers.integer,
    FloatType: makers.floating,
    StringType: makers.string,
    BooleanType: makers.boolean,
    EnumType: makers.enum,
    PatternType: makers.pattern,
    RegexpType: makers.regexp,
    CollectionType: makers.collection,
    ArrayType: makers.array,
    HashType: makers.hash_of,
    TupleType: makers.tuple_of,
    StructType: makers.struct,
    IterableType: lambda arguments: IterableType(makers.one_type("Iterable", arguments)),
    IteratorType: lambda arguments: IteratorType(makers.one_type("Iterator", arguments)),
    VariantType: makers.variant_of,
    OptionalType: lambda arguments: OptionalType(makers.type_or_string("Optional", arguments)),
    NotUndefType: lambda arguments: NotUndefType(makers.type_or_string("NotUndef", arguments)),
    TypeType: lambda arguments: TypeType(makers.one_type("Type", arguments)),
    SensitiveType: lambda arguments: SensitiveType(makers.one_type("Sensitive", arguments)),
    CallableType: makers.callable_of,
    RuntimeType: rich_makers.runtime,
    TimestampType: rich_makers.timestamp,
    TimespanType: rich_makers.timespan,
    SemVerType: rich_makers.sem_ver,
    URIType: rich_makers.uri,
    InitType: lambda arguments: InitType(makers.first_type("Init", arguments), arguments[1:]),
    TypeSetType: type_set,
}
