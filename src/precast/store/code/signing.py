"""What environments require to be signed, and the keys that they allow. An environment may have this before its first version."""

from typing import NamedTuple

from precast.base.clock import to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

FIND = Query(
    "signing.find", "SELECT required, signers, gpg_keys FROM environment_signing WHERE environment = :environment"
)
PUT = Query(
    "signing.put",
    """
    INSERT INTO environment_signing (environment, required, signers, gpg_keys, changed_at)
    VALUES (:environment, :required, :signers, :gpg_keys, :now)
    ON CONFLICT (environment) DO UPDATE SET required = excluded.required, signers = excluded.signers,
        gpg_keys = excluded.gpg_keys, changed_at = excluded.changed_at
    """,
)
DELETE = Query("signing.delete", "DELETE FROM environment_signing WHERE environment = :environment")


class StoredSigning(NamedTuple):
    """What must be signed, and the allowed keys."""

    required: str
    signers: str
    gpg_keys: str


class EnvironmentSigning:
    """The requirements of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, environment: str) -> Transaction[StoredSigning | None]:
        """What an environment requires; None if it requires no signature."""
        rows = yield FIND(environment=environment)
        return StoredSigning(*rows[0]) if rows else None

    def put(self, environment: str, signing: StoredSigning) -> Transaction[None]:
        yield PUT(environment=environment, now=to_micros(self._database.clock.now()), **signing._asdict())

    def delete(self, environment: str) -> Transaction[None]:
        yield DELETE(environment=environment)
