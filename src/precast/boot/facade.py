"""Presents all sources as one object: it delegates each capability to the source that the trust rules choose, before discovery has ended.

A capability that was given once keeps its source, even if a better source answers later, so that two modules never see different values.
A value is fetched when a module first needs it, and at most once.
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
    """The sources of one boot. `note_answer` records each source's answer; `verdict` answers as soon as the rules allow."""

    def __init__(
        self, sources: Sequence[Source], confirmed: Collection[str] = (), listed: Collection[str] = ()
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self.rules = Rules(
            [Candidate(source.name, source.rank, source.capabilities, source.name in confirmed) for source in sources],
            listed,
        )
        self.states: dict[str, SourceState] = dict.fromkeys(self._sources, PENDING)
        self.detected: dict[str, DetectedSource] = {}
        self.verdicts: dict[Capability, Verdict] = {}
        self._fetches: dict[Capability, asyncio.Task[Any]] = {}

    def note_answer(self, name: str, detected: DetectedSource | None) -> None:
        """Record a source's answer; None if the source is absent or failed."""
        if detected is None:
            self.states[name] = ABSENT
        else:
            self.detected[name] = detected
            self.states[name] = SourceState(SourceStatus.PRESENT, detected.instance_id, detected.capabilities)

    @property
    def identity(self) -> str | None:
        """The source that identifies the machine, once no pending source can outrank it."""
        identity, above = self.rules.identity(self.states)
        return identity.name if identity is not None and not above else None

    def verdict(self, capability: Capability, is_optional: bool = False) -> Verdict:
        """Return the verdict on a capability as of now. A GIVEN verdict is final, even if its fetch fails; others may still change."""
        known = self.verdicts.get(capability)
        if known is not None and (known.answer == VerdictKind.GIVEN or capability in self._fetches):
            return known
        verdict = self.rules.judge(capability, self.states, is_optional)
        self.verdicts[capability] = verdict
        return verdict

    async def fetch(self, capability: Capability) -> Any | None:
        """Return the value of a given capability; None if the fetch fails, and then the verdict states the reason."""
        verdict = self.verdicts.get(capability)
        if verdict is None or verdict.answer != VerdictKind.GIVEN:
            return None
        if capability not in self._fetches:
            self._fetches[capability] = asyncio.create_task(self._fetch_value(capability, verdict.source))
        return await asyncio.shield(self._fetches[capability])

    async def _fetch_value(self, capability: Capability, name: str) -> Any | None:
        deadline_s = self._sources[name].deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                return await self.detected[name].get(capability)
        except TimeoutError:
            reason = issues.LATE.error(source=name, seconds=f"{deadline_s:g}").message
        except PrecastError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 - the boundary to a source, as in `probes`
            reason = issues.UNFIT.error(source=name, problem=f"{type(error).__name__}: {error}").message
        self.verdicts[capability] = Verdict(VerdictKind.MISSING, name, reason)
        return None

    async def fetch_all(self, capabilities: Collection[Capability]) -> Mapping[Capability, Any]:
        """Fetch several capabilities concurrently, and return those that have a value."""
        wanted = sorted(capabilities, key=lambda capability: capability.value)
        values = await asyncio.gather(*(self.fetch(capability) for capability in wanted))
        return {capability: value for capability, value in zip(wanted, values, strict=True) if value is not None}
