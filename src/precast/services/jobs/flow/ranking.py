"""Members in the order of their ranks, which change often."""

import heapq

Rank = tuple[int, int]


class Ranking:
    """The member with the lowest rank first. Every operation costs O(log n), on average over many."""

    def __init__(self) -> None:
        self._ranks: dict[str, Rank] = {}
        # Also has entries with former ranks, which are skipped; there are never more of them than members, but for a few.
        self._heap: list[tuple[Rank, str]] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, member: str, rank: Rank) -> None:
        """Add a member, or change its rank."""
        if self._ranks.get(member) == rank:
            return
        self._ranks[member] = rank
        heapq.heappush(self._heap, (rank, member))
        if len(self._heap) > 2 * len(self._ranks) + 8:
            self._heap = [(current, known) for known, current in self._ranks.items()]
            heapq.heapify(self._heap)

    def discard(self, member: str) -> None:
        """Remove a member, if it is one."""
        self._ranks.pop(member, None)

    def first(self) -> str | None:
        """The member with the lowest rank; None if there is no member."""
        while self._heap:
            rank, member = self._heap[0]
            if self._ranks.get(member) == rank:
                return member
            heapq.heappop(self._heap)
        return None
