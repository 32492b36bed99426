"""Which paths of a node change all the time.

A path that changed in more than half of the last ten submissions is volatile: it is kept, but its history is not, until it has been
quiet for long enough. Submissions without a change count too, so what changes once a month is never volatile, however rarely
anything else does. For each path that changed lately there is one bit a submission; what was quiet ten times is forgotten.
"""

from collections.abc import Iterable

import msgspec

WINDOW = 10
# Bounds what is kept for a node whose every path changes; the quietest are forgotten first, and they are far from volatile.
MAX_PATHS = 512

_ALL = (1 << WINDOW) - 1


class Recent(msgspec.Struct, frozen=True, array_like=True):
    """What changed in the submissions up to `number`: the lowest bit of a path stands for that one."""

    number: int = 0
    paths: dict[str, int] = {}

    def after(self, number: int, changed: Iterable[str]) -> "Recent":
        """The same after a later submission in which these paths have changed."""
        passed = min(max(number - self.number, 1), WINDOW)
        paths = {path: bits for path, past in self.paths.items() if (bits := past << passed & _ALL)}
        for path in changed:
            paths[path] = paths.get(path, 0) | 1
        if len(paths) > MAX_PATHS:
            liveliest = sorted(paths, key=lambda path: (-paths[path].bit_count(), path))
            paths = {path: paths[path] for path in liveliest[:MAX_PATHS]}
        return Recent(number, paths)

    def times(self, path: str) -> int:
        """In how many of the last submissions a path has changed."""
        return self.paths.get(path, 0).bit_count()

    def is_volatile(self, path: str) -> bool:
        """Whether a path changed in more than half of the last submissions."""
        return self.times(path) > WINDOW // 2


def read_recent(data: bytes) -> Recent:
    """As it was stored; nothing for a node of which nothing is known."""
    return Recent() if data == b"{}" else _decoder.decode(data)


def write_recent(recent: Recent) -> bytes:
    return msgspec.json.encode(recent)


_decoder = msgspec.json.Decoder(Recent)
