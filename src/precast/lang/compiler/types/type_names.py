"""Resolves capitalised names to an alias, a managed type or a define, once per compile."""

from typing import TYPE_CHECKING

from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.compiler.suggestions import did_you_mean
from precast.lang.datatypes.construction.notation import parse_type_in
from precast.lang.issues import compiler as issues

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation


class TypeNames:
    """The type names that one compile has resolved."""

    def __init__(self, compilation: "Compilation") -> None:
        self._compilation = compilation
        self._resolved: dict[str, datatypes.Type] = {}
        self._under_definition = 0

    @property
    def is_defining(self) -> bool:
        """Whether the definition of a type alias is being evaluated."""
        return self._under_definition > 0

    def named(self, name: str, source: Source, span: Span) -> datatypes.Type:
        """The type with a name. Raises if there is none."""
        resolved = self._resolved.get(name)
        if resolved is None:
            resolved = self._resolved[name] = self._find(name.lower(), name, source, span)
        return resolved

    def parse(self, text: str) -> datatypes.Type:
        """Parse the text of a type, with the names of this compile."""

        def resolve(name: str) -> datatypes.Type | None:
            return datatypes.core(name) or self.named(name, Source("type", text), Span(0, len(text)))

        return parse_type_in(text, resolve)

    def _find(self, key: str, name: str, source: Source, span: Span) -> datatypes.Type:
        compilation = self._compilation
        if key == "node" or compilation.catalog.is_resource_type(compilation.top, key):
            return datatypes.ResourceType(key)
        alias = compilation.loader.alias_named(key)
        if alias is None:
            return self._without_alias(key, name, source, span)
        node, code = alias
        alias_type = self._resolved[name] = datatypes.TypeAlias(node.name)
        self._under_definition += 1
        try:
            return datatypes.named_type(alias_type, code(compilation.top))
        finally:
            self._under_definition -= 1

    def _without_alias(self, key: str, name: str, source: Source, span: Span) -> datatypes.Type:
        member = self._member(key, source, span)
        if member is not None:
            return member
        if self.is_defining:  # the name may become known later, or only to the type itself
            return datatypes.TypeReference(name)
        loader = self._compilation.loader
        known = [*loader.defines, *(node.name for node, _ in loader.aliases.values())]
        raise issues.UNKNOWN_TYPE_NAME.error(source, span, name=name, guess=did_you_mean(name, known))

    def _member(self, key: str, source: Source, span: Span) -> datatypes.Type | None:
        """A type of a TypeSet: `TS::Name`."""
        outer, _, leaf = key.rpartition("::")
        aliases = self._compilation.loader.aliases
        if not outer or outer not in aliases:
            return None
        type_set = self.named(aliases[outer][0].name, source, span)
        if not isinstance(type_set, datatypes.TypeSetType):
            return None
        return next((member for name, member in type_set.types.items() if str(name).lower() == leaf), None)
