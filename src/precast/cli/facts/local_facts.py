"""The facts of this machine for a local compile, collected when the first one is read.

Most small manifests read no facts, and collecting them takes longer than applying the manifest.
"""

from collections.abc import Callable, Iterator, Sequence
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


def local_facts(root: Path, environment: str | None = None, paths: Sequence[Path] = ()) -> LazyFacts:
    """The facts of the system under a root, with those that modules of an environment, or of directories with modules, add."""

    def collect() -> dict[str, Any]:
        from precast.agent.facts import plugins
        from precast.agent.facts.collection import Collector, all_sources
        from precast.agent.facts.ruby import source as ruby
        from precast.cli.facts.facts import machine_at
        from precast.cli.facts.module_facts import module_facts

        with module_facts(environment, paths) as added:
            sources = all_sources(
                machine_at(root),
                plugin_directories=[*added.python, *plugins.DIRECTORIES],
                ruby_directories=added.ruby or ruby.DIRECTORIES,
                may_trust=code_trust(root),
            )
            return Collector(sources).collect().facts

    return LazyFacts(collect)
