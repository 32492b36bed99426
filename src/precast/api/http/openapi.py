"""Describes the API in OpenAPI 3.1, from the same declarations that serve it, so that the description cannot be wrong."""

import re
from typing import Any

import msgspec

from precast.api.http import issues
from precast.api.http.routes import Content, Document, Media, Page, Route, Routes, Text
from precast.base.errors import CONSEQUENCES, Issue, Kind
from precast.store import issues as store_issues


class ProblemDetails(msgspec.Struct, frozen=True):
    """An error in the form of RFC 9457, with Precast's error code and a hint."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


# Of the API, as in its paths. Anybody may read the description, so it does not say which version of Precast runs.
VERSION = "1"

ALWAYS = (
    *(issues.TOO_BUSY, issues.TOO_OFTEN, issues.TOOK_TOO_LONG, issues.FAILED, issues.NOT_AVAILABLE),
    *(store_issues.BUSY, store_issues.CONNECTION_LOST, store_issues.DISK_FULL),
)


_BYTES: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def describe(routes: Routes) -> dict[str, Any]:
    """The whole document."""
    listed = list(routes)
    types = [
        ProblemDetails,
        *(
            route.answer
            for route in listed
            if route.answer not in (Text, Page, Content) and not isinstance(route.answer, Media)
        ),
        *(route.body for route in listed if route.body),
    ]
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Precast",
            "version": VERSION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "person": {"type": "http", "scheme": "bearer"},
                "node": {"type": "mutualTLS"},
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", route.name.lower()).strip("_"),
        "responses": {**_answer(route), **_unchanged(route), **_problems(route)},
    }
    if route.requires.kind != "public":
        operation["security"] = [{route.requires.kind: []}]
        operation["description"] = f"Needs {route.requires}."
    names = re.findall(r"{(\w+)}", route.path)
    operation["parameters"] = [
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names),
        *({"name": name, "in": "query", "required": False, "schema": {"type": "string"}} for name in route.query),
        *({"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in route.headers),
    ]
    if route.is_stream and route.method in ("PUT", "POST"):
        operation["requestBody"] = {"required": True, "content": _BYTES}
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _schema(route.body)}}}
    return operation


def _answer(route: Route) -> dict[str, Any]:
    if route.is_socket:
        return {"101": {"description": "The websocket is open."}}
    if route.answer is Content:
        return {
            "200": {"description": "The content.", "content": _BYTES},
            "206": {"description": "The part of the content that the header Range asks for.", "content": _BYTES},
            "416": {
                "description": "The content has no such part; the header Content-Range says how long it is.",
                "content": _BYTES,
            },
        }
    if isinstance(route.answer, Media):
        schema = {"type": "string", "format": "binary"}
        return {"200": {"description": "The file.", "content": {route.answer.media_type: {"schema": schema}}}}
    if route.answer is Text:
        return {"200": {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
    if route.answer is Page:
        return {"200": {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}}
    if route.answer is Document:
        return {
            "200": {"description": "The document.", "content": {"application/json": {"schema": {"type": "object"}}}}
        }
    return {"200": {"description": "Done.", "content": {"application/json": {"schema": _schema(route.answer)}}}}


def _unchanged(route: Route) -> dict[str, Any]:
    return {"304": {"description": "The caller has it already."}} if "If-None-Match" in route.headers else {}


def _schema(of: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([of], ref_template="#/components/schemas/{name}")
    return schema


def _problems(route: Route) -> dict[str, Any]:
    """The error responses by status, with the codes of their errors."""
    possible: list[Issue] = [*route.errors, *ALWAYS]
    if route.body is not None:
        possible += [issues.BAD_BODY, issues.TOO_LARGE, issues.TOO_SLOW]
    if route.requires.kind == "public" and (route.body is not None or route.is_stream):
        possible.append(issues.TOO_MUCH_AT_ONCE)
    if route.requires.kind != "public":
        possible += [issues.NO_CREDENTIALS, issues.BAD_CREDENTIALS, issues.NOT_ALLOWED]
    if "{" in route.path or route.query:
        possible.append(issues.NO_ROUTE)  # for a parameter that cannot be printed
    by_kind: dict[Kind, list[Issue]] = {}
    for issue in possible:
        by_kind.setdefault(issue.kind, []).append(issue)
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {
        str(CONSEQUENCES[kind].http_status): {
            "description": "; ".join(f"{issue.code}: {issue.text}" for issue in kind_issues),
            "content": content,
        }
        for kind, kind_issues in by_kind.items()
    }
