"""Serves the files of the dashboard. They are read once, have their digest as ETag, and headers that forbid all other scripts and files.

There is no build step and no external file: a browser gets exactly the files of the package.
"""

from importlib.resources import files

from aiohttp import web

from precast.api.http import issues
from precast.api.http.prepared import REQUEST_HEADERS, PreparedAnswer
from precast.api.http.routes import PUBLIC, Call, Content, Page, route

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Only scripts, styles, images and requests of this server are allowed. The last two directives ensure that no text is parsed as HTML.
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
    # Browsers revalidate each time and usually get 304: after an upgrade of the server they load the new dashboard at once.
    "Cache-Control": "no-cache",
}


class WebPages:
    """Serves the files of the package from memory."""

    def __init__(self) -> None:
        self._files = {
            file.name: PreparedAnswer(file.read_bytes(), _media_type(file.name), HEADERS)
            for file in files("precast.web").joinpath("static").iterdir()
            if _media_type(file.name)
        }

    @route("GET", "/", PUBLIC, "The dashboard", Page, headers=REQUEST_HEADERS)
    async def show_dashboard(self, call: Call) -> web.Response:
        return self._files["index.html"].respond(call)

    @route(
        "GET",
        "/web/{file}",
        PUBLIC,
        "A file of the dashboard",
        Content,
        errors=(issues.NO_ROUTE,),
        headers=REQUEST_HEADERS,
    )
    async def show_file(self, call: Call) -> web.Response:
        file = self._files.get(call.path["file"])
        if file is None:
            raise issues.NO_ROUTE.error()
        return file.respond(call)


def _media_type(name: str) -> str:
    return MEDIA_TYPES.get(name.rpartition(".")[2], "")
