"""A search that hands out one object at once, usable before discovery has ended: it delegates each capability to the right source."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Any, Protocol

from precast.boot.capabilities import Capability
from precast.boot.facade import Facade
from precast.boot.sources.contract import Reach, Source
from precast.boot.sources.probing import Probe
from precast.boot.trust import Answer


class Search(Protocol):
    """A strategy that says which sources there are."""

    def search(self, sources: Iterable[Source], reach: Reach) -> AsyncIterator[tuple[Source, Probe]]: ...


class Delegated:
    """The sources of a search as one: `get` waits exactly as long as the rules of trust hold the answer back."""

    def __init__(self, facade: Facade) -> None:
        self.facade = facade
        self._news = asyncio.Condition()

    async def listen(self, search: AsyncIterator[tuple[Source, Probe]]) -> None:
        async for source, answer in search:
            async with self._news:
                self.facade.ended(source.name, answer.found)
                self._news.notify_all()

    async def get(self, capability: Capability, is_optional: bool = False) -> Any | None:
        """The value; None if nobody that is believed has it."""
        async with self._news:
            await self._news.wait_for(lambda: self.facade.verdict(capability, is_optional).answer != Answer.HELD)
        return await self.facade.fetch(capability)


class FacadeSearch:
    """Searches with another strategy behind one object."""

    def __init__(self, strategy: Search, confirmed: Collection[str] = (), trusted: Collection[str] = ()) -> None:
        self._strategy = strategy
        self._confirmed = confirmed
        self._trusted = trusted

    @contextlib.asynccontextmanager
    async def search(self, sources: Iterable[Source], reach: Reach) -> AsyncIterator[Delegated]:
        """The object, at once; leaving the context ends the search."""
        known = list(sources)
        found = Delegated(Facade(known, self._confirmed, self._trusted))
        listening = asyncio.ensure_future(found.listen(self._strategy.search(known, reach)))
        try:
            yield found
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
