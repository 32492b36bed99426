"""Selects sources by the capabilities that modules need: a source that offers none of them is not asked.

If any capability is needed, the instance id is needed too: without it the trust rules cannot believe any source.
"""

from collections.abc import Collection, Iterable

from precast.boot.capabilities import Capability
from precast.boot.sources.contract import Source


class ByCapability:
    """Selects the sources for a set of capabilities."""

    def __init__(self, wanted: Collection[Capability]) -> None:
        self._wanted = frozenset(wanted) | ({Capability.INSTANCE_ID} if wanted else frozenset())

    def select(self, sources: Iterable[Source]) -> tuple[list[Source], list[Source]]:
        """Split the sources into those that offer a needed capability and the others; both keep their order."""
        chosen: list[Source] = []
        spared: list[Source] = []
        for source in sources:
            (chosen if source.capabilities & self._wanted else spared).append(source)
        return chosen, spared
