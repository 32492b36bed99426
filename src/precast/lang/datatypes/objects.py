"""Object types: named types with attributes, parents, type parameters and an equality.

An Object type defines how its instances are made (positionally or from one Hash), compared and written. A type parameter has the name
of an attribute, and `T[value]` narrows T to instances whose attribute fits.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from precast.lang.datatypes.base import UNDEF, Check, Seen, Type, Write
from precast.lang.datatypes.collections import Member, StructType
from precast.lang.datatypes.references import TypeReference
from precast.lang.datatypes.rich import ObjectLike, parameter_covers, part_fits
from precast.lang.issues import types as issues
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Hash, Object, Value, literal, quoted


class Attribute(NamedTuple):
    """A declared attribute. `kind` is "", constant, derived, given_or_derived or reference."""

    name: str
    type: Type
    kind: str = ""
    has_value: bool = False
    value: Value = None
    override: bool = False
    final: bool = False

    @property
    def is_given(self) -> bool:
        """Whether `new` accepts it."""
        return self.kind not in ("constant", "derived")

    @property
    def is_optional(self) -> bool:
        return self.has_value or self.kind == "given_or_derived" or self.type.accepts(UNDEF)

    def text(self, write: Write) -> str:
        """The attribute in the type's text: only its type if nothing else is declared."""
        fields = [f"type => {write(self.type)}"]
        if self.final:
            fields.append("final => true")
        if self.override:
            fields.append("override => true")
        if self.kind:
            fields.append(f"kind => {self.kind}")
        if self.has_value:
            fields.append(f"value => {_value_text(self.value, write)}")
        shown = write(self.type) if len(fields) == 1 else f"{{{', '.join(fields)}}}"
        return f"{quoted(self.name)} => {shown}"


def _value_text(value: Value, write: Write) -> str:
    return write(value) if isinstance(value, Type) else literal(value)


