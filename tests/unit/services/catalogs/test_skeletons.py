"""The cache of skeletons: each document is split once, and the cache is bounded."""

import asyncio

from precast.base import canonical, digests
from precast.services.catalogs.skeletons import Skeletons


class FakeDocuments:
    """Documents by digest, and the reads of them."""

    def __init__(self, *bodies: bytes) -> None:
        self._bodies = {str(digests.of_bytes(body)): body for body in bodies}
        self.reads: list[str] = []

    @property
    def names(self) -> list[str]:
        return list(self._bodies)

    async def read(self, digest: str) -> bytes:
        self.reads.append(digest)
        await asyncio.sleep(0)
        return self._bodies[digest]


def bodies(count: int) -> list[bytes]:
    return [canonical.encode({"number": number, "text": "x" * 1000}) for number in range(count)]


async def test_concurrent_requests_read_a_document_once() -> None:
    documents = FakeDocuments(*bodies(2))
    skeletons = Skeletons(documents)  # type: ignore[arg-type] # the cache only reads documents
    read = await asyncio.gather(*(skeletons.read(name) for name in documents.names * 20))
    assert len({id(skeleton) for skeleton in read}) == 2
    assert sorted(documents.reads) == sorted(documents.names)


async def test_least_recently_used_document_is_evicted() -> None:
    documents = FakeDocuments(*bodies(3))
    first, second, third = documents.names
    skeletons = Skeletons(documents, max_bytes=2500)  # type: ignore[arg-type] # as above
    for name in (first, second, first, third, first):
        assert (await skeletons.read(name)).digest == name
    assert documents.reads == [first, second, third]
    await skeletons.read(second)
    assert documents.reads[-1] == second


async def test_document_larger_than_the_cache_is_read_nevertheless() -> None:
    documents = FakeDocuments(*bodies(2))
    skeletons = Skeletons(documents, max_bytes=10)  # type: ignore[arg-type] # as above
    for name in (*documents.names, *documents.names):
        assert (await skeletons.read(name)).digest == name
    assert len(documents.reads) == 4
