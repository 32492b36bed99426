"""What the API offers, as declarations: everything a route needs to be served, guarded and documented."""

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from precast.base.errors import Issue
from precast.services.people import Person
from precast.services.roles import ROLES


class Node(NamedTuple):
    """A machine that has shown a good certificate."""

    name: str
    extensions: dict[str, str]
    serial: str
    certified_until: datetime

    @property
    def actor(self) -> str:
        return f"node:{self.name}"


Caller = Person | Node | None


class Requirement(NamedTuple):
    """What a caller must be. `role` is for people."""

    sort: str  # public, node, person
    role: str = ""

    @property
    def is_known(self) -> bool:
        return self.role in ROLES if self.sort == "person" else self.sort in ("public", "node") and not self.role

    def __str__(self) -> str:
        return f"the role {self.role}" if self.sort == "person" else "a node's certificate"


PUBLIC = Requirement("public")
NODE = Requirement("node")


def person(role: str) -> Requirement:
    return Requirement("person", role)


class Call(NamedTuple):
    """One request, as a handler sees it."""

    caller: Caller
    path: dict[str, str]
    query: dict[str, str]
    body: Any
    address: str = ""  # where the request comes from

    @property
    def actor(self) -> str:
        assert self.caller is not None, "a route that notes who did it is never public"
        return self.caller.actor


class Text(NamedTuple):
    """An answer that is not JSON."""

    content_type: str
    text: str


class Page(NamedTuple):
    """An answer for people, in HTML, with the headers that keep it harmless."""

    html: str
    headers: dict[str, str]


Handler = Callable[[Call], Awaitable[Any]]


class Route(NamedTuple):
    """One thing the API offers."""

    method: str
    path: str
    handler: Handler
    requires: Requirement
    summary: str
    answer: Any
    body: type[msgspec.Struct] | None = None
    query: tuple[str, ...] = ()
    errors: tuple[Issue, ...] = ()
    is_free: bool = False  # of quotas: what watches the server is always answered
    is_socket: bool = False  # then the handler is given the request instead of a body, and answers by itself

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    def is_at(self, path: str) -> bool:
        """Whether this is the route's address, whatever the method."""
        parts, wanted = path.split("/"), self.path.split("/")
        return len(parts) == len(wanted) and all(
            (part and one.startswith("{")) or part == one for part, one in zip(parts, wanted, strict=True)
        )


class Routes:
    """All routes. A route without a requirement cannot be added, so a server that forgets one does not start."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes.values())

    def add(self, route: Route) -> None:
        requires: object = route.requires
        if not isinstance(requires, Requirement) or not requires.is_known:
            raise TypeError(f"{route.name} does not say whom it requires")
        if route.name in self._routes:
            raise ValueError(f"{route.name} is declared twice")
        self._routes[route.name] = route
