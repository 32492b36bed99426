"""How fast the net kernel builds, runs and checks a large layered graph, compared with libraries that sort one.

    .venv/bin/python bench/net.py [--quick]

The graph has layers of 1,000 steps, each of which needs two or three steps of the previous layer. Times are wall time of the fastest of
several rounds.
The full run writes bench/results/net.json; the quick one (under a minute) writes nothing.
"""

import gc
import graphlib
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

from bench.report import Goal, finish, parse_quick, print_rows
from precast.net.analysis.check import check
from precast.net.analysis.deadlock import Verdict, search
from precast.net.analysis.search import SearchLimits
from precast.net.execution.execution import Execution
from precast.net.model.builder import Builder
from precast.net.model.declarations import Outcome
from precast.net.model.structure import Net

LAYER = 1_000
SEED = 4
TARGET_US, TARGET_CHECK_S = 10, 2
Graph = list[tuple[str, tuple[str, ...]]]


def layered(count: int, seed: int = SEED) -> Graph:
    chance = random.Random(seed)
    width = min(LAYER, count // 10)
    graph: Graph = []
    above: list[str] = []
    for layer in range(count // width):
        names = [f"Step[{layer}/{n}]" for n in range(width)]
        graph += [(name, tuple(chance.sample(above, chance.choice((2, 3)))) if above else ()) for name in names]
        above = names
    return graph


def best(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the fastest round, and its return value."""
    least, result = float("inf"), None
    for _ in range(rounds):
        result = None
        gc.collect()
        started = time.perf_counter()
        result = work()
        least = min(least, time.perf_counter() - started)
    return least, result


def build(graph: Graph, limit: int = 0) -> Net:
    builder = Builder()
    holds = ["slots"] if limit else []
    if limit:
        builder.limit("slots", limit)
    for name, needs in graph:
        builder.step(name, needs, holds)
    return builder.build()


def run(net: Net, failing: int = -1) -> Execution:
    execution = Execution(net)
    while (t := execution.start_next()) is not None:
        execution.finish(t, Outcome.FAILURE if t == failing else Outcome.SUCCESS)
    assert execution.ended_count == len(net.declared.transitions)
    return execution


def order_with_graphlib(graph: Graph) -> None:
    sorter = graphlib.TopologicalSorter(dict(graph))
    sorter.prepare()
    while sorter.is_active():
        sorter.done(*sorter.get_ready())


def order_with_networkx(graph: Graph) -> None:
    import networkx  # type: ignore[import-not-found,import-untyped,unused-ignore]

    digraph = networkx.DiGraph((needed, name) for name, needs in graph for needed in needs)
    assert sum(1 for _ in networkx.topological_sort(digraph)) == len(graph)


def run_with_snakes(graph: Graph) -> None:
    """Build the same net in SNAKES with a place for each need, and fire enabled transitions until none is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from snakes import nets  # type: ignore[import-untyped,unused-ignore]
    net = nets.PetriNet("layered")
    for name, _ in graph:
        net.add_transition(nets.Transition(name))
        net.add_place(nets.Place(f"{name} to do", [nets.dot]))
        net.add_input(f"{name} to do", name, nets.Value(nets.dot))
    for name, needs in graph:
        for needed in needs:
            net.add_place(nets.Place(f"{needed} {name}"))
            net.add_output(f"{needed} {name}", needed, nets.Value(nets.dot))
            net.add_input(f"{needed} {name}", name, nets.Value(nets.dot))
    left = [net.transition(name) for name, _ in graph]
    while left:
        waiting = []
        for transition in left:
            if modes := transition.modes():
                transition.fire(modes[0])
            else:
                waiting.append(transition)
        left = waiting


def philosophers(count: int) -> Net:
    """Dining philosophers who take the left fork, then the right one: a deadlock at the end of the state space."""
    builder = Builder()
    for n in range(count):
        builder.place(f"fork {n}", 1)
        builder.place(f"thinks {n}", 1)
        builder.place(f"waits {n}")
    for n in range(count):
        right = f"fork {(n + 1) % count}"
        builder.transition(f"left {n}", takes=[f"thinks {n}", f"fork {n}"], gives=[f"waits {n}"])
        builder.transition(f"eat {n}", takes=[f"waits {n}", right], gives=[f"thinks {n}", f"fork {n}", right])
    return builder.build()


def measure(count: int, rounds: int) -> tuple[list[tuple[str, int, float, str]], dict[str, float]]:
    """Rows of the table (what, size, seconds, note), and the figures for the goals."""
    graph = layered(count)
    whole_s, _ = best(rounds, lambda: run(build(graph)))
    build_s, net = best(rounds, lambda: build(graph))
    run_s, execution = best(rounds, lambda: run(net))
    limited = build(graph, limit=8)
    limited_s, _ = best(rounds, lambda: run(limited))
    failed_s, _ = best(rounds, lambda: run(net, failing=0))
    check_s, report = best(rounds, lambda: check(net))
    assert report.is_sound
    assert report.deadlock.verdict == Verdict.FREE
    store_s, snapshot = best(rounds, execution.snapshot)
    restore_s, _ = best(1, lambda: Execution.restore(net, snapshot))
    graphlib_s, _ = best(rounds, lambda: order_with_graphlib(graph))
    rows = [
        ("precast: build and run", count, whole_s, "goal net-us"),
        ("precast: build", count, build_s, ""),
        ("precast: run", count, run_s, ""),
        ("precast: run, 8 at once", count, limited_s, "a limit that every step holds"),
        ("precast: run, first step fails", count, failed_s, "what needs it is skipped"),
        ("precast: check", count, check_s, "goal net-check-s"),
        ("precast: snapshot", count, store_s, "the digest of the net is known"),
        ("precast: restore", count, restore_s, ""),
        ("graphlib: build and order", count, graphlib_s, "no outcomes, limits, priorities, checks"),
    ]
    return rows, {
        "us_per_transition": whole_s / count * 1e6,
        "check_s": check_s,
        "graphlib_us": graphlib_s / count * 1e6,
    }


def measure_peers(count: int) -> list[tuple[str, int, float, str]]:
    graph = layered(count)
    rows = [("precast: build and run", count, best(3, lambda: run(build(graph)))[0], "at the size of the next")]
    for name, work in (("SNAKES: build and run", run_with_snakes), ("networkx: build and order", order_with_networkx)):
        try:
            rows.append((name, count, best(1, lambda work=work: work(graph))[0], ""))  # type: ignore[misc]
        except ImportError:
            print(f"{name}: not installed, left out")
    return rows


def measure_search(count: int) -> tuple[str, int, float, str]:
    net = philosophers(count)
    seconds, answer = best(1, lambda: search(net, SearchLimits(1_000_000)))
    assert answer.verdict == Verdict.FOUND
    return (
        f"precast: deadlock of {count} philosophers",
        net.transition_count,
        seconds,
        f"{answer.states} states looked at",
    )


def main() -> None:
    is_quick = parse_quick(__doc__)
    rows, figures = measure(100_000, 3 if is_quick else 7)
    if not is_quick:
        rows += measure(10_000, 7)[0]
    rows += measure_peers(200 if is_quick else 1_000)
    rows.append(measure_search(6 if is_quick else 8))
    print_rows(
        ["what", "transitions", "seconds", "µs each", "note"],
        [(what, f"{count:,}", f"{seconds:.3f}", seconds / count * 1e6, note) for what, count, seconds, note in rows],
    )
    value_us, check_s = round(figures["us_per_transition"], 2), round(figures["check_s"], 3)
    finish(
        "net",
        is_quick,
        {
            "rows": [
                {"what": what, "transitions": count, "seconds": round(seconds, 4)} for what, count, seconds, _ in rows
            ]
        },
        [
            Goal("net-us", value_us, TARGET_US, value_us <= TARGET_US),
            Goal("net-check-s", check_s, TARGET_CHECK_S, check_s <= TARGET_CHECK_S),
        ],
    )


if __name__ == "__main__":
    main()
