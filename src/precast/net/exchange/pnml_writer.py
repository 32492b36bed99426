"""Writes a net as PNML (ISO 15909-2, place/transition nets).

What is written is the plain net (see `plain`), so that other tools run it and reach the same markings. What plain nets lack (steps, limits,
outcomes, durations, priorities) goes along as the net's own notation in a `toolspecific` element, from which `pnml_reader` restores the
original, provided that nobody changed the plain net in between.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from precast.base.spans import visible
from precast.net.exchange.writer import write
from precast.net.model.plain import firing_name, firings
from precast.net.model.structure import Net

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
PT_NET = "http://www.pnml.org/version-2009/grammar/ptnet"
TOOL, TOOL_VERSION = "precast", "1"


def write_pnml(net: Net) -> str:
    """The PNML text. Places are p0, p1, … and transitions t0, t1, … in the order of the net's numbers."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<pnml xmlns="{NAMESPACE}">',
        f'  <net id="net" type="{PT_NET}">',
        f"    {_name(net.declared.name)}",
        f'    <toolspecific tool="{TOOL}" version="{TOOL_VERSION}">',
        f"      <notation>{escape(write(net.declared))}</notation>",
        "    </toolspecific>",
        '    <page id="page">',
        *(f"      {line}" for line in _objects(net)),
        "    </page>",
        "  </net>",
        "</pnml>",
    ]
    return "\n".join(lines) + "\n"


def _objects(net: Net) -> Iterator[str]:
    for p, tokens in enumerate(net.initial):
        marking = f"<initialMarking><text>{tokens}</text></initialMarking>" if tokens else ""
        yield f'<place id="p{p}">{_name(net.place_name(p))}{marking}</place>'
    arcs = []
    for f, firing in enumerate(firings(net)):
        yield f'<transition id="t{f}">{_name(firing_name(net, firing))}</transition>'
        arcs += [(f"p{p}", f"t{f}", weight) for p, weight in firing.takes]
        arcs += [(f"t{f}", f"p{p}", weight) for p, weight in firing.gives]
    for number, (source, target, weight) in enumerate(arcs):
        inscription = f"<inscription><text>{weight}</text></inscription>" if weight > 1 else ""
        yield f'<arc id="a{number}" source="{source}" target="{target}">{inscription}</arc>'


def _name(text: str) -> str:
    return f"<name><text>{escape(visible(text))}</text></name>"
