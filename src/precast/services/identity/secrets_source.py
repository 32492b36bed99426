"""Where secrets come from, passed in."""

from typing import Protocol


class Secrets(Protocol):
    """The standard library's `secrets` module, or a test's."""

    def token_bytes(self, nbytes: int) -> bytes:
        """So many bytes that nobody can guess."""
