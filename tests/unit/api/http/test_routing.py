"""Which route an address means."""

from typing import Any

import pytest

from precast.api.http.routes import PUBLIC, Call, Route
from precast.api.http.routing import Table


async def nobody(call: Call) -> Any:
    raise NotImplementedError


PATHS = ("/v1/nodes", "/v1/nodes/{node}", "/v1/nodes/{node}/facts", "/v1/nodes/mine", "/v1/content/{digest}")
TABLE = Table([Route("GET", path, nobody, PUBLIC, "", None) for path in PATHS])


@pytest.mark.parametrize(
    ("address", "path", "parameters"),
    [
        ("/v1/nodes", "/v1/nodes", {}),
        ("/v1/nodes/web1", "/v1/nodes/{node}", {"node": "web1"}),
        ("/v1/nodes/mine", "/v1/nodes/mine", {}),
        ("/v1/nodes/%6Dine", "/v1/nodes/mine", {}),
        ("/v1/nodes/web1/facts", "/v1/nodes/{node}/facts", {"node": "web1"}),
        # A slash inside a name divides nothing, so nobody gets elsewhere by it.
        ("/v1/nodes/a%2Ffacts", "/v1/nodes/{node}", {"node": "a/facts"}),
        ("/v1/nodes/%C3%A4", "/v1/nodes/{node}", {"node": "ä"}),
    ],
)
def test_address_is_found(address: str, path: str, parameters: dict[str, str]) -> None:
    found = TABLE.find("GET", address)
    assert found is not None
    assert (found.route.path, found.path) == (path, parameters)


@pytest.mark.parametrize("address", ["", "/", "/v1", "/v1/nodes/", "/v1/nodes//facts", "/v1/nodes/a/b", "/v1/%6Eodes/"])
def test_address_of_nothing_is_not(address: str) -> None:
    assert TABLE.find("GET", address) is None


def test_method_is_part_of_it() -> None:
    assert TABLE.find("POST", "/v1/nodes") is None
