"""Hides the secrets of compiled catalogs, and opens the values of references again.

Between the answer of a compile worker and the digest of a catalog, each secret is replaced by its reference; the value is sealed, and
stored together with the catalog. Only a node whose catalog refers to a secret gets its value back.
"""

import asyncio
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from precast.base.encryption.keys import Random
from precast.base.encryption.sealing import SealBroken
from precast.catalog.secret_references import HiddenBody, hide_secrets
from precast.services.secrets import issues
from precast.services.secrets.keyring import Keyring
from precast.services.secrets.keys import EnvironmentKeys
from precast.store.engine.database import Database
from precast.store.secrets.secrets import SealedSecret, Secrets


class HiddenCatalog(NamedTuple):
    """A body with references in place of secrets, and the sealed values to store with it."""

    body: bytes
    secrets: tuple[SealedSecret, ...] = ()


class SecretValue(NamedTuple):
    """A value in canonical JSON, with the salt by which a node verifies its reference."""

    ref: str
    salt: bytes
    value: bytes


class SecretValues:
    """Hides and opens values; holds no state between calls."""

    def __init__(self, database: Database, store: Secrets, keyring: Keyring, random: Random = secrets) -> None:
        self._database, self._store, self._keyring, self._random = database, store, keyring, random

    async def hide(self, environment: str, body: bytes) -> HiddenCatalog:
        """Replace the secrets of a compiled body. Raises InputError CATALOG-005 if the body has a reference already."""
        keys = await self._keyring.keys(environment)
        hidden = hide_secrets(body, keys.refer)
        return HiddenCatalog(hidden.body, self._seal_all(keys, hidden))

    async def open_values(self, environment: str, refs: Sequence[str]) -> list[SecretValue]:
        """The values of those references that are stored. Raises InternalError SECRET-004 if one does not open."""
        keys = await self._keyring.keys(environment)
        sealed = await self._database.read(self._store.find, environment, refs)
        return await asyncio.to_thread(_open_all, keys, sealed)

    def _seal_all(self, keys: EnvironmentKeys, hidden: HiddenBody) -> tuple[SealedSecret, ...]:
        return tuple(
            SealedSecret(ref, keys.seal(ref, value, self._random)) for ref, value in sorted(hidden.values.items())
        )


def _open_all(keys: EnvironmentKeys, sealed: Sequence[SealedSecret]) -> list[SecretValue]:
    values = []
    for each in sealed:
        try:
            value = keys.unseal(each.ref, each.sealed)
        except SealBroken:
            raise issues.VALUE_DAMAGED.error(ref=each.ref, environment=keys.environment) from None
        values.append(SecretValue(each.ref, keys.salt(value), value))
    return values
