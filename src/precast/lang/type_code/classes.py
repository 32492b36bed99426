"""The classes that type code declares: `newtype` with its parameters, properties, hooks and automatic relations.

A hook given as a block, such as `validate`, becomes a method of its class under the name that Puppet gives it (`unsafe_validate`), so
that inheritance and calls between hooks go as in Puppet.
"""

from typing import Any, Final

from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.methods import BuiltMethod
from precast.lang.ruby.execution import Execution, Jump
from precast.lang.ruby.methods.dispatch import call_method, method, of_class, plain_text
from precast.lang.ruby.objects import Constant, Proc, RubyClass, RubyObject
from precast.lang.ruby.values import Symbol
from precast.lang.type_code.accepted_values import AcceptedValues

Args = list[Any]

_RELATIONS: Final = {
    "autorequire": "require", "autosubscribe": "require", "autobefore": "before", "autonotify": "before",
}  # fmt: skip


class TypeClass(RubyClass):
    """The class that `newtype` makes."""

    kind_name = "Type class"

    def __init__(self, name: str) -> None:
        super().__init__(f"Puppet::Type::{name.capitalize()}", Constant("Puppet::Type"))
        self.type_name = name
        self.parameters: dict[str, ParameterClass] = {}
        self.properties: dict[str, ParameterClass] = {}
        self.relations: list[tuple[str, str, Proc]] = []  # kind, type, the block that names titles

    def attribute(self, name: str) -> "ParameterClass | None":
        return self.properties.get(name) or self.parameters.get(name)

    def namevars(self) -> list[str]:
        return [name for name, each in self.parameters.items() if each.is_namevar or name == "name"]


class ParameterClass(RubyClass):
    """The class that `newparam` or `newproperty` makes."""

    kind_name = "Parameter class"

    def __init__(self, of_type: str, name: str, parent: RubyClass | Constant, *, is_property: bool) -> None:
        super().__init__(f"{of_type}::{'' if is_property else 'Parameter'}{name.capitalize()}", parent)
        self.attribute_name = name
        self.is_property = is_property
        self.is_namevar = False
        self.is_whole = False  # whether a property takes all values of an array
        self.accepted = AcceptedValues()

    def root_name(self) -> str:
        root = self.root()
        return root.name if root is not None else ""


class TypeReference(TypeClass):
    """What `Puppet::Type.type(:name)` gives for a type that is not the one being read: its name is known, its code is not."""


def declared_types(execution: Execution) -> dict[str, TypeClass]:
    """Return the types that the code has declared so far, by their names."""
    types: dict[str, TypeClass] = execution.globals.setdefault("\0types", {})
    return types


@of_class("Puppet::Type", "newtype")
def _newtype(execution: Execution, this: Constant, args: Args, block: Proc | None) -> TypeClass:
    name = plain_text(execution, args[0]).lower()
    made = declared_types(execution)[name] = TypeClass(name)
    if block is not None and block.call_as is not None:
        block.call_as(made, made, (made,))
    return made


@of_class("Puppet::Type", "type")
def _type(execution: Execution, this: Constant, args: Args, block: Proc | None) -> TypeClass:
    name = plain_text(execution, args[0]).lower()
    return declared_types(execution).get(name) or TypeReference(name)


def _declare_attributes() -> None:
    for word, is_property in (("newparam", False), ("newproperty", True)):

        def run(
            execution: Execution, this: TypeClass, args: Args, block: Proc | None, is_property: bool = is_property
        ) -> ParameterClass:
            options = args[1] if len(args) > 1 and isinstance(args[1], dict) else {}
            return _add_attribute(execution, this, plain_text(execution, args[0]), options, block, is_property)

        method("Type class", word)(run)


_declare_attributes()


def _add_attribute(
    execution: Execution, this: TypeClass, name: str, options: dict[Any, Any], block: Proc | None, is_property: bool
) -> ParameterClass:
    parent = options.get(Symbol("parent")) or Constant("Puppet::Property" if is_property else "Puppet::Parameter")
    made = ParameterClass(this.name, name.lower(), parent, is_property=is_property)
    made.is_namevar = options.get(Symbol("namevar")) is True
    made.is_whole = options.get(Symbol("array_matching")) == Symbol("all")
    if options.get(Symbol("boolean")) is True:
        _define(this, f"{name}?", lambda execution, owner, args, block: _is_true(execution, owner, name))
    (this.properties if is_property else this.parameters)[made.attribute_name] = made
    if block is not None and block.call_as is not None:
        block.call_as(made, made, (made,))
    return made


def _is_true(execution: Execution, owner: RubyObject, name: str) -> bool:
    return call_method(execution, owner, "[]", [Symbol(name)], None) in (True, Symbol("true"))


