"""Caches what was read of a provider as a whole, until a change may have made it stale.

Packages, accounts and crontabs are read as a whole because reading one costs as much as reading all. A change by the same provider makes
its snapshot stale; so does any command or file, because it may have changed anything. A snapshot that was taken while something changed is
returned to its caller, but not cached. Unlike Puppet's prefetch, a snapshot never goes stale during a run. A kind of snapshot that can
check whether it is still valid provides that check; then the check replaces taking the snapshot again.
"""

import threading
from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")
_NONE: Any = object()


class Snapshots:
    """Snapshots by kind. Safe for several threads: one thread takes a snapshot of a kind, the others wait for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taking: dict[str, threading.Lock] = {}
        self._cached: dict[str, Any] = {}
        # Snapshots that were valid until something changed, of the kinds that can be checked.
        self._doubtful: dict[str, Any] = {}
        self._checkable: set[str] = set()
        self._changes = 0

    def get(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        """The cached snapshot of this kind; it is taken now if there is none. If `take` raises, the next call tries again.

        `still` checks whether a possibly stale snapshot is still valid.
        """
        # The snapshot is nearly always cached, and a single lookup needs no lock.
        known = self._cached.get(kind, _NONE)
        if known is not _NONE:
            snapshot: T = known
            return snapshot
        with self._guard:
            taking = self._taking.setdefault(kind, threading.Lock())
        with taking:
            with self._guard:
                changes = self._changes
                if kind in self._cached:
                    cached: T = self._cached[kind]
                    return cached
                doubtful: T | None = self._doubtful.pop(kind, None)
            taken = doubtful if doubtful is not None and still is not None and still(doubtful) else take()
            with self._guard:
                if still is not None:
                    self._checkable.add(kind)
                if changes == self._changes:
                    self._cached[kind] = taken
            return taken

    def forget(self, kinds: Collection[str] | None = None) -> None:
        """Mark these kinds as stale after a change, or all kinds."""
        with self._guard:
            self._changes += 1
            for kind in list(self._cached) if kinds is None else kinds:
                stale = self._cached.pop(kind, None)
                if stale is not None and kind in self._checkable:
                    self._doubtful[kind] = stale
