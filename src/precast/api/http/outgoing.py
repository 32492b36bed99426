"""Requests of a server to one other system over HTTPS: verified certificates, a deadline for the whole request, a bounded response.

The address comes from the server's configuration. One redirect is followed, as a standby sends to its active node, and only to HTTPS; the
same authority must have certified that node.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp

from precast.services.secrets.sources.source import MAX_DOCUMENT_BYTES
from precast.services.secrets.sources.vault import NoReplyError, VaultReply

MAX_CONNECTIONS: Final = 8
_REDIRECTS: Final = (307, 308)


class HttpsOrigin:
    """The connections to one address. An empty `ca` trusts the authorities of the system. Raises OSError for a bad file."""

    def __init__(self, url: str, ca: str, timeout_s: float) -> None:
        self._url = url
        self._context = ssl.create_default_context(cafile=ca or None)
        self._timeout_s = timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> VaultReply:
        """Make one request. Raises NoReplyError. Cancelling closes its connection."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._follow(method, urljoin(self._url, path), headers, body, may_redirect=True)
        except TimeoutError:
            raise NoReplyError(f"it has not answered within {self._timeout_s:g} s") from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = getattr(error.certificate_error, "verify_message", "") or "the name or the authority is another"
            raise NoReplyError(f"its certificate is not trusted: {reason}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise NoReplyError(f"it does not answer: {reason}") from None

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, may_redirect: bool
    ) -> VaultReply:
        sent = {**headers, "Content-Type": "application/json"} if body else headers
        async with self._open().request(method, url, headers=sent, data=body or None, allow_redirects=False) as reply:
            if reply.status in _REDIRECTS and may_redirect:
                location = urljoin(url, reply.headers.get("Location", ""))
                if urlsplit(location).scheme != "https":
                    raise NoReplyError("it redirects to an address that is not https")
            else:
                return VaultReply(reply.status, await _read(reply))
        return await self._follow(method, location, headers, body, may_redirect=False)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._context, limit=MAX_CONNECTIONS)
            timeout = aiohttp.ClientTimeout(total=None)  # the caller has a deadline
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=jar)
        return self._session


async def _read(reply: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for chunk in reply.content.iter_any():
        data += chunk
        if len(data) > MAX_DOCUMENT_BYTES:
            reply.close()
            raise NoReplyError(f"its answer has more than {MAX_DOCUMENT_BYTES} bytes")
    return bytes(data)
