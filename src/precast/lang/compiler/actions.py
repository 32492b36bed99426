"""What functions do to the catalog: include, contain, require, create_resources, realize, tag, and questions about it."""

from collections.abc import Sequence
from typing import Any

from precast.lang import datatypes
from precast.lang.compiler.catalog import Catalog
from precast.lang.compiler.collectors import Realization
from precast.lang.compiler.relations import ref_of
from precast.lang.compiler.resources import Parameter, Resource, reference
from precast.lang.issues import compiler as issues
from precast.lang.ruby.text import ruby_text
from precast.lang.scope import Frame, Scope
from precast.lang.values.core import Hash


class CatalogActions(Catalog):
    """The catalog as functions see it."""

    def contain(self, scope: Scope, names: Sequence[str]) -> None:
        """As include, and the class or define that is running contains each."""
        self.include(scope, names)
        around = scope.frame.resource
        if around is None:
            return
        for name in names:
            ref = reference("class", name)
            if ref != around.ref:
                self.edges[around.ref, ref] = None

    def require(self, scope: Scope, names: Sequence[str]) -> None:
        """As include, and what is running requires each."""
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
            self.run.complain(issues.EXPORT_IGNORED, always_warn=True)
        source, span = self.run.place
        for title, given in resources.items():
            merged = defaults.merged(given)
            attributes = [(key, value, False) for key, value in merged.items()]
            for each in title if isinstance(title, tuple) else (title,):
                if each is None:
                    raise issues.NO_TITLE.error()
                self.declare(
                    scope,
                    name,
                    each if name != "class" else ruby_text(each),
                    attributes,
                    virtual,
                    exported,
                    source,
                    span,
                )

    def realize(self, scope: Scope, references: Sequence[Any]) -> None:
        wanted = {ref_of(each): None for each in references}
        source, span = self.run.place
        collector = Realization(wanted, source, span)
        collector.collect(self)
        self.add_collector(collector)

    def tag(self, scope: Scope, tags: Sequence[str]) -> None:
        around = scope.frame.resource
        if around is not None:
            for each in tags:
                around.tag(each)

    def tagged(self, scope: Scope, tags: Sequence[str]) -> bool:
        """Whether what is running has all the tags, or classes of these names are declared."""
        around = scope.frame.resource
        known = dict(around.all_tags()) if around is not None else {}
        for resource in self.of_type("class") + self.of_type("node"):
            known.update(resource.tags)
        return all(each in known for each in tags)

    def is_declared(self, scope: Scope, type_name: str, title: str) -> bool:
        return self._titled(type_name, title) is not None

    def _titled(self, type_name: str, title: str) -> Resource | None:
        """A declared resource by its title, or by what names it where that is several things."""
        title = title.removeprefix("::").lower() if type_name == "class" else title
        found = self.find(reference(type_name, title))
        if found is not None or not self._keys:
            return found
        known = self.run.types_known.find(type_name)
        if known is None or not known.has_form_for(title):
            return None
        key = self.run.types_known.unique_key(Resource(type_name, title, None))
        return None if key is None else self._keys.get((type_name, key))

    def declared(self, scope: Scope, type_name: str, title: str, with_container: bool = False) -> list[Hash]:
        one = self._titled(type_name, title) if title else None
        found = self.of_type(type_name) if not title else [] if one is None else [one]
        return [
            Hash.of((name, parameter.value) for name, parameter in each.parameters.items())
            for each in found
            if with_container or each is not scope.frame.resource
        ]

    def has_default(self, scope: Scope, type_name: str, attribute: str) -> bool:
        frame: Frame | None = scope.frame
        while frame is not None:
            if attribute in frame.defaults.get(type_name.lower(), {}):
                return True
            frame = frame.declared_in
        return False

    def is_resource_type(self, scope: Scope, name: str) -> bool:
        return self.run.types_known.find(name) is not None or self.run.loader.define_named(name) is not None

    def is_class(self, scope: Scope, name: str) -> bool:
        return self.run.loader.class_named(name) is not None

    def resource(self, type_name: str, title: str) -> Resource:
        """A declared resource. Raises where there is none."""
        ref = reference(type_name, title.removeprefix("::").lower() if type_name == "class" else title)
        found = self.find(ref)
        if found is None:
            raise issues.UNKNOWN_RESOURCE.error(reference=ref)
        return found
