"""Selects by what is wanted: a source that offers none of it is not loaded, and if nothing is wanted none is.

Whose machine this is counts as wanted as soon as anything is: without it nobody could be believed.
"""

from collections.abc import Collection, Iterable

from precast.boot.capabilities import Capability
from precast.boot.sources.contract import Source


class ByCapability:
    """Selects the sources for a set of capabilities."""

    def __init__(self, wanted: Collection[Capability]) -> None:
        self._wanted = frozenset(wanted) | ({Capability.INSTANCE_ID} if wanted else frozenset())

    def select(self, sources: Iterable[Source]) -> tuple[list[Source], list[Source]]:
        """Those that offer something of it, and the others, both in the order given."""
        chosen: list[Source] = []
        spared: list[Source] = []
        for source in sources:
            (chosen if source.capabilities & self._wanted else spared).append(source)
        return chosen, spared
