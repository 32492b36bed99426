"""How long records of nodes wait from their arrival at this server to their commit.

Connections say when they have something to store and when it is stored; the driver of jobs reads the lag and feeds the adaptive limit.
"""

from collections.abc import Callable, Hashable


class IntakeLag:
    """The lag of one server's intake. Bounded by the number of connections."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        # The connections with records that wait, and since when the oldest one does; the longest wait is first.
        self._waiting: dict[Hashable, float] = {}
        self._longest_s = 0.0

    def arrive(self, connection: Hashable) -> None:
        """A record has arrived on a connection. Only the first one since its last commit counts."""
        self._waiting.setdefault(connection, self._monotonic_s())

    def commit(self, connection: Hashable) -> None:
        """The records that a connection had submitted are stored, or the connection has ended."""
        since_s = self._waiting.pop(connection, None)
        if since_s is not None:
            self._longest_s = max(self._longest_s, self._monotonic_s() - since_s)

    @property
    def oldest_s(self) -> float:
        """How long the oldest record waits that is not stored yet."""
        oldest_s = next(iter(self._waiting.values()), None)
        return 0.0 if oldest_s is None else self._monotonic_s() - oldest_s

    def read(self) -> float:
        """The longest lag since the last reading, also of a record that still waits."""
        longest_s, self._longest_s = self._longest_s, 0.0
        return max(longest_s, self.oldest_s)
