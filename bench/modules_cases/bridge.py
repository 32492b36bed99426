"""The bridge to Ruby types: how long it takes until it answers, and what it adds to the time of a provider.

The start is compared with that of `puppet apply -e ''` without modules, which loads Puppet, collects facts and compiles nothing. The
time of a resource is that of a whole run over cells in sync (plan, declaring, checks, reports), less that of a run over one cell; of this
the provider's own time is subtracted: what a Ruby process needs to prefetch the same cells, to retrieve their values and to compare
them. All of it is processor time of all processes, because other work on the machine would show in any other.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Goal, print_rows
from lab import ruby_module
from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import make_plan
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.clock import SystemClock
from precast.catalog.body import Body, ResourceData
from precast.resources.bridge.installation import Installation, find_puppet
from precast.resources.bridge.process import START_S, BridgeProcess
from precast.resources.contents import EnvironmentContents
from precast.wire.reports.events import ResourceReport, Status

TARGETS = {"bridge-start": 1.2, "bridge-resource": 2.0}
FULL_ONLY = "only the full run repeats it often enough"
NO_PUPPET = "real Puppet is not installed"
CELLS, QUICK_CELLS = 2000, 200

# Prints the milliseconds of processor time that the provider needs for each cell.
_PROVIDER = """
require 'json'
require 'puppet'
Puppet.initialize_settings(%w[confdir codedir vardir rundir logdir].flat_map { |name| ["--#{name}", "#{ARGV[0]}/#{name}"] })
kind = Puppet::Type.type(:bridge_cell)
cells = Array.new(ARGV[2].to_i) do |number|
  kind.new(name: "c#{number}", store: ARGV[1], ensure: 'present', value: "v#{number}", labels: %w[a b], count: number)
end
used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond) }
started = used.call
kind.defaultprovider.prefetch(cells.to_h { |cell| [cell.name, cell] })
cells.each do |cell|
  values = cell.retrieve_resource.to_hash
  cell.properties.each { |property| raise cell.name unless property.safe_insync?(values[property.name]) }
end
puts (used.call - started) / cells.size
"""


def measure(*, is_quick: bool) -> tuple[dict[str, Any], list[Goal]]:
    installation = find_puppet()
    if installation is None or shutil.which("puppet") is None:
        return {}, [Goal(name, None, target, None, NO_PUPPET) for name, target in TARGETS.items()]
    cells = QUICK_CELLS if is_quick else CELLS
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        start = _measure_start(installation, place, 2 if is_quick else 10)
        each = _measure_resource(installation, place, cells, 1 if is_quick else 5)
    rows = [(what, value) for what, value in (start | each).items()]
    print_rows(["bridge", "processor time"], rows)
    print()
    values = {"bridge-start": start["ratio"], "bridge-resource": each["added_ms"]}
    goals = [
        Goal(name, values[name], target, None, FULL_ONLY)
        if is_quick
        else Goal(name, values[name], target, values[name] <= target)
        for name, target in TARGETS.items()
    ]
    load = round(os.getloadavg()[0], 1)
    return {"bridge": {**start, **each, "cells": cells, "puppet": installation.version, "load": load}}, goals


def _measure_start(installation: Installation, place: Path, rounds: int) -> dict[str, float]:
    def start_bridge() -> None:
        process = BridgeProcess(installation.ruby, installation.library)
        question = {"do": "start", "libraries": [], "directory": str(place / "empty"), "noop": True}
        assert "version" in process.ask(question, START_S)
        process.close(wait_s=30)

    def start_puppet() -> None:
        # /nonexistent: the modules of this machine would add their facts.
        directories = [f"--{name}={place / name}" for name in ("confdir", "codedir", "vardir")]
        words = ["puppet", "apply", *directories, "--modulepath=/nonexistent", "-e", ""]
        subprocess.run(words, capture_output=True, timeout=300, check=True)

    ours, theirs = _alternate(start_bridge, start_puppet, rounds)
    return {"start_ms": ours, "puppet_start_ms": theirs, "ratio": round(ours / theirs, 2)}


def _alternate(ours: Callable[[], None], theirs: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Medians of the processor time in milliseconds, after one round that fills caches."""
    ours()
    theirs()
    pairs = [(_cpu_ms(ours), _cpu_ms(theirs)) for _ in range(rounds)]
    return round(statistics.median(pair[0] for pair in pairs), 1), round(
        statistics.median(pair[1] for pair in pairs), 1
    )


def _cpu_ms(work: Callable[[], object]) -> float:
    """The processor time of this process and of the children that have ended."""
    before = _used_s()
    work()
    return (_used_s() - before) * 1e3


def _used_s() -> float:
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _measure_resource(installation: Installation, place: Path, cells: int, rounds: int) -> dict[str, float]:
    modules = ruby_module.write_module(place / "modules")
    store = place / "cells.json"
    store.write_text(json.dumps({f"c{n}": {"value": f"v{n}", "labels": ["a", "b"], "count": n} for n in range(cells)}))
    many = [_cpu_ms(lambda: _run(place, modules, store, cells)) for _ in range(rounds)]
    one = [_cpu_ms(lambda: _run(place, modules, store, 1)) for _ in range(rounds)]
    each_ms = (statistics.median(many) - statistics.median(one)) / (cells - 1)
    provider_ms = statistics.median(_provider_ms(installation, place, modules, store, cells) for _ in range(rounds))
    return {
        "resource_ms": round(each_ms, 3),
        "provider_ms": round(provider_ms, 3),
        "added_ms": round(each_ms - provider_ms, 3),
    }


def _run(place: Path, modules: Path, store: Path, cells: int) -> None:
    """One run over cells in sync."""
    content = ruby_module.pinned(modules, ruby_module.NAME)
    resources = tuple(_cell(store, number) for number in range(cells))
    body = Body(resources, (), (), (), content)
    contents = EnvironmentContents([modules], content)
    machine = Machine("", str(place / "state"), SystemClock(), contents)
    memory, reports = ResourceMemory(), list[ResourceReport]()
    try:
        Engine(make_plan(body, None, machine), machine, memory, RunOptions(), reports.append).run()
    finally:
        machine.close()
    assert [report.status for report in reports] == [Status.UNCHANGED] * cells


def _cell(store: Path, number: int) -> ResourceData:
    parameters = {
        "ensure": "present",
        "store": str(store),
        "value": f"v{number}",
        "labels": ["a", "b"],
        "count": number,
    }
    return ResourceData("Bridge_cell", f"c{number}", parameters, ("bridge_cell",))


def _provider_ms(installation: Installation, place: Path, modules: Path, store: Path, cells: int) -> float:
    library = modules / ruby_module.NAME / "lib"
    words = [installation.ruby, "-I", installation.library, "-I", str(library), "-e", _PROVIDER]
    done = subprocess.run(
        [*words, str(place / "provider"), str(store), str(cells)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return float(done.stdout)
