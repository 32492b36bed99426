"""Which route a request means. Addresses that are spelt out are found at once, as nodes ask for; those with parameters part by part."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from precast.api.http.routes import Route

NO_PARAMETERS: dict[str, str] = {}


class Found(NamedTuple):
    """A route, and what the address says in the places of its parameters."""

    route: Route
    path: dict[str, str]


class Table:
    """All routes by their address."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._spelt_out: dict[tuple[str, str], Found] = {}
        self._with_parameters: dict[tuple[str, int], list[tuple[list[str], Route]]] = {}
        for route in routes:
            parts = route.path.split("/")
            if "{" in route.path:
                self._with_parameters.setdefault((route.method, len(parts)), []).append((parts, route))
            else:
                self._spelt_out[route.method, route.path] = Found(route, NO_PARAMETERS)

    def find(self, method: str, raw_path: str) -> Found | None:
        """The route for a path as it was sent, without its query. A slash that is written as %2F divides nothing."""
        found = self._spelt_out.get((method, raw_path))
        if found is not None:
            return found
        parts = [unquote(part) for part in raw_path.split("/")]
        if "%" in raw_path and (found := self._spelt_out.get((method, "/".join(parts)))) is not None:
            return found
        for wanted, route in self._with_parameters.get((method, len(parts)), ()):
            path = _parameters(wanted, parts)
            if path is not None:
                return Found(route, path)
        return None


def _parameters(wanted: list[str], parts: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for want, part in zip(wanted, parts, strict=True):
        if want.startswith("{"):
            if not part:
                return None
            found[want[1:-1]] = part
        elif want != part:
            return None
    return found