@method("Type class", "ensurable")
def _ensurable(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> ParameterClass:
    options = {Symbol("parent"): Constant("Puppet::Property::Ensure")}
    made = _add_attribute(execution, this, "ensure", options, block, is_property=True)
    if block is None:
        _default_values(execution, made, [], None)
    return made


@method("Parameter class", "defaultvalues")
def _default_values(execution: Execution, this: ParameterClass, args: Args, block: Proc | None) -> None:
    """Accept present and absent; present is the default of a resource that has a property."""
    this.accepted.add(Symbol("present"))
    this.accepted.add(Symbol("absent"))
    _define(
        this,
        "default",
        lambda execution, owner, args, block: (
            Symbol("present") if call_method(execution, owner.resource, "managed?", [], None) else None
        ),
    )


def _declare_relations() -> None:
    for word, kind in _RELATIONS.items():

        def run(execution: Execution, this: TypeClass, args: Args, block: Proc | None, kind: str = kind) -> None:
            if block is not None:
                this.relations.append((kind, plain_text(execution, args[0]).lower(), block))

        method("Type class", word)(run)


_declare_relations()


@method("Type class", "validate")
def _validate_type(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> None:
    _define_hook(this, "validate", block)


@method(
    "Type class", "feature", "apply_to_all", "apply_to_host", "apply_to_device", "newmetaparam", "provide", "desc",
    "isomorphic", "newstate", "mk_resource_methods", "instances",
)  # fmt: skip
def _note_nothing(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> None:
    """Do nothing: what this declares decides about no value."""


@method("Type class", "name")
def _type_name(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> Symbol:
    return Symbol(this.type_name)


@method("Type class", "validattr?", "valid_parameter?", "validproperty?", "validparameter?")
def _is_valid(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> bool:
    _refuse_unknown(this)
    return this.attribute(plain_text(execution, args[0])) is not None


@method(
    "Type class", "properties", "parameters", "attrclass", "paramclass", "allattrs", "provider", "providers",
    "defaultprovider", "suitableprovider", "provider_feature",
)  # fmt: skip
def _refuse_details(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> Any:
    raise issues.NOT_IN_SUBSET.error(construct="the attributes and providers of a type as values")


@method("Type class", "key_attributes")
def _key_attributes(execution: Execution, this: TypeClass, args: Args, block: Proc | None) -> list[Symbol]:
    _refuse_unknown(this)
    return [Symbol(name) for name in this.namevars()]


def _refuse_unknown(this: TypeClass) -> None:
    if isinstance(this, TypeReference):
        raise issues.NOT_IN_SUBSET.error(construct=f"the declaration of the type {this.type_name}")


# Attributes


@method("Parameter class", "desc", "doc", "required_features=", "isrequired", "sensitive", "nodefault", "isreq")
def _describe(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    """Do nothing: what this declares decides about no value."""


@method("Parameter class", "isnamevar")
def _isnamevar(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    if isinstance(this, ParameterClass):
        this.is_namevar = True


@method("Parameter class", "array_matching=")
def _array_matching(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    if isinstance(this, ParameterClass):
        this.is_whole = args[0] == Symbol("all")
    return args[0]


@method("Parameter class", "accept_arrays")
def _accept_arrays(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    this.ivars["accept_arrays"] = not args or args[0] is True


@method("Parameter class", "name")
def _attribute_name(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> Any:
    return Symbol(this.attribute_name) if isinstance(this, ParameterClass) else this.name


@method("Parameter class", "newvalues")
def _newvalues(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    for value in args:
        for each in value if isinstance(value, list) else (value,):
            _accept(this, each)


@method("Parameter class", "newvalue")
def _newvalue(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    _accept(this, args[0])


def _accept(this: RubyClass, value: Any) -> None:
    if isinstance(this, ParameterClass):
        this.accepted.add(value)


@method("Parameter class", "aliasvalue")
def _aliasvalue(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    if isinstance(this, ParameterClass):
        this.accepted.add_alias(args[0], args[1])


@method("Parameter class", "defaultto")
def _defaultto(execution: Execution, this: RubyClass, args: Args, block: Proc | None) -> None:
    if block is not None:
        _define_hook(this, "default", block)
    else:
        value = args[0] if args else None
        _define(this, "default", lambda execution, owner, args, block: value)


def _declare_hooks() -> None:
    for word in ("validate", "munge", "unmunge"):
        name = word if word == "unmunge" else f"unsafe_{word}"

        def run(execution: Execution, this: RubyClass, args: Args, block: Proc | None, name: str = name) -> None:
            _define_hook(this, name, block)

        method("Parameter class", word)(run)


_declare_hooks()


def _define_hook(this: RubyClass, name: str, block: Proc | None) -> None:
    """Make a block a method of the class; `return` ends it, as in a method."""
    if block is None:
        raise issues.NOT_IN_SUBSET.error(construct=f"{name} without a block")
    if block.call_as is None:  # of a method: `munge(&:to_s)`
        plain = block.call
        _define(this, name, lambda execution, owner, args, passed: plain(*args))
        return
    body = block.call_as

    def call(execution: Execution, owner: RubyObject, args: Args, passed: Proc | None) -> Any:
        try:
            return body(owner, None, tuple(args), passed)
        except Jump as jump:
            if jump.kind != "return":
                raise
            return jump.value

    _define(this, name, call)


def _define(this: RubyClass, name: str, function: Any) -> None:
    made = BuiltMethod(name, function)
    made.owner = this
    this.methods[name] = made  # type: ignore[assignment]
