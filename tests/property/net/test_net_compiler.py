"""Unit arcs added the short way make the same net as the general way."""

from unittest.mock import patch

import msgspec
from hypothesis import given, settings

from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration, Place, Transition
from precast.net.model.structure import Net
from precast.net.model.unit_arcs import UnitArcs
from tests.property.net.nets import nets


def without_weights(declared: NetDeclaration) -> NetDeclaration:
    """The same net with one token on each arc and no capacities, so that the short way is taken wherever places differ."""

    def arcs(given: tuple[tuple[str, int], ...] | None) -> tuple[tuple[str, int], ...] | None:
        return None if given is None else tuple((name, 1) for name, _ in given)

    def transition(of: Transition) -> Transition:
        return of._replace(
            takes=arcs(of.takes) or (),
            reads=arcs(of.reads) or (),
            holds=arcs(of.holds) or (),
            gives=arcs(of.gives) or (),
            on_failure=arcs(of.on_failure),
            on_skip=arcs(of.on_skip),
        )

    places = tuple(Place(place.name, place.tokens, None, place.is_limit) for place in declared.places)
    return declared._replace(places=places, transitions=tuple(map(transition, declared.transitions)))


def fields_of(net: Net) -> dict[str, object]:
    """Everything that a run reads; the places that an end fills have no order."""
    fields = {name: getattr(net, name) for name in net.__struct_fields__}
    fields["puts"] = [[sorted(places) for places in of_outcome] for of_outcome in net.puts]
    fields["takes"] = [sorted(places) for places in net.takes]
    fields["reads"] = {t: sorted(arcs) for t, arcs in net.reads.items()}
    fields["is_auto"] = bytes(net.is_auto)
    return fields


@settings(max_examples=400)
@given(nets())
def test_short_way_of_the_compiler_makes_the_same_net(declared: NetDeclaration) -> None:
    for variant in (declared, without_weights(declared)):
        short = compile_net(variant)
        with patch.object(UnitArcs, "add", return_value=False):
            general = compile_net(variant)
        assert fields_of(short) == fields_of(general)


def test_short_way_is_taken_for_the_arcs_it_is_meant_for() -> None:
    places = (Place("a", 1), Place("b"), Place("lock", 1, is_limit=True))
    plain = Transition(
        "t", takes=(("a", 1),), reads=(("b", 1),), holds=(("lock", 1),), gives=(("b", 1),), on_failure=()
    )
    net = compile_net(NetDeclaration("n", places, (plain,)))
    assert msgspec.structs.asdict(net)["takes"] == [(0, 2)]
    assert UnitArcs(compile_net(NetDeclaration("n", places, ()))).add(0, plain._replace(takes=(("a", 2),))) is False
