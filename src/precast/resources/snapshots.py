"""What was read of a provider as a whole, kept until a change may have made it stale.

Packages, accounts and crontabs are read as a whole because one read costs as much as all. A change of the same provider makes its
snapshot stale; so does any command or file, since nobody knows what they touched. A snapshot that was being taken while something changed
is given to who asked for it, and not kept. Where Puppet's prefetch goes stale during a run, this one does not. Who can tell whether
what was taken is still true says how; then it is asked instead of taking everything anew.
"""

import threading
from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")
_NONE: Any = object()


class Snapshots:
    """Snapshots by kind. Safe for several threads: each kind is taken by one of them, the others wait for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taking: dict[str, threading.Lock] = {}
        self._kept: dict[str, Any] = {}
        # Those that were true until something changed, of kinds that can tell.
        self._doubtful: dict[str, Any] = {}
        self._telling: set[str] = set()
        self._changes = 0

    def get(self, kind: str, take: Callable[[], T], still: Callable[[T], bool] | None = None) -> T:
        """The snapshot of this kind; taken now if there is none. What `take` raises is raised, and the next one tries again.

        `still` says of one that may have become stale whether it is true all the same.
        """
        # Nearly always there is one, and one look needs no lock.
        known = self._kept.get(kind, _NONE)
        if known is not _NONE:
            found: T = known
            return found
        with self._guard:
            taking = self._taking.setdefault(kind, threading.Lock())
        with taking:
            with self._guard:
                changes = self._changes
                if kind in self._kept:
                    kept: T = self._kept[kind]
                    return kept
                doubtful: T | None = self._doubtful.pop(kind, None)
            taken = doubtful if doubtful is not None and still is not None and still(doubtful) else take()
            with self._guard:
                if still is not None:
                    self._telling.add(kind)
                if changes == self._changes:
                    self._kept[kind] = taken
            return taken

    def forget(self, kinds: Collection[str] | None = None) -> None:
        """Something has changed: these kinds are stale, or all of them."""
        with self._guard:
            self._changes += 1
            for kind in list(self._kept) if kinds is None else kinds:
                stale = self._kept.pop(kind, None)
                if stale is not None and kind in self._telling:
                    self._doubtful[kind] = stale
