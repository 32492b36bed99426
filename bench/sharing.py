"""How many compiles a fleet of twenty roles needs, at first and after changes of facts, data and code.

    .venv/bin/python bench/sharing.py [--quick]

The nodes have 20 roles, three systems and facts of 20 KB; the code has 24 modules with templates, and Hiera has a layer for each node that
mostly does not exist. A third of the roles write the node's name and address into files; every further version changes a template. The
compiler service counts the compiles that it gives to worker processes. Everything is real except the network: the fact service receives
the facts, on SQLite on a disk. At the end random nodes are compiled without any cache, and must have the catalogs staged for them.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.report import Goal, finish, parse_quick, print_rows
from bench.sharing_code import PROFILES, ROLES, code, facts_of, role_of
from lab.compile_services import CompileServices
from precast.lang.compile import compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers
from precast.lang.settings import Settings
from precast.services.compile.inputs import NodeInput, node_data
from precast.services.traces.chains import encode_links, make_link
from precast.services.traces.walker import ReachedLeaf
from precast.store.engine.connect import connect
from precast.store.engine.location import SqliteLocation
from precast.store.schema.schema import Schema
from precast.wire.catalogs.bodies import ReleaseBody
from precast.wire.facts import FactUpload, make_upload
from precast.wire.nodes.bodies import TargetsBody

SEED = 8
CHECKED = 200
FLAPPING = 100
FLAPS_BEFORE = 5
MEASURED = 20
SUBMITTERS = 64
OTHERS = (
    {"name": "Debian", "family": "Debian", "release": "12"},
    {"name": "Ubuntu", "family": "Debian", "release": "12"},
)


class Size(NamedTuple):
    nodes: int
    versions: int


QUICK, FULL = Size(1_000, 3), Size(10_000, 20)


class Fleet:
    """All nodes of the benchmark."""

    def __init__(self, compiling: CompileServices, count: int) -> None:
        self.compiling = compiling
        self.names = [f"node{number:05d}.example.org" for number in range(count)]
        self._number = {name: number for number, name in enumerate(self.names)}

    async def introduce(self) -> None:
        for name in self.names:
            await self.compiling.introduce(name, role_of(self._number[name]))

    def body(self, name: str, **changed: Any) -> FactUpload:
        """A node's fact upload, with changed values."""
        stable, volatile = facts_of(self._number[name], 0)
        stable |= changed
        return make_upload(stable, volatile)

    async def submit(self, names: list[str], tick: int = 0, **changed: Any) -> None:
        waiting = iter(names)

        async def some() -> None:
            for name in waiting:
                stable, volatile = facts_of(self._number[name], tick)
                await self.compiling.submit(name, {**stable, **changed}, volatile)

        await asyncio.gather(*(some() for _ in range(SUBMITTERS)))


async def timed(compiling: CompileServices) -> tuple[int, float]:
    """Process all work, and return the number of compiles and the seconds."""
    started_s = time.perf_counter()
    return await compiling.settle(), time.perf_counter() - started_s


async def skeletons(compiling: CompileServices, names: list[str]) -> dict[str, str | None]:
    staged = await compiling.database.read(compiling.catalogs.staged.find, names)
    return {name: catalog.skeleton for name, catalog in staged.items()}


async def release_all(compiling: CompileServices) -> None:
    """Release all staged catalogs, a page of nodes at a time."""
    body = ReleaseBody(TargetsBody([], all=True))
    while (done := await compiling.releases.release(body, "person:bench")).after is not None:
        body = msgspec.structs.replace(body, release=done.release, after=done.after)


async def walk_us(compiling: CompileServices, names: list[str]) -> tuple[float, float]:
    """Microseconds of the walk that a decision does for one node, and the mean number of reads of a trace."""
    known = await compiling.database.read(compiling.inputs.read, names)
    nodes = [node_data(node_input) for node_input in known]
    version = known[0].version
    assert version is not None
    tree = await compiling.trace_cache.tree("production", version)
    walks = await compiling.trace_cache.walk(tree, nodes)
    reads = statistics.mean(
        sum(position for _, position in walk.path) for walk in walks if isinstance(walk, ReachedLeaf)
    )
    best = min(_walk_all(tree, nodes) for _ in range(5))
    return best / len(nodes) * 1e6, reads


def _walk_all(tree: Any, nodes: list[Any]) -> float:
    started_s = time.process_time()
    for node in nodes:
        tree.walk(node)
    return time.process_time() - started_s


