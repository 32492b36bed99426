"""Functions that change or query the catalog: classes, resources, tags, defined."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from precast.lang import datatypes
from precast.lang.datatypes.composites import TypeType
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function
from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import legacy_text
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import Hash, kind_name

INCLUDE = Function("include", "Declares classes, each of them once.", is_statement=True)
CONTAIN = Function("contain", "Declares classes and contains them in the calling class or define.", is_statement=True)
REQUIRE = Function("require", "Declares classes and lets the calling class or define require them.", is_statement=True)
CREATE_RESOURCES = Function(
    "create_resources",
    "Declares a resource for each entry of a hash of titles and parameters; a second hash has defaults.",
    is_statement=True,
)
REALIZE = Function("realize", "Realises virtual resources.", is_statement=True)
TAG = Function("tag", "Adds tags to the calling class or define and to everything it contains.", is_statement=True)
TAGGED = Function("tagged", "Returns whether the calling class or define has all the tags.")
DEFINED = Function(
    "defined",
    "Returns whether any of these exists: a class or type by name, a variable by '$name', a resource by reference.",
)
_TAG: Final = re.compile(r"[^\W][\w:.-]*")
_REFERENCE: Final = re.compile(r"\s*([A-Za-z][\w:]*)\[(.*)\]\s*", re.DOTALL)


def class_names(values: Sequence[Any]) -> list[str]:
    """Return the names of classes that are given as strings or references, in arrays of any depth."""
    return [_class_name(value) for value in flatten(*values)]


def _class_name(value: Any) -> str:
    if isinstance(value, str):
        if not value:
            raise issues.NO_CLASS_NAME.error(value="empty string")
        return value.removeprefix("::").lower()
    if value is None:
        raise issues.NO_CLASS_NAME.error(value="undef")
    if isinstance(value, datatypes.ClassType):
        if value.class_name is None:
            raise issues.UNSPECIFIC_CLASS.error(type="Class")
        return value.class_name.removeprefix("::").lower()
    if isinstance(value, datatypes.ResourceType):
        if (value.type_name or "").lower() != "class" or value.title is None:
            raise issues.UNSPECIFIC_CLASS.error(type=str(value))
        return value.title.removeprefix("::").lower()
    raise issues.NO_CLASS_NAME.error(value=f"{kind_name(value)} value")


def _references(names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(map(datatypes.ClassType, names))


@INCLUDE.dispatch("Any +names", pure=False)
def _include(call: Call, *values: Any) -> tuple[Any, ...]:
    names = class_names(values)
    call.host.catalog.include(call.scope, names)
    return _references(names)


@CONTAIN.dispatch("Any +names", pure=False)
def _contain(call: Call, *values: Any) -> tuple[Any, ...]:
    names = class_names(values)
    call.host.catalog.contain(call.scope, names)
    return _references(names)


@REQUIRE.dispatch("Any +names", pure=False)
def _require(call: Call, *values: Any) -> tuple[Any, ...]:
    names = class_names(values)
    call.host.catalog.require(call.scope, names)
    return _references(names)


@CREATE_RESOURCES.dispatch("Any type, Any resources, Any defaults?", pure=False)
def _create_resources(call: Call, name: Any, resources: Any, defaults: Any = Hash()) -> None:  # noqa: B008 (immutable)
    if name is None and resources == Hash():
        return
    for place, value, expected in (("first", name, str), ("second", resources, Hash), ("third", defaults, Hash)):
        if not isinstance(value, expected):
            raise issues.WRONG_RESOURCES.error(
                place=place, wanted="a string" if expected is str else "a hash", kind=kind_name(value)
            )
    for title, parameters in resources.items():
        if not isinstance(parameters, Hash):
            raise issues.WRONG_RESOURCE_PARAMETERS.error(title=ruby_text(title), kind=kind_name(parameters))
    call.host.catalog.create_resources(call.scope, name, resources, defaults)


@REALIZE.dispatch("Any +references", pure=False)
def _realize(call: Call, *values: Any) -> None:
    call.host.catalog.realize(call.scope, list(_resources(flatten(*values))))


def _resources(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, datatypes.ClassType) and value.class_name is not None:
            yield value
            continue
        if isinstance(value, datatypes.ResourceType) and value.title is not None:
            yield value
            continue
        match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise issues.NO_REFERENCE.error(value=ruby_text(value))
        yield datatypes.ResourceType(match[1].lower(), match[2])


def _tags(values: Sequence[Any]) -> list[str]:
    tags = [legacy_text(value).lower() for value in flatten(*values) if value is not None]
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise issues.BAD_TAG.error(tag=tag)
    return tags


@TAG.dispatch("Any +tags", pure=False)
def _tag(call: Call, *values: Any) -> None:
    call.host.catalog.tag(call.scope, _tags(values))


@TAGGED.dispatch("Any +tags", pure=False)
def _tagged(call: Call, *values: Any) -> bool:
    return call.host.catalog.tagged(call.scope, [legacy_text(value).lower() for value in values])


@DEFINED.dispatch("Variant[String, Type[CatalogEntry], Type[Type[CatalogEntry]]] +vals", pure=False)
def _defined(call: Call, *values: Any) -> bool:
    return any(_is_defined(call, value) for value in values)


def _is_defined(call: Call, value: Any) -> bool:
    if isinstance(value, str):
        return _is_name_defined(call, value)
    if isinstance(value, TypeType):
        return _is_defined(call, value.inner)
    actions, scope = call.host.catalog, call.scope
    if isinstance(value, datatypes.ClassType):
        if value.class_name is None:
            raise issues.DEFINED_ANY.error(kind="class", all="classes")
        # Code cannot name the main class.
        return value.class_name != "main" and actions.is_declared(scope, "class", value.class_name)
    if not isinstance(value, datatypes.ResourceType) or value.type_name is None:
        raise issues.DEFINED_ANY.error(kind="resource", all="kind of types")
    if value.title is None:
        return actions.is_resource_type(scope, value.type_name.lower())
    return actions.is_declared(scope, value.type_name.lower(), value.title)


def _is_name_defined(call: Call, text: str) -> bool:
    if text.startswith("$"):
        return call.host.has_variable(call.scope, text[1:])
    if text == "":
        return False
    if text == "main":
        return True
    name = text.lower()
    catalog = call.host.catalog
    return catalog.is_resource_type(call.scope, name) or catalog.is_class(call.scope, name.removeprefix("::"))
