"""Serves the description of the API, for programs and for people. It is rendered once: anybody may ask for it, as often as they like."""

from functools import cached_property
from typing import Any

import msgspec

from precast.api.http import openapi, reference_page
from precast.api.http.prepared import REQUEST_HEADERS, PreparedAnswer
from precast.api.http.routes import PUBLIC, Call, Page, Routes, route

# Programs and browsers revalidate each time: after an upgrade they see the new description at once.
_FRESH = {"Cache-Control": "no-cache"}


class DescriptionApi:
    """Handles the routes of the description. It reads the routes at the first request, when all are collected."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    @route("GET", "/v1/openapi.json", PUBLIC, "This description", dict[str, Any], headers=REQUEST_HEADERS)
    async def describe(self, call: Call) -> Any:
        return self._document.respond(call)

    @route("GET", "/v1/reference", PUBLIC, "This description, for people", Page, headers=REQUEST_HEADERS)
    async def show_reference(self, call: Call) -> Any:
        return self._page.respond(call)

    @cached_property
    def _description(self) -> dict[str, Any]:
        return openapi.describe(self._routes)

    @cached_property
    def _document(self) -> PreparedAnswer:
        return PreparedAnswer(msgspec.json.encode(self._description), "application/json", _FRESH)

    @cached_property
    def _page(self) -> PreparedAnswer:
        page = reference_page.render(self._description).encode()
        return PreparedAnswer(page, "text/html; charset=utf-8", {**_FRESH, **reference_page.HEADERS})
