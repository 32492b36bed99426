"""Resources as type code sees them: an object of the type, and one object for each attribute that has a value.

They set values in Puppet's order: namevars, the provider, properties, parameters, then defaults. A value is validated before it is
munged. What only a provider on the node could say is refused, so that the value counts as not checked.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import Raised, raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, method, plain_text
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyObject
from precast.lang.ruby.values import Symbol
from precast.lang.type_code.built_in_attributes import munge_built_in, validate_built_in
from precast.lang.type_code.classes import ParameterClass, TypeClass

Args = list[Any]
# Values that are not known when the catalog is compiled.
UNKNOWN: Final = object()


class TypeObject(RubyObject):
    """A resource of a type."""

    kind_name = "Type object"
    __slots__ = ("attributes", "given", "title", "type")

    def __init__(self, kind: TypeClass, title: str, given: dict[str, Any]) -> None:
        super().__init__(kind)
        self.type = kind
        self.title = title
        self.given = given
        self.attributes: dict[str, AttributeObject] = {}
        self.ivars["title"] = title
        self.ivars["original_parameters"] = {Symbol(name): value for name, value in given.items()}

    @property
    def ref(self) -> str:
        return f"{self.type.type_name.capitalize()}[{self.title}]"


class AttributeObject(RubyObject):
    """The value of one attribute of a resource."""

    kind_name = "Attribute object"
    __slots__ = ("attribute", "resource", "values")

    def __init__(self, kind: ParameterClass, resource: TypeObject) -> None:
        super().__init__(kind)
        self.attribute = kind
        self.resource = resource
        self.values: list[Any] = []
        self.ivars["resource"] = resource


class RefusedError(Exception):
    """Type code refused the value of an attribute, or the resource as a whole if `attribute` is empty."""

    def __init__(self, attribute: str, reason: str) -> None:
        super().__init__(reason)
        self.attribute = attribute
        self.reason = reason


def set_values(execution: Execution, resource: TypeObject) -> None:
    """Set all values that are known, then the defaults. A value that the subset cannot check becomes unknown. Raises RefusedError."""
    kind = resource.type
    for name in _order(kind, resource.given):
        value = resource.given.get(name)
        if value is not None and value is not UNKNOWN and kind.attribute(name) is not None:
            with _trying(resource, name):
                set_value(execution, resource, name, value)
    for name in (*kind.properties, *kind.parameters):
        if name not in resource.attributes and resource.given.get(name) is None:
            with _trying(resource, name):
                _set_default(execution, resource, name)


@contextlib.contextmanager
def _trying(resource: TypeObject, name: str) -> Iterator[None]:
    try:
        yield
    except PrecastError as error:
        reason = refusal(error)
        if reason is not None:
            raise RefusedError(name, reason) from None
        resource.attributes.pop(name, None)
        resource.given[name] = UNKNOWN


def refusal(error: PrecastError) -> str | None:
    """Return why code refused a value; None if the subset could not run the code."""
    if isinstance(error, Raised) and error.exception is not None:
        return str(error.exception.message)
    cause = error.__cause__
    if (
        error.code == issues.BAD_CALL.code
        and isinstance(cause, ValueError)
        and str(cause).startswith("invalid value for")
    ):
        return str(cause)  # of Integer() or Float()
    return None


def _order(kind: TypeClass, given: dict[str, Any]) -> list[str]:
    provider = [name for name in kind.parameters if name == "provider"]
    return list(dict.fromkeys([*kind.namevars(), *provider, *kind.properties, *kind.parameters, *given]))


def set_value(execution: Execution, resource: TypeObject, name: str, value: Any) -> None:
    """Validate, munge and store a value."""
    declared = resource.type.attribute(name)
    assert declared is not None
    made = AttributeObject(declared, resource)
    resource.attributes[name] = made
    _assign(execution, made, value)


def _assign(execution: Execution, made: AttributeObject, value: Any) -> None:
    # Every value of a property is validated before the first is munged.
    values = value if made.attribute.is_property and isinstance(value, list) else [value]
    for each in values:
        call_method(execution, made, "validate", [each], None)
    made.values = [call_method(execution, made, "munge", [each], None) for each in values]
    if made.attribute.is_property:
        made.ivars["should"] = made.values
    else:
        made.ivars["value"] = made.values[0]


def _set_default(execution: Execution, resource: TypeObject, name: str) -> None:
    declared = resource.type.attribute(name)
    default = declared.find("default") if declared is not None else None
    if declared is None or default is None:
        return
    value = default.call(execution, AttributeObject(declared, resource), [], None)
    if value is not None and value is not False:
        set_value(execution, resource, name, value)


def value_of(execution: Execution, resource: TypeObject, name: str) -> Any:
    """Return what `self[:name]` gives. Raises LANG-901 for what only the node knows."""
    if name == "name" and resource.type.attribute("name") is None and resource.type.namevars():
        name = resource.type.namevars()[0]
    if resource.given.get(name) is UNKNOWN:
        raise issues.NOT_IN_SUBSET.error(construct=f"the value of {name}, which is known on the node only")
    found = resource.attributes.get(name)
    if found is not None:
        return call_method(execution, found, "value", [], None)
    if name == "provider":
        given = resource.given.get(name)
        if given is None:
            raise issues.NOT_IN_SUBSET.error(construct="the provider, which is chosen on the node")
        return Symbol(str(given))
    if resource.type.attribute(name) is None:
        return resource.given.get(name)  # a metaparameter
    return None


# Methods of resources


@method("Type object", "[]", "value", "should")
def _get(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Any:
    return value_of(execution, this, plain_text(execution, args[0]).lower())


@method("Type object", "[]=")
def _set(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Any:
    name, value = plain_text(execution, args[0]).lower(), args[1]
    if this.type.attribute(name) is None:
        raise issues.NOT_IN_SUBSET.error(construct=f"setting {name} of a resource")
    if value is None:
        raise raised("Puppet::Error", f"Got nil value for {name}")
    set_value(execution, this, name, value)
    return value


@method("Type object", "name")
def _name(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Any:
    return value_of(execution, this, "name")


@method("Type object", "title")
def _title(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> str:
    return this.title


@method("Type object", "ref", "to_s", "path", "inspect")
def _ref(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> str:
    return this.ref


@method("Type object", "class")
def _class(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> TypeClass:
    return this.type


@method("Type object", "type")
def _type(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Symbol:
    return Symbol(this.type.type_name)


@method("Type object", "original_parameters", "to_hash")
def _original(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Any:
    if any(value is UNKNOWN for value in this.given.values()):
        raise issues.NOT_IN_SUBSET.error(construct="all parameters, of which one is known on the node only")
    return this.ivars["original_parameters"]


@method("Type object", "parameter", "property")
def _attribute(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> AttributeObject | None:
    return this.attributes.get(plain_text(execution, args[0]).lower())


@method("Type object", "propertydefined?")
def _is_defined(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> bool:
    return plain_text(execution, args[0]).lower() in this.attributes


@method("Type object", "delete")
def _delete(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> None:
    this.attributes.pop(plain_text(execution, args[0]).lower(), None)


@method("Type object", "properties")
def _properties(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> list[AttributeObject]:
    return [each for each in this.attributes.values() if each.attribute.is_property]


@method("Type object", "parameters")
def _parameters(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> dict[Any, Any]:
    return {Symbol(name): each for name, each in this.attributes.items()}


@method("Type object", "managed?")
def _is_managed(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> bool:
    return any(each.attribute.is_property for each in this.attributes.values())


@method("Type object", "noop?", "noop", "virtual?", "exported?", "deleting?")
def _no(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> bool:
    return False


@method("Type object", "provider")
@method("Attribute object", "provider")
def _provider(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the provider, which is chosen on the node")


@method("Type object", "catalog")
def _catalog(execution: Execution, this: TypeObject, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the catalog as a value")


@method("Type object", "fail", "devfail", "raise")
@method("Attribute object", "fail", "devfail")
def _fail(execution: Execution, this: Any, args: Args, block: Proc | None) -> Any:
    """Raise an error of Puppet; the first argument may be its class."""
    if args and isinstance(args[0], Constant | RubyClass | RubyObject):
        call_method(execution, Constant("Kernel"), "raise", args, None)
    raise raised("Puppet::Error", " ".join(plain_text(execution, arg) for arg in args) or "unhandled exception")


@method("Type object", "absolute_path?")
@method("Attribute object", "absolute_path?")
def _is_absolute(execution: Execution, this: Any, args: Args, block: Proc | None) -> bool:
    return plain_text(execution, args[0]).startswith("/")


def _declare_logs() -> None:
    for name in ("debug", "info", "notice", "warning", "err", "alert", "crit", "emerg"):

        def run(execution: Execution, this: Any, args: Args, block: Proc | None) -> None:
            """Do nothing: the node logs it when it applies the resource."""

        method("Type object", name)(run)
        method("Attribute object", name)(run)


_declare_logs()


# Methods of attributes


@method("Attribute object", "resource")
def _resource(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> TypeObject:
    return this.resource


@method("Attribute object", "name")
def _attribute_name(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Symbol:
    return Symbol(this.attribute.attribute_name)


@method("Attribute object", "class")
def _attribute_class(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> ParameterClass:
    return this.attribute


@method("Attribute object", "to_s")
def _attribute_text(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> str:
    return this.attribute.attribute_name


@method("Attribute object", "validate")
def _validate(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> None:
    call_method(execution, this, "unsafe_validate", args, None)


@method("Attribute object", "munge")
def _munge(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Any:
    return call_method(execution, this, "unsafe_munge", args, None)


@method("Attribute object", "unsafe_validate")
def _validate_plainly(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> None:
    validate_built_in(this.attribute, args[0])


@method("Attribute object", "unsafe_munge")
def _munge_plainly(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Any:
    return munge_built_in(this.attribute, args[0])


@method("Attribute object", "unmunge")
def _unmunge(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Any:
    return args[0]


@method("Attribute object", "value", "should")
def _value(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Any:
    """Return the value: of a property all values or the first, by its declaration."""
    if this.attribute.root_name() in (
        "Puppet::Property::List",
        "Puppet::Property::OrderedList",
        "Puppet::Property::KeyValue",
    ):
        raise issues.NOT_IN_SUBSET.error(construct="a list that is compared with the state of the node")
    values = [call_method(execution, this, "unmunge", [each], None) for each in this.values]
    if this.attribute.is_property and this.attribute.is_whole:
        return values
    return values[0] if values else None


@method("Attribute object", "value=", "should=")
def _assign_value(execution: Execution, this: AttributeObject, args: Args, block: Proc | None) -> Any:
    _assign(execution, this, args[0])
    return args[0]
