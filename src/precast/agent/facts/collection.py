"""Collects all facts of a machine: what it tells of itself, then plug-ins, then external facts, each overriding the ones before.

Every source is waited for only so long, and all of them together too. A source that is late, broken or too large costs its own facts and
one warning; nothing is ever left out in silence.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from precast.agent import issues
from precast.agent.facts import external, plugins
from precast.agent.facts import registry as groups
from precast.agent.facts.deadlines import Deadlines, StillStuck
from precast.agent.facts.machine import Facts, Machine
from precast.agent.facts.plain import Budget
from precast.agent.facts.sources import Found, Source, nothing_but
from precast.base.clock import Clock, SystemClock
from precast.base.errors import PrecastError

TOTAL_S = 30.0


class Collection(NamedTuple):
    """The facts by name, sorted, and what is missing from them."""

    facts: Facts
    warnings: list[PrecastError]


def all_sources(
    machine: Machine,
    external_directories: Sequence[str] = external.DIRECTORIES,
    plugin_directories: Sequence[str] = plugins.DIRECTORIES,
) -> list[Source]:
    """Everything that knows facts of a machine, in order of precedence."""
    return [
        *groups.sources(machine),
        *(plugins.listing(machine, path) for path in plugin_directories),
        *(external.listing(machine, path) for path in external_directories),
    ]


class Collector:
    """Collects again and again from the same sources; remembers only which sources are stuck. Used by one thread at a time."""

    def __init__(self, sources: Sequence[Source], *, total_s: float = TOTAL_S, clock: Clock | None = None) -> None:
        self._sources = sources
        self._total_s = total_s
        self._clock = clock or SystemClock()
        self._deadlines = Deadlines()

    def collect(self) -> Collection:
        """All facts, within the deadline. Never raises for what a source does."""
        until_s = self._clock.monotonic_s() + self._total_s
        budget = Budget()
        facts: Facts = {}
        warnings: list[PrecastError] = []
        waiting = deque(self._sources)
        while waiting:
            found = self._ask(waiting.popleft(), until_s)
            waiting.extendleft(reversed(found.more))
            kept, left_out = budget.admit(found.facts)
            facts |= kept
            warnings += [*found.warnings, *left_out]
        return Collection(dict(sorted(facts.items())), warnings)

    def _ask(self, source: Source, until_s: float) -> Found:
        left_s = until_s - self._clock.monotonic_s()
        if left_s <= 0:
            return nothing_but(issues.OUT_OF_TIME.error(source=source.name, deadline_s=self._total_s))
        deadline_s = min(source.deadline_s, left_s)
        try:
            if source.keeps_deadline:
                return source.ask(deadline_s)
            return self._deadlines.within(deadline_s, source.name, lambda: source.ask(deadline_s))
        except StillStuck:
            return nothing_but(issues.STILL_STUCK.error(source=source.name))
        except TimeoutError:
            return nothing_but(issues.SLOW.error(source=source.name, deadline_s=round(deadline_s, 1)))
        except PrecastError as error:
            return nothing_but(error)
        except Exception as error:  # noqa: BLE001 - the boundary to a source: whatever it raises costs only its facts
            return nothing_but(issues.FAILED.error(source=source.name, reason=f"{type(error).__name__}: {error}"))
