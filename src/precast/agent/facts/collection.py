"""Collects all facts of a machine: built-in facts, plug-ins, external facts, Ruby facts of modules. Later sources override earlier ones.

The Ruby facts come last because they may use all others; an external fact overrides them all the same, as their source knows it.

Every source has a deadline, and so has the whole collection. If a source is late, broken or too large, its facts are missing and there
is one warning; nothing is ever left out silently.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from precast.agent import issues
from precast.agent.facts import external, plugins
from precast.agent.facts import registry as groups
from precast.agent.facts.deadlines import Deadlines, StillStuck
from precast.agent.facts.fact_budget import FactBudget
from precast.agent.facts.machine import Facts, Machine
from precast.agent.facts.ruby import source as ruby
from precast.agent.facts.sources import DependentSource, KnownFacts, Source, SourceResult, only_warnings
from precast.base.clock import Clock, SystemClock
from precast.base.errors import PrecastError

TOTAL_S = 30.0


class Collection(NamedTuple):
    """The facts by name, sorted, and warnings about facts that are missing."""

    facts: Facts
    warnings: list[PrecastError]


def all_sources(
    machine: Machine,
    external_directories: Sequence[str] = external.DIRECTORIES,
    plugin_directories: Sequence[str] = plugins.DIRECTORIES,
    may_trust: plugins.MayTrust = plugins.never_trust,
    ruby_directories: Sequence[str] = ruby.DIRECTORIES,
) -> list[Source | DependentSource]:
    """All sources of facts of a machine, those that override others last. `may_trust` is about the plug-ins of the environment."""
    return [
        *groups.sources(machine),
        *(plugins.directory_source(machine, path, may_trust) for path in plugin_directories),
        *(external.directory_source(machine, path) for path in external_directories),
        *(ruby.directory_source(machine, path, may_trust) for path in ruby_directories),
    ]


class Collector:
    """Collects from the same sources any number of times; it remembers only which sources are stuck. Used by one thread at a time."""

    def __init__(
        self, sources: Sequence[Source | DependentSource], *, total_s: float = TOTAL_S, clock: Clock | None = None
    ) -> None:
        self._sources = sources
        self._total_s = total_s
        self._clock = clock or SystemClock()
        self._deadlines = Deadlines()

    def collect(self) -> Collection:
        """Collect all facts within the deadline. Never raises for a failure of a source."""
        until_s = self._clock.monotonic_s() + self._total_s
        budget = FactBudget()
        known = KnownFacts({}, {})
        facts: Facts = {}
        warnings: list[PrecastError] = []
        waiting = deque(self._sources)
        while waiting:
            first = waiting.popleft()
            if isinstance(first, Source):
                source = first
            else:
                until_s = max(until_s, self._clock.monotonic_s() + first.total_s)
                source = first.make(known)
            result = self._ask(source, until_s)
            waiting.extendleft(reversed(result.more))
            admitted, left_out = budget.admit(result.facts)
            facts |= admitted
            (known.added if source.is_added else known.machine).update(admitted)
            warnings += [*result.warnings, *left_out]
        return Collection(dict(sorted(facts.items())), warnings)

    def _ask(self, source: Source, until_s: float) -> SourceResult:
        left_s = until_s - self._clock.monotonic_s()
        if left_s <= 0:
            return only_warnings(issues.OUT_OF_TIME.error(source=source.name, deadline_s=self._total_s))
        deadline_s = min(source.deadline_s, left_s)
        try:
            if source.keeps_deadline:
                return source.ask(deadline_s)
            return self._deadlines.within(deadline_s, source.name, lambda: source.ask(deadline_s))
        except StillStuck:
            return only_warnings(issues.STILL_STUCK.error(source=source.name))
        except TimeoutError:
            return only_warnings(issues.SLOW.error(source=source.name, deadline_s=round(deadline_s, 1)))
        except PrecastError as error:
            return only_warnings(error)
        except Exception as error:  # noqa: BLE001 - the boundary to a source: its failure costs only its own facts
            return only_warnings(issues.FAILED.error(source=source.name, reason=f"{type(error).__name__}: {error}"))
