"""Sources and modules for tests of the loop: a test controls what they do, and when."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine as Managed
from precast.base.clock import SystemClock
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.events import AnyEvent
from precast.boot.loop import Boot, BootParts, Options
from precast.boot.module_runs import ModuleRunner
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, ModulePart, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.source_choice import ChosenSource, SourceChoice
from precast.boot.sources.contract import (
    DetectedSource,
    Evidence,
    Likelihood,
    MachineAccess,
    Plausibility,
    Source,
    SourceData,
)
from precast.boot.sources.machine import Machine
from precast.boot.state import State

ALL = frozenset(Capability)


class ScriptedSource:
    """A source that answers when the test allows it; with `values` None it is absent."""

    needs_network = False

    def __init__(
        self,
        name: str,
        rank: int,
        values: Mapping[Capability, Any] | None = None,
        declares: frozenset[Capability] = ALL,
        deadline_s: float = 60.0,
    ) -> None:
        self.name = name
        self.rank = rank
        self.capabilities = declares
        self.deadline_s = deadline_s
        self.values = values
        self.may_answer = asyncio.Event()
        self.was_asked = asyncio.Event()
        self.was_cancelled = False

    def now(self) -> "ScriptedSource":
        self.may_answer.set()
        return self

    def likelihood(self, evidence: Evidence) -> Likelihood:
        return Likelihood(Plausibility.POSSIBLE, "a test")

    async def find(self, access: MachineAccess) -> DetectedSource | None:
        self.was_asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return None if self.values is None else SourceData(f"test {self.name}", self.values)


def data(instance_id: str = "i-1", **values: Any) -> dict[Capability, Any]:
    return {Capability.INSTANCE_ID: instance_id, **{Capability[name.upper()]: value for name, value in values.items()}}


def module(
    name: str, run: Callable[[ModuleContext], ModuleOutcome] | None = None, after: Sequence[str] = (), **rest: Any
) -> Module:
    """A module that is always due."""
    return Module(
        name,
        run or (lambda context: context.outcome),
        {},
        after=tuple(Predecessor(dependency, "the test says so") for dependency in after),
        has_work=rest.pop("has_work", lambda _: True),
        **rest,
    )


class Scene:
    """One boot in a scratch root."""

    def __init__(self, root: Path, sources: Sequence[Source], modules: Sequence[Module], **options: Any) -> None:
        root.mkdir(exist_ok=True)
        confirmed = options.pop("confirmed", ())
        config = options.pop("config", {})
        self.state = State(root, options.get("is_dry_run", False))
        self.events: list[AnyEvent] = []
        self._arrived = asyncio.Condition()
        chosen = [
            ChosenSource(
                source,
                Likelihood(Plausibility.CONFIRMED if source.name in confirmed else Plausibility.POSSIBLE, "a test"),
            )
            for source in sources
        ]
        clock = SystemClock()
        managed = Managed(str(root), str(self.state.directory), clock)
        parts = BootParts(
            Machine(root, Evidence()),
            SourceChoice(chosen, ()),
            modules,
            self.state,
            ModuleRunner(self.state, managed, self.state.log, options.get("is_dry_run", False)),
            clock,
            lambda values, _: Configuration({**config, "user_data": values.get(Capability.USER_DATA)}),
            bring_up=options.pop("bring_up", None),
        )
        self.boot = Boot(parts, Options(**options), self.events.append)

    async def run(self) -> bool:
        async with asyncio.timeout(60):
            return await self.boot.run()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


__all__ = ["ALL", "Frequency", "ModulePart", "Scene", "ScriptedSource", "Stage", "data", "module"]
