"""Where each resource was declared. Apart from the body, with a digest of its own: a new comment gives no new catalog."""

import msgspec

from precast.base import canonical, digests


class Place(msgspec.Struct, frozen=True):
    file: str
    line: int


class SourceMap(msgspec.Struct, frozen=True):
    """Places by reference."""

    places: dict[str, Place]

    def encoded(self) -> bytes:
        return canonical.encode(self)

    def digest(self) -> digests.Digest:
        return digests.of_bytes(self.encoded())