class ObjectType(ObjectLike):
    """A type of objects. Without a name and parent it is the default Object type, which accepts every object."""

    name = "Object"

    def __init__(
        self,
        label: str = "",
        parent: "ObjectType | None" = None,
        attributes: Iterable[Attribute] = (),
        functions: Mapping[str, Type] | None = None,
        type_parameters: Mapping[str, Type] | None = None,
        equality: tuple[str, ...] | None = None,
        equality_include_type: bool = True,
        given: Hash | None = None,
        is_default: bool = False,
    ) -> None:
        self.label = label
        self.parent = parent
        self.own_attributes = {attribute.name: attribute for attribute in attributes}
        self.functions = dict(functions or {})
        self.type_parameters: dict[str, Type] = {
            **(parent.type_parameters if parent else {}),
            **(type_parameters or {}),
        }
        self.own_type_parameters = dict(type_parameters or {})
        self.equality = equality
        self.equality_include_type = equality_include_type
        self.given = given or Hash()  # the parameters of a narrowed type
        self.is_default = is_default
        self.parent_name = ""  # the name of a parent that is not known yet
        self.is_declared = False  # whether a definition has named it

    def named(self, label: str) -> "ObjectType":
        """Set the name from the type's definition."""
        self.label = label
        self.is_declared = True
        for cached in ("text", "key", "_hash"):
            self.__dict__.pop(cached, None)
        return self

    def linked(self, resolve: Callable[[str], Type | None]) -> None:
        """Replace names that were unknown when the type was written by the types that are known now."""
        parent = resolve(self.parent_name) if self.parent_name else None
        if isinstance(parent, ObjectType):
            self.parent, self.parent_name = parent, ""
            self.type_parameters = {**parent.type_parameters, **self.own_type_parameters}
        for name, attribute in self.own_attributes.items():
            if isinstance(attribute.type, TypeReference):
                known = resolve(attribute.type.reference)
                self.own_attributes[name] = attribute._replace(type=known or attribute.type)

    def parameters(self) -> tuple[object, ...]:
        if self.label:
            return self.label, self.given
        return self.label, self.parent, tuple(self.own_attributes.items()), self.given

    @property
    def attributes(self) -> dict[str, Attribute]:
        """All attributes, those of the parents first."""
        return {**(self.parent.attributes if self.parent else {}), **self.own_attributes}

    def all_functions(self) -> dict[str, Type]:
        return {**(self.parent.all_functions() if self.parent else {}), **self.functions}

    def form(self, write: Write) -> str:
        if self.given and self.label:
            return f"{self.label}[{', '.join(self._given_texts(write))}]"
        if self.is_default or not (self.label or self.own_attributes or self.parent or self.functions):
            return "Object"
        return self.label or self.definition()

    def __str__(self) -> str:
        return self.text if self.given else self.definition()

    def expanded(self, aliases: tuple[Type, ...] = ()) -> str:
        return self.text

    @property
    def simple_name(self) -> str:
        return self.label or self.name

    def _given_texts(self, write: Write) -> list[str]:
        names = list(self.type_parameters)
        if len(names) > 2:
            entries = (f"{quoted(name)} => {_value_text(value, write)}" for name, value in self.given.items())
            return [f"{{{', '.join(entries)}}}"]
        last = max((names.index(name) for name in self.given), default=-1)
        return [_value_text(self.given[n], write) if n in self.given else "default" for n in names[: last + 1]]

    def definition(self) -> str:
        """The whole definition as text."""

        def write(inner: Type) -> str:
            return inner.text

        fields = [f"name => {quoted(self.label)}"] if self.label else []
        if self.parent is not None:
            fields.append(f"parent => {self.parent.text}")
        if self.own_type_parameters:
            inside = ", ".join(f"{quoted(name)} => {t.text}" for name, t in self.own_type_parameters.items())
            fields.append(f"type_parameters => {{{inside}}}")
        plain = [a for a in self.own_attributes.values() if a.kind != "constant"]
        if plain:
            fields.append(f"attributes => {{{', '.join(a.text(write) for a in plain)}}}")
        constants = [a for a in self.own_attributes.values() if a.kind == "constant"]
        if constants:
            inside = ", ".join(f"{quoted(a.name)} => {_value_text(a.value, write)}" for a in constants)
            fields.append(f"constants => {{{inside}}}")
        if self.functions:
            inside = ", ".join(f"{quoted(name)} => {t.text}" for name, t in self.functions.items())
            fields.append(f"functions => {{{inside}}}")
        if self.equality is not None:
            fields.append(f"equality => {literal(self.equality)}")
        if not self.equality_include_type:
            fields.append("equality_include_type => false")
        return f"Object[{{{', '.join(fields)}}}]"

    # Instances

    def build_check(self) -> Check:
        if self.is_default:
            return lambda value: isinstance(value, Object | Type)  # Puppet's types are objects too
        base, given = self.base(), tuple(self.given.items())

        def check(value: Value) -> bool:
            if not isinstance(value, Object) or not value.type.is_or_inherits(base):
                return False
            return all(part_fits(want, value.attributes.get(name)) for name, want in given)

        return check

    def base(self) -> "ObjectType":
        """The type without parameters."""
        return self.narrowed(Hash()) if self.given else self

    def narrowed(self, given: Hash) -> "ObjectType":
        """The type with values for its type parameters."""
        return ObjectType(
            self.label,
            self.parent,
            self.own_attributes.values(),
            self.functions,
            self.own_type_parameters,
            self.equality,
            self.equality_include_type,
            given,
        )

    def is_or_inherits(self, other: "ObjectType") -> bool:
        ancestor: ObjectType | None = self
        while ancestor is not None:
            if ancestor == other or (ancestor.label and ancestor.label == other.label):
                return True
            ancestor = ancestor.parent
        return False

    def _accepts(self, other: Type, seen: Seen) -> bool:
        if not isinstance(other, ObjectLike):
            return False
        if self.is_default:
            return True
        if not isinstance(other, ObjectType) or not other.base().is_or_inherits(self.base()):
            return False
        return all(parameter_covers(want, other.given.get(name)) for name, want in self.given.items())

    def generalized(self) -> Type:
        return self.base()

    def given_attributes(self) -> list[Attribute]:
        """The attributes that `new` accepts, in the order of its positional form: required ones first."""
        accepted = [a for a in self.attributes.values() if a.is_given]
        return [a for a in accepted if not a.is_optional] + [a for a in accepted if a.is_optional]

    def initial_struct(self) -> StructType:
        """The type of the Hash that `new` accepts."""
        return StructType(Member(a.name, a.type, "Optional" if a.is_optional else "") for a in self.given_attributes())

    def make(self, given: Mapping[str, Value]) -> Object:
        """Make an instance from checked attributes."""
        entries: list[tuple[str, Value]] = []
        for attribute in self.attributes.values():
            if attribute.name in given:
                entries.append((attribute.name, given[attribute.name]))
            elif attribute.kind != "derived":
                entries.append((attribute.name, attribute.value))
        return Object(self.base(), Hash.of(entries))

    def initial_hash(self, value: Object) -> Hash:
        """The arguments of `new` that make an equal object, without attributes that have their default."""
        return Hash.of(
            (a.name, value.attributes.get(a.name))
            for a in self.attributes.values()
            if a.is_given
            and not (a.is_optional and values.identity_of(value.attributes.get(a.name)) == values.identity_of(a.value))
        )

    def inferred(self, value: Object) -> "ObjectType":
        """The type of an instance: narrowed by the attributes that are type parameters."""
        if not self.type_parameters:
            return self
        return self.narrowed(Hash.of((name, value.attributes.get(name)) for name in self.type_parameters))

    def label_of(self, value: Object) -> str:
        """The name of an instance's type in rich data."""
        return self.inferred(value).text

    def same(self, a: Object, b: Object) -> bool:
        """Whether two instances, the first of this type, are equal."""
        if self.equality_include_type and a.type != b.type:
            return False
        names = self._equality_names()
        return all(values.identity_of(a.attributes.get(n)) == values.identity_of(b.attributes.get(n)) for n in names)

    def _equality_names(self) -> list[str]:
        if self.equality is not None:
            return [*(self.parent._equality_names() if self.parent else ()), *self.equality]
        return [a.name for a in self.attributes.values() if a.kind not in ("constant", "derived")]

    def with_parameters(self, arguments: tuple[Value, ...]) -> "ObjectType":
        """`T[…]`: parameters by position or by one Hash of names; `default` omits a parameter. Raises LANG-23x."""
        if not self.type_parameters:
            raise issues.NOT_PARAMETERIZED.error(name=self.simple_name)
        if (
            len(arguments) == 1
            and isinstance(arguments[0], Hash)
            and self.type_parameters.keys() >= arguments[0].keys()
        ):
            pairs = list(arguments[0].items())
        else:
            pairs = list(zip(self.type_parameters, arguments, strict=False))
        for name, value in pairs:
            if value is not DEFAULT and value is not None and not self.type_parameters[name].check(value):
                raise issues.BAD_TYPE_ARGUMENT.error(
                    type=self.simple_name, got=values.kind_name(value), wanted=str(self.type_parameters[name])
                )
        given = Hash.of((name, value) for name, value in pairs if value is not DEFAULT)
        if not given:
            raise issues.TYPE_ARGUMENT_COUNT.error(type=self.simple_name, wanted="at least 1", count=0)
        return self.narrowed(given)


OBJECT: Final = ObjectType(is_default=True)
