"""Loads, expands, checks and draws Fuel's graphs over a master and other nodes."""

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.plans_cases.fuel import GRAPHS, make_nodes, read_graph
from precast.plans.checks import check_expansion
from precast.plans.drawing.dot import write_dot
from precast.plans.drawing.picture import make_picture
from precast.plans.drawing.svg import write_svg
from precast.plans.expansion import expand
from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import load_plan
from precast.plans.model import PlanNode


class GraphFigures(NamedTuple):
    """A graph: its tasks, tasks on nodes, and the CPU time of each step in milliseconds."""

    name: str
    tasks: int
    instances: int
    load_ms: float
    expand_ms: float
    check_ms: float
    draw_ms: float
    errors: int
    warnings: dict[str, int]  # by code


def measure_corpus(corpus: Path, others: int) -> list[GraphFigures]:
    """Each graph of the corpus as a plan, and all of them as the layers of one."""
    nodes = make_nodes(others)
    graphs = [(name, read_graph(corpus, name)) for name in GRAPHS]
    layers = [text for layer, name in enumerate(GRAPHS) for text in read_graph(corpus, name, layer)]
    return [measure_graph(name, texts, nodes) for name, texts in [*graphs, ("all, as layers", layers)]]


def measure_graph(name: str, texts: Sequence[PlanText], nodes: Sequence[PlanNode]) -> GraphFigures:
    """Load, expand, check and draw a graph, as DOT and as SVG."""
    at_s = [time.process_time()]
    loaded = load_plan(texts, name)
    at_s.append(time.process_time())
    if loaded.plan is None:
        raise SystemExit(f"{name} cannot be loaded: {[error.text for error in loaded.errors[:3]]}")
    expansion = expand(loaded.plan, nodes)
    at_s.append(time.process_time())
    problems = check_expansion(expansion)
    at_s.append(time.process_time())
    picture = make_picture(loaded.plan, expansion.dependencies)
    drawn = write_dot(picture), write_svg(picture)
    assert all(drawn)
    at_s.append(time.process_time())
    load_ms, expand_ms, check_ms, draw_ms = [(later - earlier) * 1e3 for earlier, later in itertools.pairwise(at_s)]
    remarks = [*loaded.warnings, *expansion.warnings, *(problem for problem in problems if not problem.is_error)]
    errors = len(loaded.errors) + sum(problem.is_error for problem in problems)
    return GraphFigures(
        name,
        len(loaded.plan.tasks),
        len(expansion.instances),
        load_ms,
        expand_ms,
        check_ms,
        draw_ms,
        errors,
        dict(sorted(Counter(warning.code for warning in remarks).items())),
    )
