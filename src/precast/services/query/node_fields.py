"""How the fields of nodes are read, for targets and queries over nodes."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from precast.agent.facts import paths
from precast.services.query.matching import ABSENT, Test
from precast.wire.identity.names import matches
from precast.wire.query.targets import Has, Named, Referred
from precast.wire.reports.views import ReportRow


class Candidate(Protocol):
    """What is known of a node."""

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


class NodeReading:
    """Reads nodes. `holders` decide about what their catalogs hold: one for each `has`, found beforehand."""

    def __init__(self, holders: Mapping[Has, Test] | None = None) -> None:
        self._holders = holders or {}

    def looking_up(self, parts: tuple[str, ...]) -> Callable[[Candidate], Any]:
        first, *rest = parts
        if first == "facts":
            path = ".".join(rest)
            return lambda node: _fact(node.facts, path)
        if first == "trusted" and rest[0] == "extensions":
            return lambda node: node.extensions.get(rest[1], ABSENT)
        if first == "trusted":
            return lambda node: _of_name(node.name, rest[0])
        if first == "report":
            return _of_report(rest[0])
        return lambda node: _given(getattr(node, first))

    def standing(self, term: Named | Referred | Has) -> Test:
        if isinstance(term, Has):
            return self._holders[term]
        assert isinstance(term, Named), "a reference stands behind `has` only"
        if not term.is_glob:
            return lambda node: bool(node.name == term.text)
        return lambda node: matches(term.text, node.name)


def _fact(facts: dict[str, Any], path: str) -> Any:
    try:
        return paths.find(facts, path)
    except LookupError:
        return ABSENT


def _of_name(name: str, part: str) -> Any:
    hostname, _, domain = name.partition(".")
    return {"certname": name, "hostname": hostname, "domain": domain or ABSENT}[part]


def _of_report(part: str) -> Callable[[Candidate], Any]:
    """Of the last run that a node has told of."""
    if part == "age":
        return lambda node: _given(node.report_age_s)
    name = {"at": "began_at", "stale": "is_stale"}.get(part, part)
    return lambda node: ABSENT if node.report is None else _given(getattr(node.report, name))


def _given(value: object) -> Any:
    return ABSENT if value is None else value
