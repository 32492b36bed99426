"""All sources at once: each is yielded as soon as it has ended, so that the time is that of the slowest one needed, not the sum."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from precast.boot.sources.contract import MachineAccess, Source
from precast.boot.sources.probes import ProbeResult, probe


class Parallel:
    """Asks all; whoever has enough stops iterating, and the others are asked no further."""

    async def search(
        self, sources: Iterable[Source], access: MachineAccess
    ) -> AsyncIterator[tuple[Source, ProbeResult]]:
        """Each source with what came of it, in the order in which they end."""
        asking = {asyncio.ensure_future(probe(source, access)): source for source in sources}
        left = set(asking)
        try:
            while left:
                ended, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    yield asking[task], task.result()
        finally:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
