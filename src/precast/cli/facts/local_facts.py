"""The facts of this machine for a local compile, collected when the first one is read.

Most small manifests read no facts, and collecting them takes longer than applying the manifest.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


class LazyFacts(dict[str, Any]):
    """A read-only dictionary of facts that are collected at the first access."""

    def __init__(self, collect: Callable[[], dict[str, Any]]) -> None:
        super().__init__()
        self._collect: Callable[[], dict[str, Any]] | None = collect

    def _load(self) -> None:
        if self._collect is not None:
            collect, self._collect = self._collect, None
            self.update(collect())

    def __contains__(self, name: object) -> bool:
        self._load()
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Any:
        self._load()
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self._load()
        return super().__iter__()

    def __len__(self) -> int:
        self._load()
        return super().__len__()

    def get(self, name: str, default: Any = None) -> Any:
        self._load()
        return super().get(name, default)


def code_trust(root: Path) -> Callable[[], bool]:
    """Asks whether plug-ins of the node's environment may run with our rights, as the node's policy and the agent's settings say."""

    def may_trust() -> bool:
        from precast.agent.catalog.enforcement import trusts_code
        from precast.agent.settings import AgentSettings
        from precast.base.clock import SystemClock
        from precast.base.errors import PrecastError
        from precast.base.settings import load

        try:
            settings = load(AgentSettings, {}, {}, root=root.absolute()).values
        except PrecastError:
            return False
        return trusts_code(root, SystemClock().now(), is_noop_configured=settings.noop)

    return may_trust


def local_facts(root: Path) -> LazyFacts:
    """The facts of the system under a root."""

    def collect() -> dict[str, Any]:
        from precast.agent.facts.collection import Collector, all_sources
        from precast.cli.facts.facts import machine_at

        return Collector(all_sources(machine_at(root), may_trust=code_trust(root))).collect().facts

    return LazyFacts(collect)