async def cold_differences(compiling: CompileServices, files: Mapping[str, str], names: list[str]) -> int:
    """How many of these nodes have a staged catalog that differs from a compile without any cache."""
    store = FileStore(TextTree(files))
    staged = await compiling.database.read(compiling.catalogs.staged.find, names)
    different = 0
    for known in await compiling.database.read(compiling.inputs.read, names):
        cold = compile_catalog(Inputs(NodeAnswers(node_data(known), store)), Settings())
        different += cold.body.digest() != staged[known.node].skeleton
    return different


async def measure_flapping(compiling: CompileServices, fleet: Fleet) -> tuple[float, float, int]:
    """Milliseconds from facts to decision for nodes that change once, without and with a hundred nodes that flap, and the number of sets
    that those have sent.

    Everything runs as in a server, in one process with the load. The sets of the flapping nodes are built in advance, and each node sends
    one set a second.
    """
    calm_names, beside_names = (
        fleet.names[FLAPPING : FLAPPING + MEASURED],
        fleet.names[FLAPPING + MEASURED :][:MEASURED],
    )
    serving: list[asyncio.Task[None]] = [
        asyncio.create_task(compiling.facts.run("f")),
        asyncio.create_task(compiling.decisions.run("d")),
        asyncio.create_task(compiling.compiler.run("c")),
    ]
    calm = [await _latency(compiling, fleet, name) for name in calm_names]
    flapped, is_used_up = [0], asyncio.Event()
    serving.append(asyncio.create_task(_flap(fleet, flapped, is_used_up)))
    await is_used_up.wait()
    beside = [await _latency(compiling, fleet, name) for name in beside_names]
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)
    await compiling.settle()
    return statistics.median(calm), statistics.median(beside), flapped[0]


