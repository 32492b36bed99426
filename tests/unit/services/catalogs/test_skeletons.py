"""Documents that are ready to be filled: cut once, and bounded."""

import asyncio

from precast.base import canonical, digests
from precast.services.catalogs.skeletons import Skeletons


class Stored:
    """Documents by digest, and how often each was read."""

    def __init__(self, *bodies: bytes) -> None:
        self._bodies = {str(digests.of_bytes(body)): body for body in bodies}
        self.reads: list[str] = []

    @property
    def names(self) -> list[str]:
        return list(self._bodies)

    async def read_document(self, digest: str) -> bytes:
        self.reads.append(digest)
        await asyncio.sleep(0)
        return self._bodies[digest]


def bodies(count: int) -> list[bytes]:
    return [canonical.encode({"number": number, "text": "x" * 1000}) for number in range(count)]


async def test_many_who_ask_at_once_have_it_read_once() -> None:
    stored = Stored(*bodies(2))
    skeletons = Skeletons(stored)  # type: ignore[arg-type] # reading documents is all it asks of catalogs
    found = await asyncio.gather(*(skeletons.read(name) for name in stored.names * 20))
    assert len({id(one) for one in found}) == 2
    assert sorted(stored.reads) == sorted(stored.names)


async def test_what_was_used_last_stays_and_the_rest_goes() -> None:
    stored = Stored(*bodies(3))
    first, second, third = stored.names
    skeletons = Skeletons(stored, max_bytes=2500)  # type: ignore[arg-type] # as above
    for name in (first, second, first, third, first):
        assert (await skeletons.read(name)).digest == name
    assert stored.reads == [first, second, third]
    await skeletons.read(second)
    assert stored.reads[-1] == second


async def test_document_larger_than_the_bound_is_given_all_the_same() -> None:
    stored = Stored(*bodies(2))
    skeletons = Skeletons(stored, max_bytes=10)  # type: ignore[arg-type] # as above
    for name in (*stored.names, *stored.names):
        assert (await skeletons.read(name)).digest == name
    assert len(stored.reads) == 4
