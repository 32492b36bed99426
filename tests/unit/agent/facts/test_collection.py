"""A whole collection: precedence, deadlines, limits, and a warning for every fact that is left out."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.machine import Facts
from precast.agent.facts.sources import Source, only_facts
from precast.base.clock import ManualClock
from tests.unit.agent.facts.roots import ALPINE, DEBIAN, ROCKY, UBUNTU, machine


def source(name: str, work: Callable[[], Facts], deadline_s: float = 20.0) -> Source:
    return Source(name, deadline_s, lambda _: only_facts(work()))


def codes(collected: Collection) -> list[str]:
    return [warning.code for warning in collected.warnings]


def test_later_sources_override_earlier_ones_and_names_are_sorted() -> None:
    collected = Collector([source("b", lambda: {"z": 1, "a": 1}), source("a", lambda: {"a": {"b": 2}})]).collect()
    assert list(collected.facts.items()) == [("a", {"b": 2}), ("z", 1)]
    assert collected.warnings == []


def test_source_that_raises_costs_only_its_own_facts() -> None:
    collected = Collector([source("bad", lambda: {"a": 1 // 0}), source("good", lambda: {"b": 1})]).collect()
    assert (collected.facts, codes(collected)) == ({"b": 1}, ["FACT-013"])
    assert "bad failed: ZeroDivisionError" in collected.warnings[0].message


def test_source_that_is_stuck_is_named_each_time_and_asked_once() -> None:
    free = threading.Event()
    asked = []

    def work() -> Facts:
        asked.append(1)
        free.wait(60)
        return {"a": 1}

    collector = Collector([source("mounts", work, 0.01), source("good", lambda: {"b": 1})])
    assert codes(collector.collect()) == ["FACT-010"]
    again = collector.collect()
    assert (again.facts, codes(again), len(asked)) == ({"b": 1}, ["FACT-011"], 1)
    free.set()


def test_sources_past_the_total_deadline_are_named() -> None:
    clock = ManualClock()

    def slow() -> Facts:
        clock.advance(31)
        return {"slow": 1}

    sources = [source("slow", slow), source("late", lambda: {"late": 1}), source("later", lambda: {"later": 1})]
    collected = Collector(sources, clock=clock).collect()
    assert collected.facts == {"slow": 1}
    assert [warning.message for warning in collected.warnings] == [
        "late was not asked: the 30 s for all facts had passed",
        "later was not asked: the 30 s for all facts had passed",
    ]


def test_fact_that_is_too_large_is_left_out_with_its_size() -> None:
    collected = Collector([source("a", lambda: {"large": "x" * 1_000_000, "small": 1})]).collect()
    assert (collected.facts, codes(collected)) == ({"small": 1}, ["FACT-033"])


def test_external_fact_overrides_a_plugin_and_a_plugin_overrides_a_group(tmp_path: Path) -> None:
    names = [source.name for source in all_sources(machine(tmp_path), ["/external"], ["/plugins"])]
    assert names.index("the group os") < names.index("/plugins") < names.index("/external")


def test_collector_loads_little_because_the_daemon_loads_it() -> None:
    code = "import sys, precast.agent.facts.collection; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()} | set(done.stdout.split())
    heavy = {"asyncio", "asyncpg", "cryptography", "ssl", "precast.lang", "precast.store", "precast.net"}
    assert loaded & heavy == set()


@pytest.mark.parametrize("distribution", [DEBIAN, UBUNTU, ROCKY, ALPINE])
def test_image_of_a_distribution_gives_its_facts_without_warnings(tmp_path: Path, distribution: dict[str, str]) -> None:
    collected = Collector(all_sources(machine(tmp_path, distribution))).collect()
    assert collected.warnings == []
    assert collected.facts.keys() == {"fips_enabled", "os", "precast_bridge", "precastversion", "timezone"}


def test_empty_root_gives_next_to_nothing_without_warnings(tmp_path: Path) -> None:
    collected = Collector(all_sources(machine(tmp_path))).collect()
    assert collected.warnings == []
    assert collected.facts.keys() == {"fips_enabled", "os", "precast_bridge", "precastversion"}
