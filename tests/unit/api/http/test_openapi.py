"""The API's description: every route with its error codes, and no dangling reference."""

from typing import Any

import msgspec

from precast.api.http import openapi
from precast.api.http.routes import NODE, Call, Route, Routes
from precast.api.identity.identity import IdentityApi
from precast.base.errors import CONSEQUENCES


async def handler(call: Call) -> dict[str, str]:
    return {}


def declared() -> Routes:
    routes = Routes()
    nothing: Any = None
    routes.collect(IdentityApi(nothing, nothing, nothing))
    routes.add(Route("GET", "/node", handler, NODE, "A test", dict[str, str]))
    return routes


def references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [reference for inner in value.values() for reference in references(inner)]
    if isinstance(value, list):
        return [reference for inner in value for reference in references(inner)]
    return []


def test_document_has_every_route_with_its_codes() -> None:
    document = openapi.describe(declared())
    for declaration in declared():
        operation = document["paths"][declaration.path][declaration.method.lower()]
        for issue in declaration.errors:
            status = str(CONSEQUENCES[issue.kind].http_status)
            assert f"{issue.code}: " in operation["responses"][status]["description"]
        assert ("security" in operation) == (declaration.requires.kind != "public")
        assert ("requestBody" in operation) == (declaration.body is not None)
        assert {item["name"] for item in operation["parameters"] if item["in"] == "path"} == {
            part[1:-1] for part in declaration.path.split("/") if part.startswith("{")
        }


def test_document_is_openapi_without_dangling_references() -> None:
    document = msgspec.json.decode(msgspec.json.encode(openapi.describe(declared())))
    assert document["openapi"].startswith("3.1.")
    assert document["info"].keys() >= {"title", "version"}
    all_references = references(document)
    assert len(all_references) > 20
    for reference in all_references:
        value = document
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    used = {name for operation in operations for needed in operation.get("security", []) for name in needed}
    assert used == document["components"]["securitySchemes"].keys() == {"person", "node"}
