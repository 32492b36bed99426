"""The catalog under construction: holds declared resources and their overrides, and evaluates classes and defines in Puppet's order.

A class is evaluated when it is declared. Defines are evaluated in rounds: first the collectors, then every define declared so far,
until a round adds nothing. Resource defaults apply when a resource is declared; arrows and tags apply after everything is declared.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.compiler.collecting.collectors import Collector, Realization
from precast.lang.compiler.definitions import Definition
from precast.lang.compiler.evaluation import evaluate_resource
from precast.lang.compiler.overrides import Attribute, merge
from precast.lang.compiler.relationships import Relationship, SharedArrays
from precast.lang.compiler.resources import Parameter, Resource, capitalized, flatten, ref_of, reference
from precast.lang.issues import compiler as issues
from precast.lang.scope import Frame, Scope

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation

# Limits an endless chain of defines that declare defines.
MAX_ROUNDS = 1000


class Catalog:
    """The resources, collectors, relationships and overrides declared so far, in their order."""

    def __init__(self, compilation: "Compilation") -> None:
        self.compilation = compilation
        self.resources: dict[str, Resource] = {}
        self.aliases: dict[str, Resource] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self._keys: dict[tuple[str, tuple[Any, ...]], Resource] = {}
        self.classes: list[str] = []
        self._by_type: dict[str, list[Resource]] = {}
        self._pending_defines: list[Resource] = []
        self._collectors: list[Collector | Realization] = []
        self._relationships: list[Relationship] = []
        self._overrides: dict[str, list[tuple[list[Attribute], Frame, Source, Span]]] = {}

    def find(self, ref: str) -> Resource | None:
        """The resource of a reference. Its title may be another form of the name: `File[/a/]` is `File[/a]`."""
        return self._declared(ref) or self._named_alike(ref)

    def _declared(self, ref: str) -> Resource | None:
        return self.resources.get(ref) or self.aliases.get(ref)

    def _named_alike(self, ref: str) -> Resource | None:
        type_name, _, title = ref[:-1].partition("[")
        if not self._by_type.get(type_name.lower()):
            return None
        name = self.compilation.known_types.name_in_title(type_name.lower(), title)
        return None if name == title else self._declared(reference(type_name.lower(), name))

    def of_type(self, type_name: str) -> list[Resource]:
        return self._by_type.get(type_name, [])

    # Declaring

    def declare(
        self,
        scope: Scope,
        type_name: str,
        title: Any,
        attributes: Iterable[Attribute],
        virtual: bool,
        exported: bool,
        source: Source | None,
        span: Span | None,
    ) -> datatypes.Type:
        """Declare one resource and give its reference; a class is evaluated at once."""
        type_name = type_name.lower()
        if type_name == "class":
            return self._declare_class(scope, title, attributes, source, span)
        resource = Resource(type_name, title, scope.frame, virtual=virtual, exported=exported, source=source, span=span)
        for name, value, adds in self.concrete_attributes(type_name, attributes):
            resource.set(name, Parameter(value, scope.frame, adds))
        self.declare_resource(resource)
        return datatypes.ResourceType(type_name, resource.title)

    def declare_resource(self, resource: Resource) -> None:
        """Add a resource; if its type is a define, that is evaluated in one of the next rounds. Raises LANG-632 for an unknown type."""
        if self.compilation.known_types.find(resource.type_name) is None:
            resource.definition = self.compilation.loader.define_named(resource.type_name)
            if resource.definition is None:
                raise issues.UNKNOWN_TYPE.error(name=resource.type_name, guess=self._guess_type(resource.type_name))
        self.add(resource)
        if resource.definition is not None:
            self._pending_defines.append(resource)

    def concrete_attributes(self, type_name: str, attributes: Iterable[Attribute]) -> Iterable[Attribute]:
        """The attributes, with holes resolved in those that need a value now: names, relationships, tags and the like."""
        if not self.compilation.has_unknowns:
            return attributes
        known = self.compilation.known_types
        return [
            (name, self.compilation.concrete(value) if known.must_be_known(type_name, name) else value, adds)
            for name, value, adds in attributes
        ]

    def _guess_type(self, name: str) -> str:
        from precast.lang.compiler.suggestions import did_you_mean

        return did_you_mean(name, [*self.compilation.known_types.names(), *self.compilation.loader.defines])

    def _declare_class(
        self, scope: Scope, title: str, attributes: Iterable[Attribute], source: Source | None, span: Span | None
    ) -> datatypes.Type:
        name = title.removeprefix("::").lower()
        definition = self.class_definition(name)
        resource = Resource("class", name, scope.frame, definition, source=source, span=span)
        for attribute, value, adds in self.concrete_attributes("class", attributes):
            resource.set(attribute, Parameter(value, scope.frame, adds))
        self._add_parent(scope, definition)
        self.add(resource)
        evaluate_resource(self.compilation, resource)
        return datatypes.ResourceType("class", capitalized(name))

    def class_definition(self, name: str) -> Definition:
        """The class with a name. Raises if there is none."""
        definition = self.compilation.loader.class_named(name)
        if definition is None:
            from precast.lang.compiler.suggestions import did_you_mean

            raise issues.UNKNOWN_CLASS.error(name=name, guess=did_you_mean(name, list(self.compilation.loader.classes)))
        return definition

    def add(self, resource: Resource) -> None:
        """Add a resource. Raises if its reference is taken."""
        earlier = self._declared(resource.ref)
        if earlier is not None:
            raise issues.DUPLICATE.error(resource.source, resource.span, ref=resource.ref, where=earlier.place())
        self.resources[resource.ref] = resource
        self._by_type.setdefault(resource.type_name, []).append(resource)
        if not resource.is_class and resource.value("stage") is not None:
            raise issues.STAGE_ON_RESOURCE.error(resource.source, resource.span, ref=resource.ref)
        if resource.type_name == "stage":
            return
        around = resource.frame.resource if resource.frame is not None else None
        if resource.is_class:
            if (
                around is not None
            ):  # the tags of this point in time: a class, unlike other resources, gets no later ones
                resource.tags.update(around.all_tags())
            self._stage_edge(resource, around)
        elif around is not None:
            self.edges[around.ref, resource.ref] = None
        self.apply_defaults(resource, resource.frame)
        self._add_aliases(resource)

    def _stage_edge(self, resource: Resource, around: Resource | None) -> None:
        inherited = around.value("stage") if around is not None else None
        stage = resource.value("stage") or inherited or "main"
        ref = reference("stage", stage)
        if ref not in self.resources:
            raise issues.UNKNOWN_STAGE.error(resource.source, resource.span, stage=stage, ref=resource.ref)
        if stage != "main" and resource.frame is not None and resource.value("stage") is None:
            resource.set("stage", Parameter(stage, resource.frame))
        self.edges[ref, resource.ref] = None

    def apply_defaults(self, resource: Resource, frame: Frame | None) -> None:
        """Set what a resource lacks from the defaults visible from a frame: its own, or that of a collector that overrides it."""
        frames = []
        while frame is not None:
            if resource.type_name in frame.defaults:
                frames.append(frame)
            frame = frame.declared_in
        for defaults_frame in frames:  # the innermost first
            for name, parameter in defaults_frame.defaults[resource.type_name].items():
                if name not in resource.parameters:
                    resource.set(name, parameter)

    def _add_aliases(self, resource: Resource) -> None:
        given = resource.value("alias")
        for name in flatten(given) if given is not None else ():
            self._add_alias(resource, str(name))
        if resource.definition is None and not resource.is_class:
            self._add_key(resource, self.compilation.known_types.unique_key(resource))

    def _add_key(self, resource: Resource, key: tuple[Any, ...] | None) -> None:
        """Index a resource by its namevar; if it has several namevars, their combination must be unique."""
        if key is None or key == (resource.title,) or all(part is None for part in key):
            return
        if len(key) == 1:
            if isinstance(key[0], str):
                self._add_alias(resource, key[0])
            return
        earlier = self._keys.setdefault((resource.type_name, key), resource)
        if earlier is not resource:
            shown = ", ".join("undef" if part is None else str(part) for part in key)
            raise issues.ALIAS_TAKEN.error(
                resource.source, resource.span, ref=resource.ref, alias=shown, where=earlier.place()
            )

    def _add_alias(self, resource: Resource, name: str) -> None:
        ref = reference(resource.type_name, name)
        earlier = self._declared(ref)
        if earlier is not None and earlier is not resource:
            raise issues.ALIAS_TAKEN.error(
                resource.source, resource.span, ref=resource.ref, alias=name, where=earlier.place()
            )
        self.aliases[ref] = resource

    # Adding to declared resources

    def set_defaults(self, scope: Scope, type_name: str, attributes: Iterable[Attribute]) -> None:
        known = scope.frame.defaults.setdefault(type_name, {})
        for name, value, _ in self.concrete_attributes(type_name, attributes):
            if name in known:
                raise issues.DEFAULT_TWICE.error(type=datatypes.ResourceType(type_name), name=name)
            known[name] = Parameter(value, scope.frame)

    def override(
        self, scope: Scope, target: datatypes.ResourceType, attributes: list[Attribute], source: Source, span: Span
    ) -> None:
        """Override a declared resource at once; else store the override until the resource is declared."""
        ref = ref_of(target)
        resource = self.find(ref)
        if resource is not None:
            merge(self.compilation, resource, attributes, scope.frame, source, span)
        else:
            self._overrides.setdefault(ref, []).append((attributes, scope.frame, source, span))

    def relate(self, first: tuple[Any, ...], second: tuple[Any, ...], kind: str, source: Source, span: Span) -> None:
        self._relationships.append(Relationship(first, second, kind, source, span))

    def reference_of(self, text: str) -> datatypes.Type:
        """Parse the text of a reference. Raises if it is not one."""
        name, bracket, title = text.partition("[")
        if not bracket or not title.endswith("]") or not name[:1].isupper():
            raise issues.NO_REFERENCE.error(text=text)
        title = title[:-1].strip("'\"")
        return datatypes.ClassType(title.lower()) if name == "Class" else datatypes.ResourceType(name, title)

    def add_collector(self, collector: Collector | Realization) -> None:
        self._collectors.append(collector)

    # Classes

    def _add_parent(self, scope: Scope, definition: Definition) -> None:
        if definition.parent is None:
            return
        name = definition.parent
        parent = self.compilation.loader.class_named(name)
        if parent is None:
            raise issues.UNKNOWN_PARENT.error(definition.source, definition.span, name=name, child=definition.name)
        if reference("class", name) not in self.resources:
            self._declare_included(scope, name)

    def _declare_included(self, scope: Scope, name: str) -> None:
        """Declare a class unless it is declared already."""
        definition = self.class_definition(name)
        if reference("class", name) in self.resources:
            return
        self._add_parent(scope, definition)
        source, span = self.compilation.place
        resource = Resource("class", name, scope.frame, definition, source=source, span=span)
        self.add(resource)

    def include(self, scope: Scope, names: Sequence[str]) -> None:
        """Evaluate each class once: declare them all first, then evaluate those that were not evaluated before."""
        for name in names:
            self._declare_included(scope, name)
        for name in names:
            evaluate_resource(self.compilation, self.resources[reference("class", name)])

    # Evaluation to completion

    def evaluate_all(self) -> None:
        """Evaluate collectors and defines in turn until a round adds nothing."""
        for _ in range(MAX_ROUNDS):
            collected = [collector.collect(self) for collector in list(self._collectors)]
            ready = [resource for resource in self._pending_defines if not resource.virtual]
            self._pending_defines = [resource for resource in self._pending_defines if resource.virtual]
            for resource in ready:
                self._evaluate_define(resource)
            if not any(collected) and not ready:
                return
        raise issues.ENDLESS.error(rounds=MAX_ROUNDS)

    def _evaluate_define(self, resource: Resource) -> None:
        try:
            evaluate_resource(self.compilation, resource)
        except PrecastError as error:
            if error.span is None:
                error.source, error.span = resource.source, resource.span
            raise

    def _late_overrides(self, resource: Resource) -> None:
        for attributes, frame, source, span in self._overrides.pop(resource.ref, ()):
            merge(self.compilation, resource, attributes, frame, source, span)

    def apply_relationships(self) -> None:
        arrays = SharedArrays(self)
        for relationship in self._relationships:
            relationship.apply(self, arrays)

    def apply_late_overrides(self) -> None:
        """Apply overrides of resources that were declared later. Raises if a resource was never declared."""
        for resource in list(self.resources.values()):
            self._late_overrides(resource)
        for ref, pending in self._overrides.items():
            _, _, source, span = pending[0]
            raise issues.OVERRIDE_OF_NOTHING.error(source, span, ref=ref)

    def check_realized(self) -> None:
        for collector in self._collectors:
            if isinstance(collector, Realization) and collector.wanted:
                raise issues.NOT_REALIZED.error(collector.source, collector.span, refs=", ".join(collector.wanted))
