"""Seals sensitive values under the key of their environment, and opens them for the nodes that may read them."""

import asyncio
import secrets
from collections.abc import Sequence

from precast.base import digests
from precast.base.encryption.keys import Random
from precast.base.encryption.sealing import SealBroken
from precast.services.secrets import issues as secret_issues
from precast.services.secrets.keyring import Keyring
from precast.store.engine.query import Transaction
from precast.store.futures.values import StoredValue, ValueRow

# The digest of a plain value says in whose space it is: a reference of a sensitive one never equals it.
_PLAIN = "sha256:"


class FutureSeals:
    """Holds no state besides the keyring."""

    def __init__(self, keyring: Keyring, random: Random = secrets) -> None:
        self._keyring, self._random = keyring, random

    def store(self, environment: str, value: bytes, *, is_sensitive: bool) -> Transaction[StoredValue]:
        """A value in canonical JSON, as it is stored. Raises ConflictError SECRET-003."""
        if not is_sensitive:
            return StoredValue(value, _PLAIN + digests.of_bytes(value))
        keys = yield from self._keyring.keys_within(environment)
        ref = keys.refer(value)
        return StoredValue(keys.seal(ref, value, self._random), ref, True)

    async def open_rows(self, rows: Sequence[ValueRow]) -> dict[int, bytes]:
        """The values of these rows by their place; rows without a value are left out. Raises InternalError SECRET-004."""
        opened: dict[int, bytes] = {}
        sealed: dict[str, list[tuple[int, StoredValue]]] = {}
        for place, row in enumerate(rows):
            if row.value is not None and row.value.is_sensitive:
                sealed.setdefault(row.environment, []).append((place, row.value))
            elif row.value is not None:
                opened[place] = row.value.value
        for environment, values in sealed.items():
            keys = await self._keyring.keys(environment)
            for place, stored in values:
                try:
                    opened[place] = await asyncio.to_thread(keys.unseal, stored.digest, stored.value)
                except SealBroken:
                    raise secret_issues.VALUE_DAMAGED.error(ref=stored.digest, environment=environment) from None
        return opened
