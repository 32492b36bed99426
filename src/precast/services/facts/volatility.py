"""Finds the paths of a node that change all the time.

A path that changed in more than half of the last ten submissions is volatile: its value is stored, but no history, until it has been
unchanged for long enough. Submissions without a change count too, so a fact that changes once a month is never volatile, however rarely
other facts change. Each path that changed lately has one bit for each submission; a path without a change in ten submissions is dropped.
"""

from collections.abc import Iterable

import msgspec

WINDOW = 10
# Bounds the record of a node whose every path changes; the paths with the fewest changes are dropped first, and are far from volatile.
MAX_PATHS = 512

_ALL = (1 << WINDOW) - 1


class RecentChanges(msgspec.Struct, frozen=True, array_like=True):
    """The paths that changed in the submissions up to `number`: the lowest bit of a path stands for that submission."""

    number: int = 0
    paths: dict[str, int] = {}

    def after(self, number: int, changed: Iterable[str]) -> "RecentChanges":
        """The recent changes after a later submission in which these paths changed."""
        passed = min(max(number - self.number, 1), WINDOW)
        paths = {path: bits for path, past in self.paths.items() if (bits := past << passed & _ALL)}
        for path in changed:
            paths[path] = paths.get(path, 0) | 1
        if len(paths) > MAX_PATHS:
            most_changed = sorted(paths, key=lambda path: (-paths[path].bit_count(), path))
            paths = {path: paths[path] for path in most_changed[:MAX_PATHS]}
        return RecentChanges(number, paths)

    def times(self, path: str) -> int:
        """In how many of the last submissions a path changed."""
        return self.paths.get(path, 0).bit_count()

    def is_volatile(self, path: str) -> bool:
        """Whether a path changed in more than half of the last submissions."""
        return self.times(path) > WINDOW // 2


def read_recent(data: bytes) -> RecentChanges:
    """Decode the stored recent changes; empty for a node without any."""
    return RecentChanges() if data == b"{}" else _decoder.decode(data)


def write_recent(recent: RecentChanges) -> bytes:
    return msgspec.json.encode(recent)


_decoder = msgspec.json.Decoder(RecentChanges)
