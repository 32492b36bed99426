"""Reads key-value secrets of HashiCorp Vault and OpenBao through their HTTP API: both versions of the engine, namespaces.

The client logs in with a token from a file or by AppRole, renews its login before two thirds of its time are over, and logs in again when
Vault no longer accepts it. An answer that Vault has not given, because it is sealed, limits requests or breaks off, is never taken for an
absent secret. Texts of errors contain what Vault says, but no value, token or id.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import quote

import msgspec

from precast.base.clock import Clock
from precast.services.secrets.sources import issues
from precast.services.secrets.sources.configuration import SourceSettings
from precast.services.secrets.sources.private_files import PrivateFileError, read_private
from precast.services.secrets.sources.source import MAX_FIELDS, Document

MAX_LOGIN_BYTES: Final = 16 * 1024
MAX_REASON_CHARS: Final = 200
_STATES: Final = {
    429: "it limits the number of requests, or is a standby that answers none (429)",
    472: "it is a disaster recovery secondary, which answers nothing (472)",
    473: "it is a performance standby that does not answer (473)",
    503: "it is sealed, or in maintenance (503)",
}
_RENEW_AFTER: Final = 2 / 3


class VaultReply(NamedTuple):
    """The response to a request: its status and its body."""

    status: int
    body: bytes


class NoReplyError(Exception):
    """The request got no usable response; the text says why."""


# Makes one request to this Vault: method, path, headers, body. Raises NoReplyError.
Request = Callable[[str, str, Mapping[str, str], bytes], Awaitable[VaultReply]]


class _Login(NamedTuple):
    """A token, and the moments (monotonic) at which it is to be renewed and no longer valid; None for a token without an end."""

    token: str
    renew_s: float | None
    end_s: float | None
    is_renewable: bool


class _Auth(msgspec.Struct):
    client_token: str = ""
    lease_duration: float = 0
    renewable: bool = False


class _Body(msgspec.Struct):
    """What is used of a response."""

    data: Any = msgspec.UNSET
    auth: _Auth | None = None
    lease_duration: float = 0
    errors: list[str] | msgspec.UnsetType = msgspec.UNSET
    warnings: list[str] | None = None

    @property
    def is_absence(self) -> bool:
        """Whether a 404 with this body is Vault's word that there is nothing, and not that of a proxy, which has neither of these."""
        is_of_vault = self.errors is not msgspec.UNSET or self.data is not msgspec.UNSET
        return is_of_vault and not self.errors and not self.warnings


_decode = msgspec.json.Decoder(_Body).decode


