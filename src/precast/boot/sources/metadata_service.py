"""The common part of sources that are metadata services over HTTP: a base address, headers, a retry policy, and the meaning of statuses.

404 and 410 mean that a document does not exist. Any other status than 200, such as 401 and 403, is an error.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, ParamSpec
from urllib.parse import quote

from precast.boot.sources import documents, firmware, issues
from precast.boot.sources.contract import Evidence, Likelihood, MachineAccess, Plausibility, RetryPolicy

TIMEOUT_S = 2.0
MAX_USER_DATA_BYTES = 8 * 1024 * 1024
TELL_DEADLINE_S = 30.0
P = ParamSpec("P")


class MetadataClient:
    """A client of one metadata service."""

    def __init__(
        self, access: MachineAccess, base: str, retry_policy: RetryPolicy, headers: Mapping[str, str] | None = None
    ) -> None:
        self.base = base.rstrip("/")
        self._access = access
        self.retry_policy = retry_policy
        self.headers = dict(headers or {})

    def with_headers(self, headers: Mapping[str, str]) -> "MetadataClient":
        return MetadataClient(self._access, self.base, self.retry_policy, {**self.headers, **headers})

    def url(self, path: str) -> str:
        return f"{self.base}/{path.lstrip('/')}"

    async def get(self, path: str) -> bytes | None:
        """Return the document at a path; None if it does not exist. Raises UnavailableError BOOT-100, and InputError if it is hostile."""
        answer = await self._access.ask(self.url(path), headers=self.headers, retry_policy=self.retry_policy)
        if answer.status == 200:
            return answer.body
        if answer.status in (404, 410):
            return None
        raise issues.NO_ANSWER.error(url=self.url(path), reason=f"its status is {answer.status}")

    async def text(self, path: str) -> str | None:
        data = await self.get(path)
        return None if data is None else documents.read_text(self.url(path), data).strip()

    async def json_map(self, path: str) -> dict[str, Any] | None:
        data = await self.get(path)
        where = self.url(path)
        return None if data is None else documents.expect(where, documents.read_json(where, data), dict)

    async def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """Fetch several paths concurrently, and return those that exist."""
        names = list(paths)
        texts = await asyncio.gather(*(self.text(name) for name in names))
        return {name: text for name, text in zip(names, texts, strict=True) if text is not None}

    async def send(self, path: str, body: bytes = b"", method: str = "POST") -> int:
        """Send a body, and return the status of the response."""
        answer = await self._access.ask(
            self.url(path), headers=self.headers, method=method, body=body, retry_policy=self.retry_policy
        )
        return answer.status


class MetadataSource:
    """A source that is a metadata service: its declaration, and how to connect to it."""

    name: str
    address: str
    rank = 50
    deadline_s = 10.0
    needs_network = True

    def __init__(self, address: str = "") -> None:
        self.address = address or self.address

    def likelihood(self, evidence: Evidence) -> Likelihood:
        return firmware.judge_likelihood(self.name, evidence)

    def connect(
        self, access: MachineAccess, headers: Mapping[str, str] | None = None, base: str = ""
    ) -> MetadataClient:
        """Return a client. It retries if the firmware or the kernel command line names the platform; otherwise it asks once."""
        named = firmware.find_named_source(access.evidence)
        is_sure = firmware.judge_likelihood(self.name, access.evidence).plausibility == Plausibility.CONFIRMED
        is_sure |= named is not None and named.name == self.name
        return MetadataClient(access, base or self.address, RetryPolicy(TIMEOUT_S, is_retried=is_sure), headers)


def quote_path_part(text: str) -> str:
    """Quote a name from a response as a part of the next request's path."""
    return quote(text, safe="=:.-_")


def make_thread_safe(tell: Callable[P, Coroutine[Any, Any, None]], url: str) -> Callable[P, None]:
    """Wrap a coroutine function that reports to a service, for calls from a module's thread. Raises UnavailableError BOOT-100 if late."""
    loop = asyncio.get_running_loop()

    def call(*words: P.args, **more: P.kwargs) -> None:
        telling = asyncio.run_coroutine_threadsafe(tell(*words, **more), loop)
        try:
            telling.result(TELL_DEADLINE_S)
        except concurrent.futures.TimeoutError:
            telling.cancel()
            raise issues.NO_ANSWER.error(url=url, reason=f"nothing for {TELL_DEADLINE_S:g} s") from None

    return call
