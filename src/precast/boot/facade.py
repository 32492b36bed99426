"""One object in place of all sources: it delegates each capability to whom the rules believe, and can be asked before discovery has ended.

What was given once stays, whoever comes later: a module that has used a value and one that uses it next see the same. A value is
fetched when somebody wants it, at most once.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.sources import issues
from precast.boot.sources.contract import DetectedSource, Source
from precast.boot.trust import ABSENT, PENDING, Candidate, Rules, SourceState, SourceStatus, Verdict, VerdictKind


class Facade:
    """The sources of one boot as one. Told of every end; answers as soon as the rules allow."""

    def __init__(
        self, sources: Sequence[Source], confirmed: Collection[str] = (), listed: Collection[str] = ()
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self.rules = Rules(
            [Candidate(source.name, source.rank, source.capabilities, source.name in confirmed) for source in sources], listed
        )
        self.states: dict[str, SourceState] = dict.fromkeys(self._sources, PENDING)
        self.found: dict[str, DetectedSource] = {}
        self.verdicts: dict[Capability, Verdict] = {}
        self._fetches: dict[Capability, asyncio.Task[Any]] = {}

    def note_answer(self, name: str, found: DetectedSource | None) -> None:
        """Note what came of a source."""
        if found is None:
            self.states[name] = ABSENT
        else:
            self.found[name] = found
            self.states[name] = SourceState(SourceStatus.PRESENT, found.instance_id, found.capabilities)

    @property
    def identity(self) -> str | None:
        """The source that says whose machine this is, once nobody can come before it."""
        identity, above = self.rules.identity(self.states)
        return identity.name if identity is not None and not above else None

    def verdict(self, capability: Capability, is_optional: bool = False) -> Verdict:
        """What is to be said of a capability now. Given is given, also if it could not be had after all; the rest may still change."""
        known = self.verdicts.get(capability)
        if known is not None and (known.answer == VerdictKind.GIVEN or capability in self._fetches):
            return known
        verdict = self.rules.judge(capability, self.states, is_optional)
        self.verdicts[capability] = verdict
        return verdict

    async def fetch(self, capability: Capability) -> Any | None:
        """The value of a capability that was given; None if it cannot be had after all, and the verdict then says why."""
        verdict = self.verdicts.get(capability)
        if verdict is None or verdict.answer != VerdictKind.GIVEN:
            return None
        if capability not in self._fetches:
            self._fetches[capability] = asyncio.create_task(self._get(capability, verdict.source))
        return await asyncio.shield(self._fetches[capability])

    async def _get(self, capability: Capability, name: str) -> Any | None:
        deadline_s = self._sources[name].deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                return await self.found[name].get(capability)
        except TimeoutError:
            reason = issues.LATE.error(source=name, seconds=f"{deadline_s:g}").message
        except PrecastError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 - the boundary to a source, as in `probing`
            reason = issues.UNFIT.error(source=name, problem=f"{type(error).__name__}: {error}").message
        self.verdicts[capability] = Verdict(VerdictKind.MISSING, name, reason)
        return None

    async def values(self, capabilities: Collection[Capability]) -> Mapping[Capability, Any]:
        """Those of them that there are, fetched together."""
        wanted = sorted(capabilities, key=lambda capability: capability.value)
        got = await asyncio.gather(*(self.fetch(capability) for capability in wanted))
        return {one: value for one, value in zip(wanted, got, strict=True) if value is not None}
