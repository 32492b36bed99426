"""A runaway fails one compile: real workers, code that takes any time, memory or output, and other nodes that are compiled meanwhile."""

import asyncio
import resource
from collections.abc import AsyncIterator, Mapping

import pytest

from precast.base import digests
from precast.base.clock import SystemClock
from precast.base.errors import UnavailableError
from precast.lang.node_answers import NodeData
from precast.services.compile.messages import Compiled
from precast.services.compile.workers import Limits, Sources, Version, Workers

LIMITS = Limits(compile_s=5.0, memory_bytes=400 * 1024 * 1024)
HIERA = "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n"
LOOKUP = "notify { lookup('a'): }"
LONG = "x" * 1000
RUNAWAYS: dict[str, dict[str, str]] = {
    "a loop in a manifest": {"manifests/site.pp": "Integer[0, 1000000000000].each |$i| { $x = $i }"},
    "nested loops": {"manifests/site.pp": "$a = Integer[0, 99999]\n$a.each |$i| { $a.each |$j| { $a.each |$k| { } } }"},
    "a regular expression": {"manifests/site.pp": f"if '{'a' * 60}!' =~ /^(a|aa)+$/ {{ notify {{ 'x': }} }}"},
    "a node block": {"manifests/site.pp": "node /^(?!b)(a|aa)+$/ { }"},
    "a regsubst": {"manifests/site.pp": f"notify {{ regsubst('{'a' * 60}!', '^(a|aa)+$', 'x'): }}"},
    "a template": {
        "manifests/site.pp": "notify { epp('m/t.epp'): }",
        "modules/m/templates/t.epp": "<% Integer[0, 1000000000000].each |$i| { %>x<% } %>",
    },
    "a Ruby template": {
        "manifests/site.pp": "notify { template('m/t.erb'): }",
        "modules/m/templates/t.erb": "<% 1000000000000.times do |i| %>x<% end %>",
    },
    "a recursive function": {"manifests/site.pp": "function f($n) { f($n + 1) }\nf(0)"},
    "a function that calls itself twice": {"manifests/site.pp": "function f($n) { f($n + 1) + f($n + 1) }\nf(0)"},
    "a growing string": {
        "manifests/site.pp": f"$r = Integer[0, 60].reduce('{LONG}') |$m, $i| {{ \"${{m}}${{m}}\" }}\nnotify {{ $r: }}"
    },
    "a growing list": {"manifests/site.pp": "$r = Integer[0, 60].reduce([1]) |$m, $i| { $m + $m }\nnotice($r)"},
    "a data file of aliases": {
        "manifests/site.pp": LOOKUP,
        "hiera.yaml": HIERA,
        "data/common.yaml": f"x: &x {'y' * 1_000_000}\na: [{', '.join(['*x'] * 5000)}]\n",
    },
    "output": {"manifests/site.pp": f'Integer[0, 100000000].each |$i| {{ notice("{LONG}${{i}}") }}'},
    "resources": {"manifests/site.pp": f'Integer[0, 100000000].each |$i| {{ notify {{ "{LONG}${{i}}": }} }}'},
}


class Site:
    """Workers, and the files of versions."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self.workers = Workers(Sources(self._load), SystemClock(), LIMITS)

    def version(self, environment: str, files: Mapping[str, str]) -> Version:
        known = {path: digests.of_bytes(text.encode()) for path, text in files.items()}
        self._contents.update((known[path], text.encode()) for path, text in files.items())
        return Version(environment, digests.of_bytes(repr(sorted(known.items())).encode()), known, {})

    async def _load(self, digest: str) -> bytes:
        return self._contents[digest]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    yield made
    await made.workers.close()


async def read_failure(running: asyncio.Task[Compiled]) -> str:
    """The code of the declared error that ended a compile; `language` for an error at a place of the code."""
    try:
        compiled = await running
    except UnavailableError as error:
        return error.code
    return "language" if compiled.error is not None and compiled.code is not None else "a catalog"


@pytest.mark.parametrize("name", RUNAWAYS)
async def test_runaway_fails_its_own_compile_while_others_go_on(site: Site, name: str) -> None:
    runaway = site.version("hostile", RUNAWAYS[name])
    calm = site.version("calm", {"manifests/site.pp": "notify { $trusted['certname']: }"})
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    running = asyncio.create_task(site.workers.compile(runaway, NodeData.local("a" * 60 + ".x", {})))
    others = [await site.workers.compile(calm, NodeData.local(f"n{number}.example.org", {})) for number in range(3)]
    assert [compiled.error for compiled in others] == [None] * 3

    assert await read_failure(running) in ("COMPILE-001", "COMPILE-002", "COMPILE-003", "language")
    # The process that stands for the server has not grown with the runaway.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100 * 1024

    after = await site.workers.compile(calm, NodeData.local("after.example.org", {}))
    assert after.error is None
    repaired = await site.workers.compile(
        site.version("hostile", {"manifests/site.pp": "notify { 'a': }"}), NodeData.local("b", {})
    )
    assert repaired.error is None
