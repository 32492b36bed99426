"""What a name in upper case stands for: an alias, a managed type or a define, found once in a compile."""

from typing import TYPE_CHECKING

from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.compiler.guesses import did_you_mean
from precast.lang.datatypes.construction.notation import parse_type_in
from precast.lang.issues import compiler as issues

if TYPE_CHECKING:
    from precast.lang.compiler.run import Run


class TypeNames:
    """The names that one compile has met."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self._found: dict[str, datatypes.Type] = {}
        self._under_definition = 0

    @property
    def is_defining(self) -> bool:
        """Whether the definition of a type alias is being evaluated."""
        return self._under_definition > 0

    def named(self, name: str, source: Source, span: Span) -> datatypes.Type:
        """The type of a name. Raises where there is none."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._find(name.lower(), name, source, span)
        return found

    def parse(self, text: str) -> datatypes.Type:
        """A type from its text, with the names of this compile."""

        def resolve(name: str) -> datatypes.Type | None:
            return datatypes.core(name) or self.named(name, Source("type", text), Span(0, len(text)))

        return parse_type_in(text, resolve)

    def _find(self, key: str, name: str, source: Source, span: Span) -> datatypes.Type:
        run = self._run
        if key == "node" or run.catalog.is_resource_type(run.top, key):
            return datatypes.ResourceType(key)
        alias = run.loader.alias_named(key)
        if alias is None:
            return self._without_alias(key, name, source, span)
        node, code = alias
        made = self._found[name] = datatypes.TypeAlias(node.name)
        self._under_definition += 1
        try:
            return datatypes.named_type(made, code(run.top))
        finally:
            self._under_definition -= 1

    def _without_alias(self, key: str, name: str, source: Source, span: Span) -> datatypes.Type:
        found = self._member(key, source, span)
        if found is not None:
            return found
        if self.is_defining:  # such a name may be known later, or only to the type itself
            return datatypes.TypeReference(name)
        loader = self._run.loader
        known = [*loader.defines, *(node.name for node, _ in loader.aliases.values())]
        raise issues.UNKNOWN_TYPE_NAME.error(source, span, name=name, guess=did_you_mean(name, known))

    def _member(self, key: str, source: Source, span: Span) -> datatypes.Type | None:
        """A type of a TypeSet: `TS::Name`."""
        outer, _, leaf = key.rpartition("::")
        aliases = self._run.loader.aliases
        if not outer or outer not in aliases:
            return None
        found = self.named(aliases[outer][0].name, source, span)
        if not isinstance(found, datatypes.TypeSetType):
            return None
        return next((member for name, member in found.types.items() if str(name).lower() == leaf), None)