class VaultSource:
    """One mount of one Vault, for one server. Requests share a login; one of them makes it, and the others wait."""

    def __init__(self, name: str, settings: SourceSettings, request: Request, clock: Clock) -> None:
        self._name, self._settings, self._request, self._clock = name, settings, request, clock
        self._login: _Login | None = None
        self._turn = asyncio.Lock()

    async def read(self, environment: str, path: str) -> Document | None:
        """The document at a path; None if Vault says that there is none. Raises UnavailableError SECRET-021."""
        del environment  # what an environment may read is a matter of the configuration
        middle = "data/" if self._settings.version == 2 else ""
        where = f"/v1/{quote(self._settings.mount)}/{middle}{quote(path)}"
        reply = await self._ask("GET", where)
        body = self._body(reply)
        if reply.status == 404 and body.is_absence:
            return None
        if reply.status != 200:
            self._fail(_describe(reply.status, body))
        fields = body.data
        if self._settings.version == 2:
            fields = fields.get("data") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or len(fields) > MAX_FIELDS:
            engine = f"the engine at {self._settings.mount} is not version {self._settings.version}"
            self._fail(f"it answered without the fields of a secret, or with too many: is it that {engine}?")
        return Document(fields, body.lease_duration or None)

    async def maintain(self) -> None:
        """Renew the login, if it is time. Raises UnavailableError SECRET-021."""
        await self._token()

    async def _ask(self, method: str, path: str) -> VaultReply:
        token = await self._token()
        reply = await self._send(method, path, token)
        if reply.status in (401, 403) and self._settings.role_id_file:
            # The token may have been revoked: a new one shows whether Vault refuses the path itself.
            renewed = await self._token(refused=token)
            reply = await self._send(method, path, renewed)
        return reply

    async def _token(self, refused: str = "") -> str:
        """A valid token; a new one if Vault has refused this one."""
        async with self._turn:
            login, now_s = self._login, self._clock.monotonic_s()
            if login is not None and login.token != refused:
                if not self._settings.role_id_file and login.token != await self._read("token_file"):
                    login = None  # the file has another token now
                elif login.renew_s is None or now_s < login.renew_s:
                    return login.token
                elif login.end_s is not None and now_s < login.end_s and login.is_renewable:
                    self._login = await self._renew(login)
                    return self._login.token
            self._login = await (self._log_in() if self._settings.role_id_file else self._look_up_token())
            return self._login.token

    async def _log_in(self) -> _Login:
        ids = {"role_id": await self._read("role_id_file"), "secret_id": await self._read("secret_id_file")}
        path = f"/v1/auth/{quote(self._settings.login)}/login"
        reply = await self._send("POST", path, "", msgspec.json.encode(ids))
        body = self._body(reply)
        if reply.status != 200 or body.auth is None or not body.auth.client_token:
            self._fail(f"the login by AppRole failed: {_describe(reply.status, body)}")
        return self._login_for(body.auth.client_token, body.auth.lease_duration, body.auth.renewable)

    async def _look_up_token(self) -> _Login:
        token = await self._read("token_file")
        reply = await self._send("GET", "/v1/auth/token/lookup-self", token)
        body = self._body(reply)
        if reply.status != 200 or not isinstance(body.data, dict):
            self._fail(f"it does not accept the token: {_describe(reply.status, body)}")
        ttl_s = body.data.get("ttl")
        return self._login_for(
            token, ttl_s if isinstance(ttl_s, int | float) else 0, body.data.get("renewable") is True
        )

    async def _renew(self, login: _Login) -> _Login:
        """The login with more time; the same one if Vault does not renew it now, which is tried again until its end."""
        reply = await self._send("POST", "/v1/auth/token/renew-self", login.token, b"{}")
        body = self._body(reply)
        if reply.status != 200 or body.auth is None:
            if not self._settings.role_id_file:
                self._fail(f"it does not renew the token: {_describe(reply.status, body)}")
            return await self._log_in()
        return self._login_for(login.token, body.auth.lease_duration, body.auth.renewable)

    def _login_for(self, token: str, lease_s: float, is_renewable: bool) -> _Login:
        if lease_s <= 0:
            return _Login(token, None, None, is_renewable)
        now_s = self._clock.monotonic_s()
        return _Login(token, now_s + lease_s * _RENEW_AFTER, now_s + lease_s, is_renewable)

    async def _send(self, method: str, path: str, token: str, body: bytes = b"") -> VaultReply:
        headers = {"X-Vault-Request": "true"}
        if token:
            headers["X-Vault-Token"] = token
        if self._settings.namespace:
            headers["X-Vault-Namespace"] = self._settings.namespace
        try:
            return await self._request(method, path, headers, body)
        except NoReplyError as error:
            self._fail(str(error))

    async def _read(self, setting: str) -> str:
        path = Path(getattr(self._settings, setting))
        try:
            data = await asyncio.to_thread(read_private, path, MAX_LOGIN_BYTES)
        except PrivateFileError as error:
            self._fail(str(error))
        text = "" if data is None else data.decode("ascii", "replace").strip()
        if not text or not text.isprintable() or not text.isascii():
            self._fail(f"{path} does not exist, or is not one line of text")
        return text

    def _body(self, reply: VaultReply) -> _Body:
        if not reply.body:
            return _Body()
        try:
            return _decode(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._fail(f"its answer is not the JSON of Vault ({reply.status})")

    def _fail(self, reason: str) -> NoReturn:
        raise issues.SOURCE_FAILED.error(source=self._name, reason=reason)


def _describe(status: int, body: _Body) -> str:
    if status in _STATES:
        return _STATES[status]
    said = " ".join(" ".join([*(body.errors or ()), *(body.warnings or ())]).split())[:MAX_REASON_CHARS]
    return f"it answered {status}{f': {said}' if said else ''}"
