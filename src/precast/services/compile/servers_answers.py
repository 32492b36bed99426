"""What a compile worker has its server answer: decrypted values, and secrets of sources."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from precast.lang.inputs import ABSENT, DENIED, Answer
from precast.services.compile.messages import (
    Decrypted,
    DecryptRequest,
    Fingerprint,
    FingerprintRequest,
    Policy,
    PolicyRequest,
    Secret,
    SecretRequest,
    ToWorker,
    WorkerRequest,
)

Ask = Callable[[WorkerRequest], ToWorker]


class ServersKeys:
    """The decryption keys of the environment, which stay with the server."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def fingerprint(self, options: Mapping[str, str]) -> str | None:
        reply = self._ask(FingerprintRequest(tuple(options.items())))
        assert isinstance(reply, Fingerprint)
        return reply.fingerprint

    def decrypt(self, data: bytes, options: Mapping[str, str]) -> bytes:
        reply = self._ask(DecryptRequest(data, tuple(options.items())))
        assert isinstance(reply, Decrypted)
        return reply.data


class ServersSecrets:
    """The secrets of sources, for one compile. A value is the one that came with its answer."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._values: dict[tuple[str, str, str], bytes] = {}

    def document(self, source: str, path: str) -> Answer:
        answer = self.answer(source, path, "")
        return True if answer not in (ABSENT, DENIED) else answer

    def answer(self, source: str, path: str, field: str) -> Answer:
        reply = self._ask(SecretRequest(source, path, field))
        assert isinstance(reply, Secret)
        self._values[source, path, field] = reply.value
        return ABSENT if reply.answer is None else reply.answer

    def value(self, source: str, path: str, field: str) -> Any:
        return msgspec.json.decode(self._values[source, path, field])

    def policy(self) -> str:
        reply = self._ask(PolicyRequest())
        assert isinstance(reply, Policy)
        return reply.by_facts