async def _flap(fleet: Fleet, flapped: list[int], is_used_up: asyncio.Event) -> None:
    """Let a hundred nodes send a set every second, each time with another value of a fact that the code reads.

    Sets the event when each of them has used up its budget of compiles.
    """
    names = fleet.names[:FLAPPING]
    bodies = [[fleet.body(name, os=other) for other in OTHERS] for name in names]
    while True:
        for name, pair in zip(names, bodies, strict=True):
            await fleet.compiling.facts.submit(name, pair[flapped[0] // FLAPPING % 2])
            flapped[0] += 1
            await asyncio.sleep(1 / FLAPPING)
        if flapped[0] >= FLAPS_BEFORE * FLAPPING:
            is_used_up.set()


async def _latency(compiling: CompileServices, fleet: Fleet, name: str) -> float:
    """Milliseconds until the server has decided about a node whose `os` fact, which the code reads, has changed."""
    body = fleet.body(name, os=OTHERS[1])
    started_s = time.perf_counter()
    await compiling.facts.submit(name, body)
    while True:
        (known,) = await compiling.database.read(compiling.inputs.read, [name])
        if known.facts["os"] == OTHERS[1] and known.facts_digest == (await compiling.staged(name)).facts:
            return (time.perf_counter() - started_s) * 1e3
        await asyncio.sleep(0.0005)


def compiles_without_holes(known: Sequence[NodeInput], files: Mapping[str, str]) -> tuple[int, int]:
    """How many compiles these nodes need: with holes for names and addresses, and without holes."""
    store = FileStore(TextTree(files))
    needed = []
    for settings in (Settings(), Settings(identity_facts=(), identity_trusted=())):
        traces = set()
        for node_input in known:
            inputs = Inputs(NodeAnswers(node_data(node_input), store))
            compile_catalog(inputs, settings)
            traces.add(encode_links(tuple(make_link(read.question, read.answer) for read in inputs.trace)))
        needed.append(len(traces))
    return needed[0], needed[1]


async def main_async(is_quick: bool) -> None:
    size = QUICK if is_quick else FULL
    with tempfile.TemporaryDirectory() as name:
        database = await connect(SqliteLocation(Path(name) / "precast.db"), may_create=True)
        await Schema(database).expand()
        compiling = CompileServices(database)
        try:
            await measure(compiling, size, is_quick)
        finally:
            await compiling.close()
            await database.close()


async def measure(compiling: CompileServices, size: Size, is_quick: bool) -> None:
    fleet, files = Fleet(compiling, size.nodes), code()
    rows: list[tuple[str, int, float]] = []
    await compiling.deploy(files)
    await fleet.introduce()
    await fleet.submit(fleet.names)
    first, first_s = await timed(compiling)
    distinct = len(set((await skeletons(compiling, fleet.names)).values()))
    rows.append((f"first, {distinct} distinct skeletons", first, first_s))
    await release_all(compiling)

    await fleet.submit(fleet.names, tick=1)
    volatile, seconds = await timed(compiling)
    rows.append(("only uptime and memory changed", volatile, seconds))
    before = compiling.compiler.compiles
    for node in fleet.names * 2:
        await compiling.downloads.fetch(node, "")
    poll = compiling.compiler.compiles - before
    rows.append(("every agent has fetched twice", poll, 0.0))

    changed = {**files, "data/common.yaml": files["data/common.yaml"] + "nobody::reads: this\n"}
    await compiling.deploy(changed)
    unread, seconds = await timed(compiling)
    rows.append(("an unread key of common.yaml", unread, seconds))

    template = "modules/profile3/templates/config.epp"
    readers = {
        skeleton
        for name, skeleton in (await skeletons(compiling, fleet.names)).items()
        if 3 in ROLES[role_of(fleet.names.index(name))].profiles
    }
    changed = {**changed, template: files[template] + "# one line more\n"}
    await compiling.deploy(changed)
    module, seconds = await timed(compiling)
    rows.append((f"a template that {len(readers)} skeletons read", module, seconds))

    names = random.Random(SEED).sample(fleet.names, min(CHECKED, len(fleet.names)))
    different = await cold_differences(compiling, changed, names)
    us, reads = await walk_us(compiling, names)
    known = await compiling.database.read(compiling.inputs.read, names)
    with_holes, without_holes = await asyncio.to_thread(compiles_without_holes, known, changed)
    calm_ms, beside_ms, flaps = await measure_flapping(compiling, fleet)
    for version in range(size.versions - 3):
        template = f"modules/profile{version % PROFILES}/templates/config.epp"
        changed = {**changed, template: changed[template] + f"# version {version}\n"}
        await compiling.deploy(changed)
        await compiling.settle()
    chains, link_bytes, leaf_bytes = await compiling.traces.measure("production")

    print_rows(["what changed", "compiles", "seconds"], rows)
    print(f"\n{len(names)} random nodes against a cold compile: {different} differ")
    print(
        f"a walk: {us:.0f} µs for {reads:.0f} reads; the tree: {chains} rows, {(link_bytes + leaf_bytes) / 1024:.0f} KB"
    )
    print(f"{len(names)} random nodes need {with_holes} compiles with holes, {without_holes} without")
    print(
        f"facts to decision: {calm_ms:.1f} ms, beside {FLAPPING} nodes that flap every second"
        f" ({flaps} sets of theirs) {beside_ms:.1f} ms"
    )
    if different:
        raise SystemExit("staged catalogs differ from a cold compile")
    figures = {
        "nodes": size.nodes,
        "compiles": {what: count for what, count, _ in rows},
        "seconds": {what: round(seconds, 2) for what, _, seconds in rows},
        "distinct_skeletons": distinct,
        "cold_compared": len(names),
        "cold_different": different,
        "walk_reads": round(reads),
        "compiles_of_sample": {"nodes": len(names), "with_holes": with_holes, "without_holes": without_holes},
        "decision_ms": {"calm": round(calm_ms, 2), "beside_flapping": round(beside_ms, 2), "sets_flapped": flaps},
        "tree": {"versions": size.versions, "rows": chains, "bytes": link_bytes + leaf_bytes},
    }
    per_reads = us / reads * 300
    goals = [
        Goal("sharing-first", round(first / distinct, 3), 1.2, first / distinct <= 1.2),
        Goal("sharing-volatile", volatile, 0, volatile == 0),
        Goal("sharing-poll", poll, 0, poll == 0),
        Goal("sharing-unread-key", unread, 0, unread == 0),
        Goal("sharing-module", module, len(readers), module <= len(readers)),
        Goal("sharing-flap", round(beside_ms / calm_ms, 2), 1.5, beside_ms / calm_ms <= 1.5),
        Goal("walk-us", round(per_reads, 1), 500, per_reads <= 500),
    ]
    finish("sharing", is_quick, figures, goals)


def main() -> None:
    asyncio.run(main_async(parse_quick(__doc__)))


if __name__ == "__main__":
    main()
