"""One source after the other, in the order given. Slow where some are silent; for a machine whose sources disturb each other."""

from collections.abc import AsyncIterator, Iterable

from precast.boot.sources.contract import MachineAccess, Source
from precast.boot.sources.probes import ProbeResult, probe


class Serial:
    """Asks the next only when the one before has ended; whoever has enough stops iterating."""

    async def search(
        self, sources: Iterable[Source], access: MachineAccess
    ) -> AsyncIterator[tuple[Source, ProbeResult]]:
        """Each source with what came of it, in the order given."""
        for source in sources:
            yield source, await probe(source, access)
