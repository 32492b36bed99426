"""`Object[{…}]` and `TypeSet[{…}]`: makes the type from the Hash in the manifest, with all checks."""

import re
from typing import Final

from precast.lang.datatypes.base import Type
from precast.lang.datatypes.callables import CallableType
from precast.lang.datatypes.inference import infer
from precast.lang.datatypes.objects import Attribute, ObjectType
from precast.lang.datatypes.references import TypeAlias, TypeReference
from precast.lang.datatypes.typesets import TypeSetType
from precast.lang.issues import types as issues
from precast.lang.values.base import Hash, Value, kind_name, to_string
from precast.lang.values.versions import SemVer

_KEYS: Final = (
    "name", "parent", "type_parameters", "attributes", "constants", "functions", "equality", "equality_include_type",
    "checks", "annotations",
)  # fmt: skip
_ATTRIBUTE_KEYS: Final = ("type", "final", "override", "kind", "value", "annotations")
_SET_KEYS: Final = (
    "pcore_uri", "pcore_version", "name_authority", "name", "version", "types", "references", "annotations",
)  # fmt: skip
_KINDS: Final = ("constant", "derived", "given_or_derived", "reference")


def object_type(arguments: tuple[Value, ...]) -> ObjectType:
    """The Object type that a Hash describes. Raises LANG-240."""
    if len(arguments) != 1:
        raise issues.TYPE_ARGUMENT_COUNT.error(type="Object", wanted="1 argument", count=len(arguments))
    init = arguments[0]
    if not isinstance(init, Hash):
        raise _bad(f"object initializer has wrong type, expects a Hash value, got {kind_name(init)}")
    for key in init:
        if key not in _KEYS:
            raise _bad(f"object initializer has wrong type, unrecognized key '{key}'")
    label = _field(init, "name", str, "")
    parent = _parent(init.get("parent"))
    new_type = ObjectType(
        label,
        parent,
        _attributes(init, label, parent),
        {name: _function(f, label, name) for name, f in _field(init, "functions", Hash, Hash()).items()},
        {n: _member_type(t, label, n) for n, t in _field(init, "type_parameters", Hash, Hash()).items()},
        _equality(init.get("equality")),
        _field(init, "equality_include_type", bool, True),
    )
    if isinstance(init.get("parent"), TypeReference):
        new_type.parent_name = init["parent"].reference
    _check_equality(new_type)
    return new_type


def _bad(reason: str) -> Exception:
    return issues.BAD_OBJECT_TYPE.error(reason=reason)


def _field(init: Hash, key: str, kind: type, default: Value) -> Value:
    value = init.get(key, default)
    if not isinstance(value, kind):
        wanted = {str: "String", bool: "Boolean", Hash: "Hash"}[kind]
        raise _bad(f"object initializer has wrong type, entry '{key}' expects a {wanted} value, got {kind_name(value)}")
    return value


_MEMBER_NAME: Final = re.compile(r"[a-z_]\w*", re.ASCII)


def _parent(value: Value) -> ObjectType | None:
    if isinstance(value, TypeAlias) and not value.is_resolved:
        raise _bad(f"The Object type '{value.alias}' inherits from itself")
    resolved = value.target if isinstance(value, TypeAlias) else value
    if isinstance(resolved, TypeAlias):
        resolved = resolved.resolved()
    if resolved is None or isinstance(resolved, TypeReference):
        return None
    if isinstance(resolved, ObjectType):
        return resolved
    raise _bad(f"the parent of an Object type must be an Object type, got {kind_name(value)}")


def _member_type(value: Value, label: str, name: str) -> Type:
    if isinstance(value, Hash):
        value = value.get("type")
    if not isinstance(value, Type):
        raise _bad(f"{label}[{name}] expects a Type value, got {kind_name(value)}")
    return value


def _function(value: Value, label: str, name: str) -> Type:
    function_type = _member_type(value, label, name)
    if not isinstance(function_type, CallableType):
        raise _bad(
            f"function {label}[{name}] has wrong type, expects a Type[Callable] value, got Type[{function_type}]"
        )
    return function_type


def _attributes(init: Hash, label: str, parent: ObjectType | None) -> list[Attribute]:
    entries = _field(init, "attributes", Hash, Hash()).items()
    attributes = [_attribute(label, name, given) for name, given in entries]
    for name, value in _field(init, "constants", Hash, Hash()).items():
        if any(attribute.name == name for attribute in attributes):
            raise _bad(f"attribute {label}[{name}] is defined as both a constant and an attribute")
        overrides = parent is not None and name in parent.attributes
        attributes.append(Attribute(name, infer(value).generalized(), "constant", True, value, overrides))
    inherited = parent.attributes if parent else {}
    for attribute in attributes:
        _check_override(label, attribute, inherited.get(attribute.name), parent)
    return attributes


