"""A signer inside the process, for local commands that may read the key themselves, and for tests."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from precast.base.clock import Clock
from precast.base.errors import PrecastError
from precast.services.identity.authority_files import AuthorityFiles, LoadedAuthority
from precast.services.identity.signer import messages
from precast.services.identity.signer.approval import Peer
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.signer.context import SignerContext
from precast.services.identity.signer.limits import Limits
from precast.services.identity.signer.signer import Signer
from precast.services.identity.signer.state import LOG_BYTES, SignerState

T = TypeVar("T", bound=msgspec.Struct)


class LocalConnection:
    """Hands requests to a signer in this process, as a local command."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    async def ask(self, verb: messages.AnyVerb, answer: type[T]) -> T:
        (outcome,) = self._signer.handle([(verb, Peer(os.getuid(), True))])
        if isinstance(outcome, PrecastError):
            raise outcome
        assert isinstance(outcome, answer), "each verb has one sort of answer"
        return outcome

    async def close(self) -> None:
        """There is nothing to close."""


def state_directory(files: AuthorityFiles) -> Path:
    """The signer's own directory, beside that of the authority."""
    return files.directory.parent / "signer"


def build_signer(
    files: AuthorityFiles,
    clock: Clock,
    hosts: Iterable[str] = (),
    *,
    crl_url: str = "",
    per_minute: Mapping[str, int] | None = None,
    log_bytes: int = LOG_BYTES,
) -> Signer:
    """A signer with the key of a directory. Raises what `AuthorityFiles.load` raises."""
    authority = LoadedAuthority(files)
    state = SignerState(state_directory(files), log_bytes)
    return Signer(SignerContext(authority, state, clock, Limits(clock, per_minute or {}), frozenset(hosts), crl_url))


async def open_local_signer(files: AuthorityFiles, clock: Clock, hosts: Iterable[str] = ()) -> SignerClient:
    """A client of a signer in this process. Raises what `build_signer` raises."""
    client = SignerClient(LocalConnection(build_signer(files, clock, hosts)))
    await client.refresh()
    return client
