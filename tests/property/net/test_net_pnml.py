"""Other tools that run our exports reach the same markings; we read their files, and our own exports without loss."""

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from lxml import etree  # type: ignore[import-untyped]

from precast.base.spans import Source
from precast.net.exchange.notation import parse
from precast.net.exchange.notation_writer import write
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.exchange.pnml_writer import write_pnml
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration
from precast.net.model.plain_net import list_firings
from precast.net.model.structure import Net
from tests.property.net.nets import Reference, nets

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports a module that Python 3.12 dropped
    snakes_nets = pytest.importorskip("snakes.nets")
    snakes_pnml = pytest.importorskip("snakes.pnml")

# SNAKES still uses what Python 3.12 dropped; that is its affair.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

GRAMMAR = Path(__file__).parents[2] / "spec" / "ptnet.rng"
BOUND = 150
ROUNDS = 400
QUICK = settings(max_examples=ROUNDS, deadline=None, suppress_health_check=list(HealthCheck))


def reached_by_snakes(text: str) -> tuple[Any, set[tuple[int, ...]]]:
    """Load PNML with SNAKES and let it fire: the markings it reaches, by place number."""
    net = snakes_pnml.loads(text)
    names = [f"p{p}" for p in range(len(net.place()))]
    graph = snakes_nets.StateGraph(net)
    graph.build()
    markings = set()
    for state in graph:
        graph.goto(state)
        markings.add(tuple(len(graph.net.place(name).tokens) for name in names))
    return net, markings


def reached_by_plain_firing(net: Net) -> set[tuple[int, ...]]:
    plain = [(firing.takes, firing.effect()) for firing in list_firings(net)]
    seen = {tuple(net.initial)}
    work = list(seen)
    while work:
        tokens = work.pop()
        for takes, effect in plain:
            if all(tokens[place] >= count for place, count in takes):
                following = tuple(count + effect.get(place, 0) for place, count in enumerate(tokens))
                if following not in seen:
                    seen.add(following)
                    work.append(following)
    return seen


def test_export_run_by_snakes_reaches_the_same_markings_and_theirs_is_read_back() -> None:
    counts: Counter[str] = Counter()

    @QUICK
    @given(nets())
    def run(declared: NetDeclaration) -> None:
        states = Reference(declared).explore(BOUND)
        if states is None:
            return
        net = compile_net(declared)
        theirs, markings = reached_by_snakes(write_pnml(net))
        at_rest = {tuple(count for _, count in state.tokens) for state in states if not state.running}
        assert {marking[: len(declared.places)] for marking in markings} == at_rest
        read = read_pnml("snakes.pnml", snakes_pnml.dumps(theirs).encode())
        order = [read.places_by_name[f"p{p}"] for p in range(net.place_count)]
        again = {tuple(marking[p] for p in order) for marking in reached_by_plain_firing(read)}
        assert again == markings
        counts["nets"] += 1
        counts["markings"] += len(markings)
        counts["largest"] = max(counts["largest"], len(markings))

    run()
    print(f"\nPNML run by SNAKES: {dict(counts)} of {ROUNDS} nets")
    assert counts["nets"] > ROUNDS // 2


@QUICK
@given(nets(most=6, most_steps=5))
def test_export_of_a_random_net_is_valid_and_its_import_is_the_original(declared: NetDeclaration) -> None:
    text = write_pnml(compile_net(declared)).encode()
    grammar = etree.RelaxNG(etree.parse(GRAMMAR))
    grammar.assertValid(etree.fromstring(text))
    assert read_pnml("net.pnml", text).declared == declared


@QUICK
@given(nets(most=6, most_steps=5))
def test_notation_of_a_random_net_is_read_back_as_the_same_net(declared: NetDeclaration) -> None:
    assert parse(Source("random.net", write(declared))).declared == declared
