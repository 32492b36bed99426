"""Serves the files of the dashboard, read once, known by their digests, with headers that let nothing else run or load.

There is no build step, and nothing from elsewhere: what is in the package is what a browser gets.
"""

from importlib.resources import files
from typing import NamedTuple

from aiohttp import web

from precast.api.http import issues
from precast.api.http.routes import PUBLIC, Call, Content, Page, Route, Routes
from precast.base import digests

KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Scripts, styles, pictures and calls of our own, from files; no text is ever read as HTML, which the last two hold the page to.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    # Asked for again each time, and answered with 304: a new version of the server is a new version of the page.
    "Cache-Control": "no-cache",
}


class _File(NamedTuple):
    body: bytes
    kind: str
    digest: str


class WebPages:
    """The files of the package; holds them for as long as the server runs."""

    def __init__(self) -> None:
        self._files = {
            one.name: _read(one.name, one.read_bytes())
            for one in files("precast.web").joinpath("static").iterdir()
            if _kind(one.name)
        }

    def declare(self, routes: Routes) -> None:
        headers = ("If-None-Match",)
        routes.add(Route("GET", "/", self.first, PUBLIC, "The dashboard", Page, headers=headers))
        routes.add(
            Route(
                "GET",
                "/web/{file}",
                self.file,
                PUBLIC,
                "A file of the dashboard",
                Content,
                errors=(issues.NO_ROUTE,),
                headers=headers,
            )
        )

    async def first(self, call: Call) -> web.Response:
        return _answer(self._files["index.html"], call)

    async def file(self, call: Call) -> web.Response:
        found = self._files.get(call.path["file"])
        if found is None:
            raise issues.NO_ROUTE.error()
        return _answer(found, call)


def _answer(found: _File, call: Call) -> web.Response:
    headers = {**HEADERS, "ETag": f'"{found.digest}"', "Content-Type": found.kind}
    if call.headers.get("If-None-Match", "").strip('"') == found.digest:
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    return web.Response(body=found.body, headers=headers)


def _kind(name: str) -> str:
    return KINDS.get(name.rpartition(".")[2], "")


def _read(name: str, body: bytes) -> _File:
    return _File(body, _kind(name), digests.of_bytes(body))
