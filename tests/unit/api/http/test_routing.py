"""Which route a path leads to."""

from typing import Any

import pytest

from precast.api.http.routes import PUBLIC, Call, Route
from precast.api.http.routing import RouteTable


async def handler(call: Call) -> Any:
    raise NotImplementedError


PATHS = ("/v1/nodes", "/v1/nodes/{node}", "/v1/nodes/{node}/facts", "/v1/nodes/mine", "/v1/content/{digest}")
TABLE = RouteTable([Route("GET", path, handler, PUBLIC, "", None) for path in PATHS])


@pytest.mark.parametrize(
    ("address", "path", "parameters"),
    [
        ("/v1/nodes", "/v1/nodes", {}),
        ("/v1/nodes/web1", "/v1/nodes/{node}", {"node": "web1"}),
        ("/v1/nodes/mine", "/v1/nodes/mine", {}),
        ("/v1/nodes/%6Dine", "/v1/nodes/mine", {}),
        ("/v1/nodes/web1/facts", "/v1/nodes/{node}/facts", {"node": "web1"}),
        # An encoded slash inside a name does not separate parts, so a name cannot lead to another route.
        ("/v1/nodes/a%2Ffacts", "/v1/nodes/{node}", {"node": "a/facts"}),
        ("/v1/nodes/%C3%A4", "/v1/nodes/{node}", {"node": "ä"}),
    ],
)
def test_path_leads_to_its_route(address: str, path: str, parameters: dict[str, str]) -> None:
    match = TABLE.find("GET", address)
    assert match is not None
    assert (match.route.path, match.path) == (path, parameters)


@pytest.mark.parametrize("address", ["", "/", "/v1", "/v1/nodes/", "/v1/nodes//facts", "/v1/nodes/a/b", "/v1/%6Eodes/"])
def test_unknown_path_has_no_route(address: str) -> None:
    assert TABLE.find("GET", address) is None


def test_route_of_another_method_is_not_found() -> None:
    assert TABLE.find("POST", "/v1/nodes") is None


def test_path_that_is_longer_than_any_of_ours_is_not_decoded() -> None:
    assert TABLE.find("GET", "/v1/nodes/" + "%41" * 600) is not None
    assert TABLE.find("GET", "/v1/nodes/" + "%41" * 700) is None


def test_methods_of_a_path_are_those_of_its_routes() -> None:
    assert TABLE.list_methods("/v1/nodes/web1") == ["GET"]
    assert TABLE.list_methods("/v1/nothing") == []
