"""Asks one source after the other, in the given order. Slow if some are silent; it is for machines whose sources disturb each other."""

from collections.abc import AsyncIterator, Iterable

from precast.boot.sources.contract import MachineAccess, Source
from precast.boot.sources.probes import ProbeResult, probe


class Serial:
    """Asks a source only after the previous one has answered. The caller stops iterating when it has enough."""

    async def search(
        self, sources: Iterable[Source], access: MachineAccess
    ) -> AsyncIterator[tuple[Source, ProbeResult]]:
        """Yield each source with its result, in the given order."""
        for source in sources:
            yield source, await probe(source, access)
