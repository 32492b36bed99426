"""A stand-in for the HTTP API of HashiCorp Vault and OpenBao: the key-value engines of both versions, tokens, AppRole, namespaces.

It answers as the documentation of that API says, over real TLS, and can be brought into the states in which Vault answers otherwise. It is
no Vault: it has no storage, no policies beyond prefixes of paths, and no seal but a flag.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from lab.certificates import TestAuthority
from precast.base.clock import Clock, SystemClock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ROLE_ID, SECRET_ID = "role-6f1a", "secret-id-9c2e"


class Token:
    """A token: the prefixes it may read, and its end on the monotonic clock; None for a token without an end."""

    def __init__(self, prefixes: tuple[str, ...], end_s: float | None, is_renewable: bool, lease_s: float) -> None:
        self.prefixes, self.end_s, self.is_renewable, self.lease_s = prefixes, end_s, is_renewable, lease_s


class VaultServer:
    """A context manager. `secrets` has the fields of each secret by namespace, mount and path."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        self._authority = TestAuthority(directory / "vault-authority", f"the authority of {directory.name}")
        self._clock = clock or SystemClock()
        self.ca = self._authority.certificate
        self.mounts: dict[str, int] = {"secret": 2, "kv": 1}
        self.namespaces = {""}
        self.secrets: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.deleted: set[tuple[str, str, str]] = set()
        self.tokens: dict[str, Token] = {}
        self.role_prefixes: tuple[str, ...] = ("",)
        self.role_lease_s = 3600.0
        self.requests: list[str] = []
        self.sealed = self.limiting = False
        self.active_url = ""  # a standby redirects there
        self.raw: web.Response | None = None  # the response to every request, in place of the real one
        self.stuck: asyncio.Event | None = None  # no response before this is set
        self.long = False
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application(middlewares=[self._state])
        application.router.add_post("/v1/auth/{mount}/login", self._log_in)
        application.router.add_get("/v1/auth/token/lookup-self", self._look_up)
        application.router.add_post("/v1/auth/token/renew-self", self._renew)
        application.router.add_get("/v1/{mount}/{path:.+}", self._read)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._authority.issue("localhost"))
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.url = f"https://localhost:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        if self.stuck is not None:
            self.stuck.set()
        await self._runner.cleanup()

    def put(self, mount: str, path: str, fields: dict[str, Any], namespace: str = "") -> None:
        """Write a secret."""
        self.secrets[namespace, mount, path] = fields

    def add_token(self, token: str, *prefixes: str, lease_s: float | None = None, is_renewable: bool = False) -> None:
        """Accept a token for paths with these prefixes, which begin with the mount; for a time, or without an end."""
        end_s = None if lease_s is None else self._clock.monotonic_s() + lease_s
        self.tokens[token] = Token(prefixes or ("",), end_s, is_renewable, lease_s or 0)

    @web.middleware
    async def _state(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        if self.stuck is not None:
            await self.stuck.wait()
        if self.long:
            return await _send_long(request)
        if self.raw is not None:
            return self.raw
        if self.active_url:
            return web.Response(status=307, headers={"Location": f"{self.active_url}{request.path_qs}"})
        if self.sealed:
            return _errors(503, "Vault is sealed")
        if self.limiting:
            said = f'request path "{request.path[4:]}": rate limit quota exceeded'
            return _errors(429, said, {"Retry-After": "1"})
        if request.headers.get("X-Vault-Namespace", "").strip("/") not in self.namespaces:
            return _errors(404, f'no handler for route "{request.path[4:]}". route entry not found.')
        return await handler(request)

    async def _log_in(self, request: web.Request) -> web.Response:
        ids = await request.json()
        if request.match_info["mount"] != "approle":
            return _errors(404, f'no handler for route "{request.path[4:]}". route entry not found.')
        if (ids.get("role_id"), ids.get("secret_id")) != (ROLE_ID, SECRET_ID):
            return _errors(400, "invalid role or secret ID")
        name = f"hvs.approle-{len(self.tokens)}"
        self.add_token(name, *self.role_prefixes, lease_s=self.role_lease_s, is_renewable=True)
        return self._auth(name)

    async def _look_up(self, request: web.Request) -> web.Response:
        token = self._token(request)
        if token is None:
            return _errors(403, "permission denied")
        left_s = 0 if token.end_s is None else int(token.end_s - self._clock.monotonic_s())
        return web.json_response({"data": {"ttl": left_s, "renewable": token.is_renewable, "policies": ["default"]}})

    async def _renew(self, request: web.Request) -> web.Response:
        token = self._token(request)
        if token is None:
            return _errors(403, "permission denied")
        if not token.is_renewable:
            return _errors(400, "lease is not renewable")
        token.end_s = self._clock.monotonic_s() + token.lease_s
        return self._auth(request.headers["X-Vault-Token"])

    async def _read(self, request: web.Request) -> web.Response:
        mount, path = request.match_info["mount"], request.match_info["path"]
        token = self._token(request)
        if token is None or not any(f"{mount}/{path}".startswith(prefix) for prefix in token.prefixes):
            return _errors(403, "1 error occurred:\n\t* permission denied\n\n")
        version = self.mounts.get(mount)
        if version is None:
            return _errors(404, f'no handler for route "{mount}/{path}". route entry not found.')
        namespace = request.headers.get("X-Vault-Namespace", "").strip("/")
        if version == 1:
            return self._read_first(namespace, mount, path)
        if not path.startswith("data/"):
            said = (
                "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints."
            )
            return web.json_response({"data": None, "warnings": [said]}, status=404)
        return self._read_second(namespace, mount, path.removeprefix("data/"))

    def _read_first(self, namespace: str, mount: str, path: str) -> web.Response:
        fields = self.secrets.get((namespace, mount, path))
        if fields is None:
            return web.json_response({"errors": []}, status=404)
        lease_s = int(fields.get("ttl", 2_764_800))
        return web.json_response({"lease_id": "", "renewable": False, "lease_duration": lease_s, "data": fields})

    def _read_second(self, namespace: str, mount: str, path: str) -> web.Response:
        fields = self.secrets.get((namespace, mount, path))
        if fields is None:
            return web.json_response({"errors": []}, status=404)
        is_deleted = (namespace, mount, path) in self.deleted
        metadata = {
            "created_time": "2026-01-01T00:00:00Z",
            "deletion_time": "2026-02-01T00:00:00Z" if is_deleted else "",
            "destroyed": False,
            "version": 1,
        }
        data = {"data": None if is_deleted else fields, "metadata": metadata}
        status = 404 if is_deleted else 200
        return web.json_response({"request_id": "x", "lease_duration": 0, "data": data}, status=status)

    def _token(self, request: web.Request) -> Token | None:
        token = self.tokens.get(request.headers.get("X-Vault-Token", ""))
        is_valid = token is not None and (token.end_s is None or self._clock.monotonic_s() < token.end_s)
        return token if is_valid else None

    def _auth(self, name: str) -> web.Response:
        token = self.tokens[name]
        auth = {"client_token": name, "lease_duration": int(token.lease_s), "renewable": token.is_renewable}
        return web.json_response({"auth": auth})


def _errors(status: int, said: str, headers: dict[str, str] | None = None) -> web.Response:
    text = json.dumps({"errors": [said]})
    return web.Response(text=text, status=status, content_type="application/json", headers=headers)


async def _send_long(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(200):
        await response.write(b" " * 65_536)
    return response


class VaultThread:
    """A context manager: the stand-in in a thread of its own, for tests whose other parts are processes."""

    def __init__(self, directory: Path) -> None:
        self.vault = VaultServer(directory)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> VaultServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.vault.__aenter__(), self._loop).result(60)
        return self.vault

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.vault.__aexit__(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
