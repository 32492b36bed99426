"""Drawings are complete, escaped and without overlaps, and refuse nets that are too large."""

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.net import issues
from precast.net.drawing.dot import write_dot
from precast.net.drawing.layout import Layout, lay_out
from precast.net.drawing.picture import Picture, PictureLink, make_picture
from precast.net.drawing.svg import write_svg
from precast.net.exchange.notation import parse
from precast.net.model.declarations import NetDeclaration, Transition
from tests.property.net.nets import nets

SVG = "{http://www.w3.org/2000/svg}"
TEXT = """
net "a <b> & \\"c\\""
lock apt
place in = 2
place out capacity 3
step "<script>" 5s
  holds apt
  reads in
step File[/etc/x]
  needs "<script>"
transition t
  takes 2*in
  gives out
  on failure gives in
"""


def picture(text: str = TEXT) -> Picture:
    return make_picture(parse(Source("t", text)).declared)


def test_picture_shows_needs_as_arrows_and_what_is_held_as_tags() -> None:
    shown = picture()
    assert [(node.kind, node.name, node.detail, node.tags) for node in shown.nodes] == [
        ("place", "in", "2", ()),
        ("place", "out", "0/3", ()),
        ("step", "<script>", "5s", ("apt",)),
        ("step", "File[/etc/x]", "", ()),
        ("transition", "t", "", ()),
    ]
    assert [tuple(link) for link in shown.links] == [
        ("read", 0, 2, 1),
        ("need", 2, 3, 1),
        ("arc", 0, 4, 2),
        ("arc", 4, 1, 1),
        ("failure", 4, 0, 1),
    ]


def test_svg_is_well_formed_and_holds_every_name_as_text() -> None:
    root = ElementTree.fromstring(write_svg(picture()))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"<script>", "File[/etc/x]", "in", "out", "t", "apt", "5s"} <= set(texts)
    assert not list(root.iter(f"{SVG}script"))
    assert len(list(root.iter(f"{SVG}path"))) == 3 + len(picture().links)


def test_dot_escapes_what_would_end_its_strings() -> None:
    text = write_dot(picture('net "q\\"\\\\"\nstep "a\\"b\\n"\n'))
    assert text.startswith('digraph "q\\"\\\\" {')
    assert '[label="a\\"b\\n" shape=box' in text


def test_svg_of_a_net_too_large_to_see_is_refused_with_advice() -> None:
    declared = NetDeclaration("big", (), tuple(Transition(f"s{n}", is_step=True) for n in range(301)))
    with pytest.raises(PrecastError) as caught:
        write_svg(make_picture(declared))
    assert issues.TOO_LARGE_TO_DRAW.matches(caught.value)
    assert write_dot(make_picture(declared)).count("label=") == 301


@settings(max_examples=150, deadline=None)
@given(nets(most=8, most_steps=8))
def test_layout_of_a_random_net_has_no_overlaps_and_is_the_same_each_time(declared: NetDeclaration) -> None:
    shown = make_picture(declared)
    sizes = [(40.0 + 3 * n, 20.0 + n) for n in range(len(shown.nodes))]
    limits = [n for n, node in enumerate(shown.nodes) if node.kind == "limit"]
    layout = lay_out(sizes, shown.links, 30, 10, limits)
    assert layout == lay_out(sizes, shown.links, 30, 10, limits)
    for (one, (w1, h1)), (other, (w2, h2)) in itertools.combinations(zip(layout.nodes, sizes, strict=True), 2):
        apart_x = abs(one.x - other.x) >= (w1 + w2) / 2 - 1e-6
        apart_y = abs(one.y - other.y) >= (h1 + h2) / 2 - 1e-6
        assert apart_x or apart_y
    for spot, (width, height) in zip(layout.nodes, sizes, strict=True):
        assert spot.x - width / 2 >= -1e-6
        assert spot.x + width / 2 <= layout.width + 1e-6
        assert spot.y - height / 2 >= -1e-6
        assert spot.y + height / 2 <= layout.height + 1e-6
    ElementTree.fromstring(write_svg(shown))


def rows_of(layout: Layout, column: float) -> list[float]:
    return [point.y for point in layout.nodes if point.x == column]


def test_layout_with_a_limit_continues_a_full_column_in_the_next() -> None:
    links = [PictureLink("need", 0, node) for node in range(1, 8)]
    free = lay_out([(10.0, 10.0)] * 8, links, 5, 5)
    limited = lay_out([(10.0, 10.0)] * 8, links, 5, 5, most=3)
    assert len(rows_of(free, free.nodes[1].x)) == 7
    assert [len(rows_of(limited, column)) for column in sorted({point.x for point in limited.nodes})] == [1, 3, 3, 1]


def test_layout_of_links_that_merge_gives_links_to_one_node_the_same_bends() -> None:
    # 0 → 1 → 2 → 3, and 0 → 3 and 1 → 3 over the columns between.
    links = [PictureLink("need", *pair) for pair in ((0, 1), (1, 2), (2, 3), (0, 3), (1, 3))]
    apart = lay_out([(10.0, 10.0)] * 4, links, 5, 5)
    merged = lay_out([(10.0, 10.0)] * 4, links, 5, 5, merges=True)
    assert [len(bends) for bends in merged.bends] == [0, 0, 0, 4, 2]
    assert merged.bends[3][2:] == merged.bends[4]
    assert apart.bends[3][2:] != apart.bends[4]


def test_layout_draws_long_links_straight_where_nothing_is_in_the_way() -> None:
    chain = [PictureLink("need", node, node + 1) for node in range(5)]
    layout = lay_out([(10.0, 10.0)] * 6, [*chain, PictureLink("need", 0, 5)], 5, 5)
    assert len({round(bend.y, 1) for bend in layout.bends[-1]}) == 1
