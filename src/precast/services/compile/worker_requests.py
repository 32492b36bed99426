"""Answers what a compile worker asks through its pipe besides files: for data of its environment that must not lie in the worker.

A worker runs code that somebody else wrote. It gets the values that this code may read, for its own environment only, and never a key.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from precast.base.errors import Kind, PrecastError
from precast.lang.hiera import issues
from precast.lang.inputs import DENIED
from precast.lang.node_answers import Decryptor
from precast.services.compile.messages import (
    Decrypted,
    DecryptRequest,
    Fingerprint,
    FingerprintRequest,
    Policy,
    PolicyRequest,
    Refusal,
    Secret,
    SecretRequest,
    ServerReply,
    WorkerRequest,
)
from precast.services.secrets.sources.documents import SecretDocuments
from precast.store.secrets.source_documents import DocumentKey

# An encrypted value may be so long; hiera-eyaml itself is for passwords and keys.
MAX_ENCRYPTED_BYTES = 1024 * 1024

Keys = Callable[[str], Decryptor | None]


class WorkerRequests(Protocol):
    """Answers the requests of workers."""

    async def reply(self, environment: str, node: str, request: WorkerRequest) -> ServerReply:
        """The reply to a worker that compiles for a node. Raises UnavailableError if there is none at present."""


class ServerRequests:
    """Answers from what the server has: the decryption keys of each environment, and what it may read from secret sources."""

    def __init__(self, keys: Keys = lambda environment: None, secrets: SecretDocuments | None = None) -> None:
        self._keys, self._secrets = keys, secrets

    async def reply(self, environment: str, node: str, request: WorkerRequest) -> ServerReply:
        """The reply to a worker that compiles for a node; an error of the code is a reply too.

        Raises UnavailableError SECRET-022 if a secret is not known yet: the node is decided upon when it is.
        """
        try:
            return await self._reply(environment, node, request)
        except PrecastError as error:
            if error.kind is not Kind.INPUT:
                raise
            return Refusal(error.code, error.message, error.hint)

    async def _reply(self, environment: str, node: str, request: WorkerRequest) -> ServerReply:
        keys = self._keys(environment)
        match request:
            case SecretRequest(source, path, field):
                return await self._read_secret(DocumentKey(environment, source, path), field, node)
            case PolicyRequest():
                by_facts = "warn" if self._secrets is None else (await self._secrets.find_policy(environment)).by_facts
                return Policy(by_facts)
            case FingerprintRequest(options):
                known = None if keys is None else await asyncio.to_thread(keys.fingerprint, dict(options))
                return Fingerprint(known)
            case DecryptRequest(data, options):
                if keys is None:
                    raise ValueError("it asked for the text of a value although there is no key")
                if len(data) > MAX_ENCRYPTED_BYTES:
                    raise issues.NOT_DECRYPTED.error(reason=f"it has more than {MAX_ENCRYPTED_BYTES} bytes")
                return Decrypted(await asyncio.to_thread(keys.decrypt, data, dict(options)))

    async def _read_secret(self, key: DocumentKey, field: str, node: str) -> Secret:
        if self._secrets is None or not self._secrets.allows(*key):
            return Secret(DENIED)
        read = await self._secrets.read_field(key, field, node)
        return Secret(read.answer, msgspec.json.encode(read.value))
