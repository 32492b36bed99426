"""Declarations of routes. A declaration stands as the decorator `@route` at its handler, and has what serves, protects and documents it."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from precast.base.errors import Issue
from precast.services.identity.people import Person
from precast.services.identity.roles import ROLES
from precast.services.identity.signer.messages import Credential


class NodeCaller(NamedTuple):
    """A node that has presented a valid certificate."""

    name: str
    extensions: dict[str, str]
    certificate: str  # its fingerprint
    certified_until: datetime

    @property
    def actor(self) -> str:
        return f"node:{self.name}"


Caller = Person | NodeCaller | None


# The scope of a route: the whole site, the environment that its path names, or the environments that the caller may see.
SITE, ENVIRONMENT, OWN = "site", "environment", "own"


class Requirement(NamedTuple):
    """Which caller a route requires. `role` and `scope` are for people: a token for some environments opens no route of the whole site."""

    kind: str  # public, node, person
    role: str = ""
    scope: str = SITE
    other_role: str = ""  # a role that opens the route as well, and that `role` does not include

    @property
    def is_known(self) -> bool:
        if self.scope not in (SITE, ENVIRONMENT, OWN):
            return False
        if self.kind == "person":
            return self.role in ROLES and self.other_role in ("", *ROLES)
        return self.kind in ("public", "node") and not self.role

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of people of which one is needed."""
        return (self.role, self.other_role) if self.other_role else (self.role,)

    def __str__(self) -> str:
        return f"the role {' or '.join(self.roles)}" if self.kind == "person" else "a node's certificate"


PUBLIC = Requirement("public")
NODE = Requirement("node")


def person(role: str, scope: str = SITE, other_role: str = "") -> Requirement:
    return Requirement("person", role, scope, other_role)


VIEWER, OPERATOR, ADMIN = person("viewer"), person("operator"), person("admin")


class Call(NamedTuple):
    """A request, as the server passes it to a handler."""

    caller: Caller
    path: dict[str, str]
    query: dict[str, str]
    body: Any
    address: str = ""  # of the client
    headers: dict[str, str] = {}  # noqa: RUF012 - those that the route declares; never modified
    cookie: str = ""  # of the browser session, if it has authenticated the caller

    @property
    def actor(self) -> str:
        assert self.caller is not None, "a route that records its actor is never public"
        return self.caller.actor

    @property
    def credential(self) -> Credential | None:
        """The token of the person who calls, for the signer."""
        return self.caller.credential if isinstance(self.caller, Person) else None

    @property
    def token(self) -> str:
        """The id of the token that the caller has presented; empty for a node and for a browser session."""
        credential = self.caller.credential if isinstance(self.caller, Person) else None
        return credential.record.id if credential is not None else ""

    @property
    def environments(self) -> list[str]:
        """The environments that the caller's token is limited to; empty for all."""
        return self.caller.environments if isinstance(self.caller, Person) else []


class Text(NamedTuple):
    """An answer in plain text."""

    content_type: str
    text: str


class Document(NamedTuple):
    """A stored document and its digest; `body` is None if the caller has this version already."""

    digest: str
    body: bytes | None
    headers: dict[str, str]


class Page:
    """Marks an answer in HTML."""


class Content:
    """Marks a request or answer whose body is plain bytes."""


class Media(NamedTuple):
    """Declares an answer that is a file of this media type."""

    media_type: str


Handler = Callable[[Call], Awaitable[Any]]
HandlerMethod = TypeVar("HandlerMethod", bound=Callable[..., Awaitable[Any]])
# The attribute of a handler method that holds its declaration.
_DECLARATION = "__precast_route__"


class Route(NamedTuple):
    """One operation of the API."""

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
    is_free: bool = False  # exempt from quotas: monitoring is always answered
    is_socket: bool = False  # the handler gets the request instead of a body and answers it itself
    is_stream: bool = False  # the same for content: the handler reads or writes it in parts, with limits of its own
    limit_s: float | None = None  # instead of the usual limit, for slow operations

    @property
    def takes_request(self) -> bool:
        return self.is_socket or self.is_stream

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def route(
    method: str,
    path: str,
    requires: Requirement,
    summary: str,
    answer: Any,
    *,
    body: type[msgspec.Struct] | None = None,
    query: tuple[str, ...] = (),
    errors: tuple[Issue, ...] = (),
    headers: tuple[str, ...] = (),
    is_free: bool = False,
    is_socket: bool = False,
    is_stream: bool = False,
    limit_s: float | None = None,
) -> Callable[[HandlerMethod], HandlerMethod]:
    """Declare the method below as the handler of a route; the parameters are the fields of `Route`. `Routes.collect` finds it."""

    def declare(handler: HandlerMethod) -> HandlerMethod:
        declaration = Route(
            method, path, handler, requires, summary, answer, body, query, errors, headers,
            is_free, is_socket, is_stream, limit_s,
        )  # fmt: skip
        setattr(handler, _DECLARATION, declaration)
        return handler

    return declare


class Routes:
    """All routes of a server. A route without a requirement cannot be added, so a server that has one does not start."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes.values())

    def collect(self, api: object) -> None:
        """Add every route that a method of `api` declares, in the order of the methods.

        Raises TypeError for a handler that declares no route, or no requirement: a server that has one does not start.
        """
        for name, method in vars(type(api)).items():
            declaration: Route | None = getattr(method, _DECLARATION, None)
            if declaration is not None:
                self.add(declaration._replace(handler=getattr(api, name)))
            elif not name.startswith("_") and _is_handler(method):
                raise TypeError(f"{type(api).__name__}.{name} is a handler and declares no route")

    def add(self, route: Route) -> None:
        requires: object = route.requires
        if not isinstance(requires, Requirement) or not requires.is_known:
            raise TypeError(f"{route.name} does not declare which caller it requires")
        if requires.scope == ENVIRONMENT and "{environment}" not in route.path:
            raise TypeError(f"{route.name} has the scope of an environment, and its path does not name one")
        if route.is_free and requires.kind != "public":
            raise TypeError(f"{route.name} is exempt from quotas, and so would be guesses of credentials")
        if route.name in self._routes:
            raise ValueError(f"{route.name} is declared twice")
        self._routes[route.name] = route


def _is_handler(method: object) -> bool:
    """Whether a method takes a call and nothing else, as handlers do."""
    if not inspect.iscoroutinefunction(method):
        return False
    return [kind for name, kind in method.__annotations__.items() if name != "return"] == [Call]
