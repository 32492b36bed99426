"""Writes a net as PNML (ISO 15909-2, place/transition nets).

The file has the plain net (see `plain_net`), so that other tools can run it and reach the same markings. The parts that plain nets lack
(steps, limits, outcomes, durations, priorities) are in a `toolspecific` element, in the net's own notation. `pnml_reader` restores the
original from that element, unless the plain net was changed since.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from precast.base.spans import visible
from precast.net.exchange.notation_writer import write
from precast.net.model.plain_net import firing_name, list_firings
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
    for f, firing in enumerate(list_firings(net)):
        yield f'<transition id="t{f}">{_name(firing_name(net, firing))}</transition>'
        arcs += [(f"p{p}", f"t{f}", weight) for p, weight in firing.takes]
        arcs += [(f"t{f}", f"p{p}", weight) for p, weight in firing.gives]
    for number, (source, target, weight) in enumerate(arcs):
        inscription = f"<inscription><text>{weight}</text></inscription>" if weight > 1 else ""
        yield f'<arc id="a{number}" source="{source}" target="{target}">{inscription}</arc>'


def _name(text: str) -> str:
    return f"<name><text>{escape(visible(text))}</text></name>"
