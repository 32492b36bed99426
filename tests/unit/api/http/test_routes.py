"""Declarations of routes: a server does not start with a route that declares no valid requirement."""

from typing import Any, cast

import pytest

from precast.api.http.routes import ENVIRONMENT, NODE, PUBLIC, Call, Requirement, Route, Routes, person, route


async def handler(call: Call) -> dict[str, str]:
    return {}


def make_route(path: str, requires: Any) -> Route:
    return Route("GET", path, handler, cast("Requirement", requires), "A test", dict[str, str])


@pytest.mark.parametrize("requires", [None, "", "public", (), ("public", "")])
def test_route_without_a_requirement_stops_the_start(requires: object) -> None:
    with pytest.raises(TypeError, match="GET /x does not declare which caller it requires"):
        Routes().add(make_route("/x", requires))


@pytest.mark.parametrize(
    "requires",
    [Requirement("anyone"), Requirement(""), Requirement("person"), person("root"), Requirement("node", "viewer")],
)
def test_route_with_an_unknown_requirement_stops_the_start(requires: Requirement) -> None:
    with pytest.raises(TypeError, match="GET /x does not declare which caller it requires"):
        Routes().add(make_route("/x", requires))


@pytest.mark.parametrize("requires", [PUBLIC, NODE, person("viewer"), person("commands")])
def test_route_with_a_requirement_is_added_once(requires: Requirement) -> None:
    routes = Routes()
    routes.add(make_route("/x", requires))
    with pytest.raises(ValueError, match="declared twice"):
        routes.add(make_route("/x", requires))
    assert [route.name for route in routes] == ["GET /x"]


def test_route_inside_an_environment_names_it() -> None:
    with pytest.raises(TypeError, match="has the scope of an environment"):
        Routes().add(make_route("/x", person("viewer", ENVIRONMENT)))
    Routes().add(make_route("/v1/environments/{environment}", person("viewer", ENVIRONMENT)))
    with pytest.raises(TypeError, match="does not declare which caller it requires"):
        Routes().add(make_route("/x", person("viewer", "planet")))


class SomeApi:
    """Two declared handlers, and methods that are no handlers."""

    @route("GET", "/b", PUBLIC, "Second in the alphabet", dict[str, str])
    async def b(self, call: Call) -> dict[str, str]:
        return {"handler": "b"}

    @route("POST", "/a", NODE, "First in the alphabet", dict[str, str], query=("after",), limit_s=3.0)
    async def a(self, call: Call) -> dict[str, str]:
        return {"handler": "a"}

    async def run(self) -> None:
        raise NotImplementedError

    async def _handle(self, call: Call) -> dict[str, str]:
        return {}


async def test_routes_are_collected_from_the_handlers_in_their_order() -> None:
    routes = Routes()
    routes.collect(SomeApi())
    second, first = routes
    assert (second.name, first.name) == ("GET /b", "POST /a")
    assert (first.requires, first.query, first.limit_s) == (NODE, ("after",), 3.0)
    assert await first.handler(Call(None, {}, {}, None)) == {"handler": "a"}


def test_handler_that_declares_no_route_stops_the_start() -> None:
    class Forgetful(SomeApi):
        async def c(self, call: Call) -> dict[str, str]:
            return {}

    with pytest.raises(TypeError, match=r"Forgetful\.c is a handler and declares no route"):
        Routes().collect(Forgetful())


def test_handler_that_declares_no_requirement_stops_the_start() -> None:
    class Careless:
        @route("GET", "/x", cast("Requirement", None), "A test", dict[str, str])
        async def x(self, call: Call) -> dict[str, str]:
            return {}

    with pytest.raises(TypeError, match="GET /x does not declare which caller it requires"):
        Routes().collect(Careless())