def _attribute(label: str, name: Value, given: Value) -> Attribute:
    if not isinstance(name, str) or not _MEMBER_NAME.fullmatch(name):
        raise _bad(f"'{to_string(name)}' cannot be the name of an attribute")
    if isinstance(given, Type):
        return Attribute(name, given)
    if not isinstance(given, Hash):
        raise _bad(f"initializer for attribute {label}[{name}] expects a Hash or Type value, got {kind_name(given)}")
    for key in given:
        if key not in _ATTRIBUTE_KEYS:
            raise _bad(f"initializer for attribute {label}[{name}] has wrong type, unrecognized key '{key}'")
    kind = given.get("kind", "")
    if kind and kind not in _KINDS:
        wanted = ", ".join(f"'{known}'" for known in _KINDS)
        raise _bad(
            f"initializer for attribute {label}[{name}] has wrong type, entry 'kind' expects a match for Enum[{wanted}], "
            f"got '{kind}'"
        )
    if not isinstance(given.get("type"), Type):
        raise _bad(f"initializer for attribute {label}[{name}] has wrong type, expects a value for key 'type'")
    attribute = Attribute(
        name, given["type"], kind, "value" in given, given.get("value"),
        given.get("override") is True, given.get("final") is True,
    )  # fmt: skip
    if kind in ("derived", "given_or_derived") and attribute.has_value:
        raise _bad(f"attribute {label}[{name}] of kind '{kind}' cannot be combined with an attribute value")
    if kind == "constant" and not attribute.has_value:
        raise _bad(f"attribute {label}[{name}] of kind 'constant' requires a value")
    if attribute.has_value and not attribute.type.check(attribute.value):
        got = infer(attribute.value).generalized()
        raise _bad(f"attribute {label}[{name}] value has wrong type, expects a {attribute.type} value, got {got}")
    return attribute


def _check_override(label: str, own: Attribute, inherited: Attribute | None, parent: ObjectType | None) -> None:
    if inherited is None:
        if own.override:
            raise _bad(
                f"expected attribute {label}[{own.name}] to override an inherited attribute, but no such attribute was found"
            )
        return
    where = f"attribute {label}[{own.name}] attempts to override attribute {parent.label if parent else ''}[{own.name}]"
    if inherited.kind == "constant" and own.kind != "constant":
        raise _bad(f"{where} of kind 'constant'")
    if inherited.final:
        raise _bad(f"{where} which is final")
    if not own.override:
        raise _bad(f"{where} without having override => true")
    if not inherited.type.accepts(own.type):
        raise _bad(f"{where} with a type that does not match")


def _equality(value: Value) -> tuple[str, ...] | None:
    if value is None or isinstance(value, tuple):
        return value
    if isinstance(value, str):
        return (value,)
    raise _bad(f"object initializer has wrong type, entry 'equality' expects a String or Array, got {kind_name(value)}")


def _check_equality(new_type: ObjectType) -> None:
    if new_type.equality is None:
        return
    if not new_type.equality_include_type and new_type.equality:
        raise _bad("equality_include_type = false cannot be combined with non empty equality specification")
    for name in new_type.equality:
        attribute = new_type.attributes.get(name)
        if attribute is None:
            raise _bad(f"{new_type.label} equality is referencing non existent attribute '{name}'")
        if attribute.kind == "constant":
            raise _bad(f"{new_type.label} equality is referencing constant attribute {new_type.label}[{name}]")
        if name not in new_type.own_attributes:
            raise _bad(
                f"{new_type.label} equality is referencing attribute {name} which is included in equality of the parent"
            )


def type_set(arguments: tuple[Value, ...]) -> TypeSetType:
    """The TypeSet that a Hash describes. Raises LANG-240."""
    if len(arguments) != 1 or not isinstance(arguments[0], Hash):
        raise issues.TYPE_ARGUMENT_COUNT.error(type="TypeSet", wanted="1 argument", count=len(arguments))
    init = arguments[0]
    if "pcore_version" not in init:
        raise _bad("TypeSet initializer has wrong type, expects a value for key 'pcore_version'")
    for key in init:
        if key not in _SET_KEYS:
            raise _bad(f"TypeSet initializer has wrong type, unrecognized key '{to_string(key)}'")
    for key in ("pcore_version", "version"):
        if isinstance(init.get(key), str) and SemVer.parse(init[key]) is None:
            raise _bad(f"Unable to parse '{init[key]}' as a semantic version identifier")
    types: dict[str, Type] = {}
    for key, member in _field(init, "types", Hash, Hash()).items():
        name = key.reference if isinstance(key, TypeReference) else to_string(key)
        types[name] = object_type((member,)) if isinstance(member, Hash) else _member_type(member, "types", name)
    for member_type in types.values():
        if isinstance(member_type, ObjectType):
            member_type.linked(types.get)
            if member_type.parent_name:
                raise _bad(f"reference to unresolved type '{member_type.parent_name}'")
    result = TypeSetType(init, types)
    return result.named(init["name"]) if isinstance(init.get("name"), str) else result


def named_type(alias: TypeAlias, target: Value) -> Type:
    """The type that a type definition declares: an Object type or TypeSet gets the name itself, other types get an alias."""
    if isinstance(target, Hash):  # `type X = {…}` is short for Object[{…}]
        target = object_type((target,))
    is_object = isinstance(target, ObjectType) and not (target.is_default or target.given or target.is_declared)
    if is_object or isinstance(target, TypeSetType):
        named: Type = target.named(alias.alias)
        alias.resolve(named)
        return named
    alias.resolve(target)
    return alias
