"""The catalog operations behind functions: include, contain, require, create_resources, realize, tag, and queries."""

from collections.abc import Sequence
from typing import Any

from precast.lang import datatypes
from precast.lang.compiler.catalog import Catalog
from precast.lang.compiler.collecting.collectors import Realization
from precast.lang.compiler.resources import Parameter, Resource, ref_of, reference
from precast.lang.issues import compiler as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.scope import Frame, Scope
from precast.lang.values.base import Hash


class CatalogOperations(Catalog):
    """The catalog as functions see it."""

    def contain(self, scope: Scope, names: Sequence[str]) -> None:
        """As include; the class or define being evaluated also contains each class."""
        self.include(scope, names)
        around = scope.frame.resource
        if around is None:
            return
        for name in names:
            ref = reference("class", name)
            if ref != around.ref:
                self.edges[around.ref, ref] = None

    def require(self, scope: Scope, names: Sequence[str]) -> None:
        """As include; the class or define being evaluated also requires each class."""
        self.include(scope, names)
        around = scope.frame.resource
        if around is None:
            return
        present = around.value("require")
        before = () if present is None else present if isinstance(present, tuple) else (present,)
        wanted = tuple(datatypes.ClassType(name) for name in names)
        around.set("require", Parameter((*before, *wanted), scope.frame))

    def create_resources(self, scope: Scope, type_name: str, resources: Hash, defaults: Hash) -> None:
        virtual = type_name.startswith("@")
        exported = type_name.startswith("@@")
        name = type_name.lstrip("@").removeprefix("::").lower()
        if exported:
            self.compilation.complain_without_exports(issues.EXPORT_IGNORED, *self.compilation.place)
        source, span = self.compilation.place
        for title, given in resources.items():
            merged = defaults.merged(given)
            attributes = [(key, value, False) for key, value in merged.items()]
            for resource_title in title if isinstance(title, tuple) else (title,):
                if resource_title is None:
                    raise issues.NO_TITLE.error()
                self.declare(
                    scope,
                    name,
                    resource_title if name != "class" else ruby_text(resource_title),
                    attributes,
                    virtual,
                    exported,
                    source,
                    span,
                )

    def realize(self, scope: Scope, references: Sequence[Any]) -> None:
        wanted = {ref_of(reference): None for reference in references}
        source, span = self.compilation.place
        collector = Realization(wanted, source, span)
        collector.collect(self)
        self.add_collector(collector)

    def tag(self, scope: Scope, tags: Sequence[str]) -> None:
        around = scope.frame.resource
        if around is not None:
            for tag in tags:
                around.tag(tag)

    def tagged(self, scope: Scope, tags: Sequence[str]) -> bool:
        """Whether the class or define being evaluated has all the tags, or declared classes and nodes have them."""
        around = scope.frame.resource
        known = dict(around.all_tags()) if around is not None else {}
        for resource in self.of_type("class") + self.of_type("node"):
            known.update(resource.tags)
        return all(tag in known for tag in tags)

    def is_declared(self, scope: Scope, type_name: str, title: str) -> bool:
        return self._titled(type_name, title) is not None

    def _titled(self, type_name: str, title: str) -> Resource | None:
        """A declared resource by its title, or by its namevars if it has several."""
        title = title.removeprefix("::").lower() if type_name == "class" else title
        resource = self.find(reference(type_name, title))
        if resource is not None or not self._keys:
            return resource
        known = self.compilation.known_types.find(type_name)
        if known is None or not known.has_form_for(title):
            return None
        key = self.compilation.known_types.unique_key(Resource(type_name, title, None))
        return None if key is None else self._keys.get((type_name, key))

    def declared(self, scope: Scope, type_name: str, title: str, with_container: bool = False) -> list[Hash]:
        titled = self._titled(type_name, title) if title else None
        resources = self.of_type(type_name) if not title else [] if titled is None else [titled]
        return [
            Hash.of((name, parameter.value) for name, parameter in resource.parameters.items())
            for resource in resources
            if with_container or resource is not scope.frame.resource
        ]

    def has_default(self, scope: Scope, type_name: str, attribute: str) -> bool:
        frame: Frame | None = scope.frame
        while frame is not None:
            if attribute in frame.defaults.get(type_name.lower(), {}):
                return True
            frame = frame.declared_in
        return False

    def is_resource_type(self, scope: Scope, name: str) -> bool:
        return (
            self.compilation.known_types.find(name) is not None
            or self.compilation.loader.define_named(name) is not None
        )

    def is_class(self, scope: Scope, name: str) -> bool:
        return self.compilation.loader.class_named(name) is not None

    def resource(self, type_name: str, title: str) -> Resource:
        """A declared resource. Raises if there is none."""
        ref = reference(type_name, title.removeprefix("::").lower() if type_name == "class" else title)
        resource = self.find(ref)
        if resource is None:
            raise issues.UNKNOWN_RESOURCE.error(reference=ref)
        return resource
