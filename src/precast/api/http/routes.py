"""What the API offers, as declarations: everything a route needs to be served, guarded and documented."""

from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from precast.base.errors import Issue
from precast.services.identity.people import Person
from precast.services.identity.roles import ROLES


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


# What a route concerns: the whole site, one environment that its path names, or whatever the caller may see.
SITE, ENVIRONMENT, OWN = "site", "environment", "own"


class Requirement(NamedTuple):
    """What a caller must be. `role` and `scope` are for people: a token for some environments opens nothing of the whole site."""

    sort: str  # public, node, person
    role: str = ""
    scope: str = SITE

    @property
    def is_known(self) -> bool:
        if self.scope not in (SITE, ENVIRONMENT, OWN):
            return False
        return self.role in ROLES if self.sort == "person" else self.sort in ("public", "node") and not self.role

    def __str__(self) -> str:
        return f"the role {self.role}" if self.sort == "person" else "a node's certificate"


PUBLIC = Requirement("public")
NODE = Requirement("node")


def person(role: str, scope: str = SITE) -> Requirement:
    return Requirement("person", role, scope)


class Call(NamedTuple):
    """One request, as a handler sees it."""

    caller: Caller
    path: dict[str, str]
    query: dict[str, str]
    body: Any
    address: str = ""  # where the request comes from
    headers: dict[str, str] = {}  # noqa: RUF012 - those the route names; never changed
    cookie: str = ""  # the session of a browser, if the caller is known by that

    @property
    def actor(self) -> str:
        assert self.caller is not None, "a route that notes who did it is never public"
        return self.caller.actor

    @property
    def environments(self) -> list[str]:
        """The environments that the caller is held to; empty for all."""
        return self.caller.environments if isinstance(self.caller, Person) else []


class Text(NamedTuple):
    """An answer that is not JSON."""

    content_type: str
    text: str


class Document(NamedTuple):
    """Stored bytes that are known by their digest; none if the caller has them already."""

    digest: str
    body: bytes | None
    headers: dict[str, str]


class Page(NamedTuple):
    """An answer for people, in HTML, with the headers that keep it harmless."""

    html: str
    headers: dict[str, str]


class Content:
    """Bytes, in a body or an answer."""


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
    headers: tuple[str, ...] = ()
    is_free: bool = False  # of quotas: what watches the server is always answered
    is_socket: bool = False  # then the handler is given the request instead of a body, and answers by itself
    is_stream: bool = (
        False  # the same for content: the handler reads or writes it a part at a time, and holds to its own limits
    )
    limit_s: float | None = None  # for what may take longer than others

    @property
    def takes_request(self) -> bool:
        return self.is_socket or self.is_stream

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
        if requires.scope == ENVIRONMENT and "{environment}" not in route.path:
            raise TypeError(f"{route.name} is inside an environment and does not name it")
        if route.name in self._routes:
            raise ValueError(f"{route.name} is declared twice")
        self._routes[route.name] = route
