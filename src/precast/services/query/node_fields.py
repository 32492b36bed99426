"""Reads the fields of nodes, for targets and queries over nodes."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from precast.agent.facts import fact_paths
from precast.services.query.predicates import ABSENT, Predicate
from precast.wire.identity.names import matches
from precast.wire.query.targets import HasResource, NodeName, ResourceReference
from precast.wire.reports.views import ReportRow


class NodeCandidate(Protocol):
    """The properties of a node that a target may compare."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def environment(self) -> str | None: ...
    @property
    def state(self) -> str: ...
    @property
    def extensions(self) -> dict[str, str]: ...
    @property
    def facts(self) -> dict[str, Any]: ...
    @property
    def report(self) -> ReportRow | None: ...
    @property
    def report_age_s(self) -> float | None: ...


class NodeFieldReader:
    """Reads nodes. `catalog_predicates` has a predicate over the released catalog for each `has` term, compiled beforehand."""

    def __init__(self, catalog_predicates: Mapping[HasResource, Predicate] | None = None) -> None:
        self._catalog_predicates = catalog_predicates or {}

    def reader_for(self, parts: tuple[str, ...]) -> Callable[[NodeCandidate], Any]:
        first, *rest = parts
        if first == "facts":
            path = ".".join(rest)
            return lambda node: _fact(node.facts, path)
        if first == "trusted" and rest[0] == "extensions":
            return lambda node: node.extensions.get(rest[1], ABSENT)
        if first == "trusted":
            return lambda node: _part_of_name(node.name, rest[0])
        if first == "report":
            return _report_reader(rest[0])
        return lambda node: _or_absent(getattr(node, first))

    def standalone_predicate(self, term: NodeName | ResourceReference | HasResource) -> Predicate:
        if isinstance(term, HasResource):
            return self._catalog_predicates[term]
        assert isinstance(term, NodeName), "a reference occurs only after `has`"
        if not term.is_glob:
            return lambda node: bool(node.name == term.text)
        return lambda node: matches(term.text, node.name)


def _fact(facts: dict[str, Any], path: str) -> Any:
    try:
        return fact_paths.find(facts, path)
    except LookupError:
        return ABSENT


def _part_of_name(name: str, part: str) -> Any:
    hostname, _, domain = name.partition(".")
    return {"certname": name, "hostname": hostname, "domain": domain or ABSENT}[part]


def _report_reader(part: str) -> Callable[[NodeCandidate], Any]:
    """Read a field of the last run that a node has reported."""
    if part == "age":
        return lambda node: _or_absent(node.report_age_s)
    name = {"at": "began_at", "stale": "is_stale"}.get(part, part)
    return lambda node: ABSENT if node.report is None else _or_absent(getattr(node.report, name))


def _or_absent(value: object) -> Any:
    return ABSENT if value is None else value
