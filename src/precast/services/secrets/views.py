"""What people may know about secrets: references, the parameters and nodes that have them, and the state of the keys. Never a value."""

import re
from collections.abc import Iterator, Sequence

from precast.catalog import body as bodies
from precast.catalog.secret_references import references
from precast.services.code.environments import require_environment
from precast.services.secrets import issues
from precast.services.secrets.keyring import SITE
from precast.store.catalogs.documents import Documents, DocumentUser
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.secrets.keys import KeyHolder, SecretKeys, WrappedKey
from precast.store.secrets.secrets import SecretRow, Secrets, SecretUse
from precast.wire.secrets import references as wire

MAX_PAGE = 1_000
# Catalogs and nodes that are shown of one secret.
MAX_CATALOGS = 50
MAX_NODES = 1_000
# A reference may be shortened to so many digits.
MIN_CHARS = 6
_REFERENCE = re.compile(f"[0-9a-f]{{{MIN_CHARS},64}}")


class SecretViews:
    """Reads what people may know; holds no state."""

    def __init__(
        self, database: Database, store: Secrets, keys: SecretKeys, documents: Documents, environments: Environments
    ) -> None:
        self._database, self._store, self._keys, self._documents = database, store, keys, documents
        self._environments = environments

    async def list_page(self, environment: str, after: str, limit: int) -> list[wire.SecretRow]:
        """A page of the secrets of an environment, by reference. Raises NotFoundError ENV-005, and SECRET-006 if `after` is none."""
        await self._database.read(require_environment, self._environments, environment)
        if after and not _REFERENCE.fullmatch(after):
            raise issues.NO_SECRET.error(ref=repr(after[:100]), environment=environment, least=MIN_CHARS)
        rows = await self._database.read(self._store.list_page, environment, after, min(limit, MAX_PAGE))
        return [wire.SecretRow(row.ref, row.stored_at, row.catalogs) for row in rows]

    async def show(self, environment: str, beginning: str) -> wire.SecretView:
        """The secret whose reference begins so. Raises NotFoundError ENV-005, and SECRET-006 if there is none, or more than one."""
        await self._database.read(require_environment, self._environments, environment)
        is_valid = _REFERENCE.fullmatch(beginning) is not None
        found = await self._database.read(self._store.find_by_prefix, environment, beginning) if is_valid else []
        if len(found) != 1:
            raise issues.NO_SECRET.error(ref=repr(beginning[:100]), environment=environment, least=MIN_CHARS)
        documents, users = await self._database.read(self._read_uses, found[0])
        parameters: dict[str, None] = {}
        for digest in documents[:MAX_CATALOGS]:
            data = await self._documents.read(digest)
            parameters.update(dict.fromkeys(() if data is None else _find_parameters(data, found[0].ref)))
        return wire.SecretView(
            environment,
            found[0].ref,
            found[0].stored_at,
            list(parameters),
            [wire.SecretUser(*user) for user in users],
            len(documents) <= MAX_CATALOGS and len(users) < MAX_NODES,
        )

    async def show_keys(self) -> wire.SecretKeysView:
        """The state of the keys."""
        wrapped, holders, counts = await self._database.read(self._read_keys)
        ids = dict.fromkeys([key.master for key in wrapped] + [each for holder in holders for each in holder.masters])
        rows = [
            wire.MasterKeyRow(
                each,
                sum(key.master == each and key.environment != SITE for key in wrapped),
                sum(each in holder.masters for holder in holders),
            )
            for each in ids
        ]
        processes = [wire.KeyProcess(holder.name, list(holder.masters)) for holder in holders]
        return wire.SecretKeysView(rows, processes, counts, *_judge(wrapped, holders))

    def _read_uses(self, row: SecretRow) -> Transaction[tuple[list[str], list[DocumentUser]]]:
        documents = yield from self._store.list_documents(SecretUse(row.environment, row.ref), MAX_CATALOGS + 1)
        return documents, (yield from self._documents.list_users(documents, MAX_NODES))

    def _read_keys(self) -> Transaction[tuple[Sequence[WrappedKey], list[KeyHolder], dict[str, int]]]:
        wrapped = yield from self._keys.list_all()
        holders = yield from self._keys.list_holders()
        return wrapped, holders, (yield from self._store.count(MAX_PAGE))


def _find_parameters(body: bytes, ref: str) -> Iterator[str]:
    for resource in bodies.decode(body).resources:
        for name, value in resource.parameters.items():
            if ref in references(value):
                yield f"{resource.ref} {name}"


def _judge(wrapped: Sequence[WrappedKey], holders: Sequence[KeyHolder]) -> tuple[str, str]:
    """The state of a rotation, and what comes next."""
    first = {holder.masters[0] for holder in holders if holder.masters}
    used = {key.master for key in wrapped}
    if len(first) > 1:
        without = sorted({holder.name for holder in holders if not first <= set(holder.masters)})
        where = ", ".join(without) or "each of them"
        return "distributing", f"give all servers the same key file: it differs on {where}"
    if used - first:
        return "rotating", "wait: keys of environments are being wrapped by the new key"
    if any(set(holder.masters) - used for holder in holders):
        return "rotated", "remove the old key from the file on each server: precast server secrets-key prune"
    return "current", ""
