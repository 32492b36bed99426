"""Declarations of routes: none without a requirement that somebody can meet."""

from typing import Any, cast

import pytest

from precast.api.http.routes import ENVIRONMENT, NODE, PUBLIC, Call, Requirement, Route, Routes, person


async def handler(call: Call) -> dict[str, str]:
    return {}


def route(path: str, requires: Any) -> Route:
    return Route("GET", path, handler, cast("Requirement", requires), "A test", dict[str, str])


@pytest.mark.parametrize("requires", [None, "", "public", (), ("public", "")])
def test_route_without_a_requirement_stops_the_start(requires: object) -> None:
    with pytest.raises(TypeError, match="GET /x does not say whom it requires"):
        Routes().add(route("/x", requires))


@pytest.mark.parametrize(
    "requires",
    [Requirement("anyone"), Requirement(""), Requirement("person"), person("root"), Requirement("node", "viewer")],
)
def test_route_with_a_requirement_nobody_knows_stops_the_start(requires: Requirement) -> None:
    with pytest.raises(TypeError, match="GET /x does not say whom it requires"):
        Routes().add(route("/x", requires))


@pytest.mark.parametrize("requires", [PUBLIC, NODE, person("viewer"), person("commands")])
def test_route_with_a_requirement_is_taken_once(requires: Requirement) -> None:
    routes = Routes()
    routes.add(route("/x", requires))
    with pytest.raises(ValueError, match="declared twice"):
        routes.add(route("/x", requires))
    assert [one.name for one in routes] == ["GET /x"]


def test_route_inside_an_environment_names_it() -> None:
    with pytest.raises(TypeError, match="is inside an environment and does not name it"):
        Routes().add(route("/x", person("viewer", ENVIRONMENT)))
    Routes().add(route("/v1/environments/{environment}", person("viewer", ENVIRONMENT)))
    with pytest.raises(TypeError, match="does not say whom it requires"):
        Routes().add(route("/x", person("viewer", "planet")))
