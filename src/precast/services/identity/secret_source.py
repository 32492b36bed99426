"""The source of random secrets, which callers pass in so that tests can fix it."""

from typing import Protocol


class SecretSource(Protocol):
    """The standard library's `secrets` module, or a test's replacement."""

    def token_bytes(self, nbytes: int) -> bytes:
        """Return `nbytes` unpredictable bytes."""
