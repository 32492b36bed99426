"""Finds the route of a request. Paths without parameters, which nodes use, are found by one lookup; others are compared part by part."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from precast.api.http.routes import Route

NO_PARAMETERS: dict[str, str] = {}
# Longer than any path of ours, with every character encoded; decoding takes time, and anybody may ask for it.
MAX_PATH_CHARS = 2_000


class RouteMatch(NamedTuple):
    """A route, and the values of its path parameters."""

    route: Route
    path: dict[str, str]


class RouteTable:
    """All routes by path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._without_parameters: dict[tuple[str, str], RouteMatch] = {}
        self._with_parameters: dict[tuple[str, int], list[tuple[list[str], Route]]] = {}
        self._methods: set[str] = set()
        for route in routes:
            self._methods.add(route.method)
            parts = route.path.split("/")
            if "{" in route.path:
                self._with_parameters.setdefault((route.method, len(parts)), []).append((parts, route))
            else:
                self._without_parameters[route.method, route.path] = RouteMatch(route, NO_PARAMETERS)

    def find(self, method: str, raw_path: str) -> RouteMatch | None:
        """Find the route of a path as it was sent, without its query. A slash that is encoded as %2F separates no parts."""
        match = self._without_parameters.get((method, raw_path))
        if match is not None:
            return match
        if len(raw_path) > MAX_PATH_CHARS:
            return None
        parts = [unquote(part) for part in raw_path.split("/")]
        if "%" in raw_path and (match := self._without_parameters.get((method, "/".join(parts)))) is not None:
            return match
        for patterns, route in self._with_parameters.get((method, len(parts)), ()):
            path = _parameters(patterns, parts)
            if path is not None:
                return RouteMatch(route, path)
        return None

    def list_methods(self, raw_path: str) -> list[str]:
        """The methods that a path accepts. A path without parameters takes precedence over one with parameters, as in OpenAPI."""
        found = {method: match for method in self._methods if (match := self.find(method, raw_path)) is not None}
        exact = [method for method, match in found.items() if not match.path]
        return sorted(exact or found)


def _parameters(patterns: list[str], parts: list[str]) -> dict[str, str] | None:
    parameters: dict[str, str] = {}
    for pattern, part in zip(patterns, parts, strict=True):
        if pattern.startswith("{"):
            if not part:
                return None
            parameters[pattern[1:-1]] = part
        elif pattern != part:
            return None
    return parameters
