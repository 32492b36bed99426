"""The managed types that one compile knows: those built into Precast, and those that modules declare in Ruby.

A module's type is found by its name alone: the first `lib/puppet/type/NAME.rb` on the module path.
"""

from collections.abc import Callable
from typing import Any

from precast.lang.compiler.loader import Loader
from precast.lang.compiler.resources import RELATIONSHIPS, Resource
from precast.lang.inputs import Inputs
from precast.lang.issues import compiler as issues
from precast.types import catalogue
from precast.types.declaration import ManagedType


def is_metaparameter(name: str) -> bool:
    return name in catalogue.METAPARAMETERS


def is_inherited(name: str) -> bool:
    """Whether the contents of a container inherit this metaparameter from it."""
    return is_metaparameter(name) and name not in RELATIONSHIPS


# Returns the attributes that a type's code makes of a title, None if it cannot.
ReadTitle = Callable[[str, str], dict[str, Any] | None]


class KnownTypes:
    """Finds managed types by name and remembers them for the compile."""

    def __init__(self, loader: Loader, inputs: Inputs) -> None:
        self._loader = loader
        self._inputs = inputs
        self._module_types: dict[str, ManagedType | None] = {}
        # Title patterns of a type that only its code can tell; None leaves them to the declaration.
        self.read_title: ReadTitle = lambda name, title: None

    @property
    def of_modules(self) -> dict[str, ManagedType]:
        """The types found so far that modules declare."""
        return {name: declared for name, declared in self._module_types.items() if declared is not None}

    def find(self, name: str) -> ManagedType | None:
        """The type with a name in lower case; None if neither Precast nor a module has it."""
        known = catalogue.find(name)
        if known is not None or "::" in name:
            return known
        if name not in self._module_types:
            self._module_types[name] = self._of_module(name)
        return self._module_types[name]

    def names(self) -> list[str]:
        return [*catalogue.names(), *self.of_modules]

    def has_parameter(self, type_name: str, name: str) -> bool:
        declared = self.find(type_name)
        if declared is None:
            return False
        if name in declared.attributes or is_metaparameter(name) or name == "name" or declared.is_open:
            return True
        return name == "provider" and self._loader.module_file(f"lib/puppet/provider/{type_name}") is not None

    def parameters(self, type_name: str) -> list[str]:
        declared = self.find(type_name)
        return sorted(declared.attributes) if declared is not None else []

    def must_be_known(self, type_name: str, name: str) -> bool:
        """Whether the compile needs a concrete value: the parameter is a metaparameter, or it names the resource."""
        if is_metaparameter(name):
            return True
        declared = self.find(type_name)
        if declared is None:
            return name == "name"
        return name in declared.never_deferred or (name in declared.namevars and declared.is_isomorphic)

    def names_of_title(self, declared: ManagedType, title: str) -> dict[str, Any]:
        """The attributes that a title sets: by the declaration, or by the code of the type where its patterns change values."""
        computed = self.read_title(declared.name, title) if declared.computes_titles else None
        return dict(declared.names_of_title(title)) if computed is None else computed

    def unique_key(self, resource: Resource) -> tuple[Any, ...] | None:
        """The namevars' values, which only one resource of the type may have: a file's path, a user's name; None if any may.

        Raises if the title matches none of the type's title patterns.
        """
        declared = self.find(resource.type_name)
        if declared is None:
            return None
        if not declared.has_form_for(resource.title):
            raise issues.NO_TITLE_PATTERN.error(
                resource.source, resource.span, title=resource.title, ref=resource.ref, type=resource.type_name
            )
        if not declared.is_isomorphic:
            return None
        values: dict[str, Any] = dict(self.names_of_title(declared, resource.title))
        values |= {
            name: value for name in declared.attributes | {"name"} if (value := resource.value(name)) is not None
        }
        named = values.get(declared.title_attribute) or values.get("name") or resource.title
        values.setdefault(declared.title_attribute, named)
        values.setdefault("name", named)
        return tuple(values.get(name) for name in sorted(declared.namevars))

    def name_in_title(self, type_name: str, title: str) -> str:
        """The name that a title stands for, by the title patterns of its type; the title itself if it sets more or nothing else."""
        declared = self.find(type_name)
        if declared is None or not declared.is_isomorphic or not declared.has_form_for(title):
            return title
        names = self.names_of_title(declared, title)
        return str(next(iter(names.values()))) if len(names) == 1 else title

    def with_title(self, resource: Resource) -> dict[str, Any]:
        """The parameters' values, including those that the title sets; one that only repeats the title is left out."""
        values = {name: parameter.value for name, parameter in resource.parameters.items()}
        if resource.is_class:
            return values
        declared = self.find(resource.type_name) if resource.definition is None else None
        naming = "name" if declared is None else declared.title_attribute
        if declared is not None:
            values = {**self.names_of_title(declared, resource.title), **values}
        if naming != "name" and values.get("name") is not None and not _has_name(declared):
            values[naming] = values.pop("name")
        if resource.title_value is not resource.title:
            values.setdefault(naming, resource.title)
        if values.get(naming) == resource.title_value:
            del values[naming]
        return values

    def _of_module(self, name: str) -> ManagedType | None:
        path = self._loader.module_file(f"lib/puppet/type/{name}.rb")
        if path is None:
            return self._of_plugin(name)
        # This reads Ruby, which a catalog without module types does not need.
        from precast.lang.compiler.types.module_types import type_in

        return type_in(path, name, self._loader, self._inputs)

    def _of_plugin(self, name: str) -> ManagedType | None:
        """A type that a module declares only in Python: the node that runs it knows its attributes, so all are accepted here."""
        if self._loader.module_file(f"precast/types/{name}.py") is None:
            return None
        return ManagedType(name, "A type that a module declares in Python.", {}, {}, is_open=True, code="python")


def _has_name(declared: ManagedType | None) -> bool:
    """Whether `name` is an attribute of its own, not an alias of the namevar."""
    return declared is not None and "name" in declared.attributes
