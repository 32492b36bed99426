"""What every source of secrets does: give the document at a path."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

MAX_DOCUMENT_BYTES: Final = 1024 * 1024
MAX_FIELDS: Final = 1_000


class Document(NamedTuple):
    """The fields of a document as plain data, and how long the source says that they are valid; None if it does not say."""

    fields: Mapping[str, Any]
    lease_s: float | None = None


class SecretSource(Protocol):
    """One configured source."""

    async def read(self, environment: str, path: str) -> Document | None:
        """The document at a normalised path; None if there is none. Raises UnavailableError SECRET-021 if the source cannot tell."""

    async def maintain(self) -> None:
        """Do what the source needs from time to time, such as renewing a login. Raises UnavailableError SECRET-021."""
