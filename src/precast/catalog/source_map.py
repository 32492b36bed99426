"""Where each resource was declared. It is separate from the body and has its own digest, so that a new comment gives no new catalog."""

import msgspec

from precast.base import canonical, digests


class SourceLocation(msgspec.Struct, frozen=True):
    file: str
    line: int


class SourceMap(msgspec.Struct, frozen=True):
    """The source location of each resource, by reference."""

    places: dict[str, SourceLocation]

    def encoded(self) -> bytes:
        return canonical.encode(self)

    def digest(self) -> digests.Digest:
        return digests.of_bytes(self.encoded())
