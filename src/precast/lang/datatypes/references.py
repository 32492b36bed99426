"""The types of the catalog (CatalogEntry, Resource, Class) and of names: aliases and unresolved references.

A reference to a resource or a class is a type with a title. An alias is created with its name, and its target is set later, so that
aliases can refer to each other and themselves.
"""

import functools
from typing import Final

from precast.lang.datatypes.base import NOTHING_SEEN, Check, Seen, Type, Write
from precast.lang.datatypes.composites import NotUndefType, OptionalType, VariantType, variant
from precast.lang.issues import types as issues
from precast.lang.values.base import Value, quoted


class CatalogEntryType(Type):
    """A resource or a class in the catalog. Values are never instances: a reference is itself a type."""

    name = "CatalogEntry"

    def build_check(self) -> Check:
        return lambda value: False

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, CatalogEntryType)


class ResourceType(CatalogEntryType):
    """A resource type (`File`) or one resource (`File['/tmp']`). `type_name` is capitalised: `Foo::Bar`."""

    name = "Resource"

    def __init__(self, type_name: str | None = None, title: str | None = None) -> None:
        self.type_name = None if type_name is None else capitalised(type_name)
        self.title = title

    def parameters(self) -> tuple[object, ...]:
        return self.type_name, self.title

    def form(self, write: Write) -> str:
        if self.type_name is None:
            return "Resource"
        return self.type_name if self.title is None else f"{self.type_name}[{quoted(self.title)}]"

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, ResourceType):
            return False
        if self.type_name is None:
            return True
        return self.type_name == other.type_name and (self.title is None or self.title == other.title)

    @property
    def simple_name(self) -> str:
        return self.type_name or self.name


class ClassType(CatalogEntryType):
    """The class type or one class, by its lower-case name without leading colons."""

    name = "Class"

    def __init__(self, class_name: str | None = None) -> None:
        self.class_name = class_name

    def parameters(self) -> tuple[object, ...]:
        return (self.class_name,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return () if self.class_name is None else (self.class_name,)

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, ClassType) and (self.class_name is None or self.class_name == other.class_name)


@functools.lru_cache(maxsize=4096)
def capitalised(type_name: str) -> str:
    """A resource type's name as references write it: every part capitalised."""
    return "::".join(part.capitalize() for part in type_name.removeprefix("::").split("::"))


class TypeReference(Type):
    """A type by its text, if its name is unknown."""

    name = "TypeReference"

    def __init__(self, reference: str = "UnresolvedReference") -> None:
        self.reference = reference

    def parameters(self) -> tuple[object, ...]:
        return (self.reference,)

    def arguments(self, write: Write) -> tuple[str, ...]:
        return (quoted(self.reference),)

    def build_check(self) -> Check:
        return lambda value: False

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, TypeReference) and self.reference == other.reference


class TypeAlias(Type):
    """A name for a type. `resolve` is called once, when the definition has been evaluated."""

    name = "TypeAlias"

    def __init__(self, alias: str, target: Type | None = None, is_core: bool = False) -> None:
        self.alias = alias
        self._target = target
        self.is_core = is_core  # part of the language, so messages never expand it

    def resolve(self, target: Type) -> None:
        """Set the target of the name. Raises LANG-220 if that is only the name itself."""
        self._target = _without(target, self)
        self._check_real()

    def _check_real(self) -> None:
        if not _is_real(self, ()):
            raise issues.EMPTY_ALIAS.error(name=self.alias)

    def resolved(self) -> Type:
        if self._target is None:
            raise issues.UNRESOLVED_ALIAS.error(name=self.alias)
        return self._target.resolved()

    @property
    def is_resolved(self) -> bool:
        return self._target is not None

    @property
    def target(self) -> Type:
        """The declared target; an alias of an alias is not followed."""
        return self._target or TypeReference()

    def parameters(self) -> tuple[object, ...]:
        return (self.alias,)

    def form(self, write: Write) -> str:
        return self.alias

    def expanded(self, aliases: tuple[Type, ...] = ()) -> str:
        if self in aliases or self.is_core:
            return self.alias
        return f"{self.alias} = {self.target.expanded((*aliases, self))}"

    def __str__(self) -> str:
        return self.expanded()

    def build_check(self) -> Check:
        self._check_real()
        target = self.resolved()
        if not _is_direct(target, self):
            return lambda value: target.check(value)
        in_progress: set[int] = set()  # values whose check is in progress: the recursion adds nothing

        def check(value: Value) -> bool:
            if id(value) in in_progress:
                return False
            in_progress.add(id(value))
            try:
                return target.check(value)
            finally:
                in_progress.discard(id(value))

        return check

    def accepts(self, other: Type, seen: Seen = NOTHING_SEEN) -> bool:
        pair = (id(self), id(other))
        return pair in seen or self.resolved().accepts(other, seen | {pair})

    def fits_into(self, wanted: Type, seen: Seen) -> bool:
        pair = (id(wanted), id(self))
        return pair in seen or wanted.accepts(self.resolved(), seen | {pair})

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return self.resolved().accepts(other, seen)

    def generalized(self) -> Type:
        return self.resolved().generalized()

    def iterated(self) -> Type | None:
        return self.resolved().iterated()

    def iterated_as_value(self) -> Type | None:
        return self.resolved().iterated_as_value()

    @property
    def simple_name(self) -> str:
        return self.alias


def _without(target: Type, alias: TypeAlias) -> Type:
    """A Variant without the alias itself among its members, which would add nothing."""
    if isinstance(target, VariantType) and alias in target.types:
        return variant(t for t in target.types if t != alias)
    return target


def _is_real(data_type: Type, seen: tuple[Type, ...]) -> bool:
    """Whether a type is more than names that refer to each other; an alias without a target yet counts as real."""
    if isinstance(data_type, TypeAlias):
        return data_type not in seen and (data_type._target is None or _is_real(data_type._target, (*seen, data_type)))
    if isinstance(data_type, VariantType) and data_type.types:
        return any(_is_real(t, seen) for t in data_type.types)
    return True


def _is_direct(target: Type, alias: TypeAlias, seen: tuple[Type, ...] = ()) -> bool:
    """Whether the definition of an alias applies the alias to the same value again, through Variants and other aliases."""
    if target == alias:
        return True
    if isinstance(target, VariantType):
        return any(_is_direct(t, alias, seen) for t in target.types)
    if isinstance(target, OptionalType | NotUndefType) and target.inner is not None:
        return _is_direct(target.inner, alias, seen)
    if isinstance(target, TypeAlias) and target not in seen:
        return _is_direct(target.target, alias, (*seen, target))
    return False


CATALOG_ENTRY: Final = CatalogEntryType()
RESOURCE: Final = ResourceType()
CLASS: Final = ClassType()
