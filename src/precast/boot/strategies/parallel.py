"""Asks all sources concurrently and yields each as it answers: a search takes as long as the slowest needed source, not as all of them."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from precast.boot.sources.contract import MachineAccess, Source
from precast.boot.sources.probes import ProbeResult, probe


class Parallel:
    """Asks all sources. When the caller stops iterating, the pending requests are cancelled."""

    async def search(
        self, sources: Iterable[Source], access: MachineAccess
    ) -> AsyncIterator[tuple[Source, ProbeResult]]:
        """Yield each source with its result, in the order in which they answer."""
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
