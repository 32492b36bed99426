"""Reads PNML: place/transition nets of any tool, and our own exports without loss.

Pages are flattened and reference nodes followed; graphics and other tools' data are ignored. Anything that would change how the net
behaves and that a place/transition net does not have (arc types, coloured inscriptions) is an error, never dropped.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.net import issues
from precast.net.exchange.notation import parse
from precast.net.exchange.pnml_writer import PT_NET, TOOL, TOOL_VERSION
from precast.net.exchange.xml_tree import Element, read_tree
from precast.net.model.compiler import MOST, compile_net, read_count
from precast.net.model.declarations import NetDeclaration, Place, Transition
from precast.net.model.plain_net import list_firings
from precast.net.model.structure import Net

# Types of place/transition nets in the standard and before it. A file without a type is read as one.
PT_TYPES = {
    "",
    PT_NET,
    "http://www.pnml.org/version-2009/grammar/pnmlcoremodel",
    "http://www.informatik.hu-berlin.de/top/pntd/ptNetb",
    "http://www.informatik.hu-berlin.de/top/ptNetb",
}
NODES = {"place", "transition", "referencePlace", "referenceTransition"}


def read_pnml(path: str, data: bytes) -> Net:
    """The net in a PNML file. Raises InputError NET-020 to NET-023."""
    source = Source(path, data.decode("utf-8", "replace"))
    return _Reader(source, read_tree(source, data)).read()


class _Structure(NamedTuple):
    """A plain net, keyed by the ids of its file."""

    tokens: dict[str, int]
    takes: dict[str, Counter[str]]
    gives: dict[str, Counter[str]]


class _Reader:
    def __init__(self, source: Source, root: Element) -> None:
        self._source = source
        self._root = root
        self._nodes: dict[str, Element] = {}
        self._arcs: list[Element] = []

    def read(self) -> Net:
        net = self._only_net()
        for element in _objects(net):
            if element.tag == "arc":
                self._arcs.append(element)
            elif self._nodes.setdefault(self._attribute(element, "id"), element) is not element:
                self._fail(element, f"the id {element.attributes['id']} occurs twice")
        structure = self._structure()
        return _original(net, structure) or self._plain_net(net, structure)

    def _only_net(self) -> Element:
        nets = self._root.all("net")
        if self._root.tag != "pnml" or len(nets) != 1:
            self._fail(
                self._root, f"<{self._root.tag}> holds {len(nets)} nets, not one", "give each net a file of its own"
            )
        kind = nets[0].attributes.get("type", "")
        if kind not in PT_TYPES:
            raise issues.WRONG_NET_TYPE.error(self._source, nets[0].span, type=kind)
        return nets[0]

    def _structure(self) -> _Structure:
        tokens, takes, gives = {}, {}, {}
        for name, node in self._nodes.items():
            if node.tag == "place":
                tokens[name] = self._count(node, "initialMarking", 0)
            elif node.tag == "transition":
                takes[name], gives[name] = Counter[str](), Counter[str]()
        for arc in self._arcs:
            source, target = (self._resolve(arc, self._attribute(arc, end)) for end in ("source", "target"))
            self._require_plain(arc)
            weight = self._count(arc, "inscription", 1)
            if source in tokens and target in takes:
                takes[target][source] += weight
            elif source in gives and target in tokens:
                gives[source][target] += weight
            else:
                self._fail(arc, "an arc joins two nodes of the same kind")
        return _Structure(tokens, takes, gives)

    def _require_plain(self, arc: Element) -> None:
        kind = arc.first("type") or arc.first("arctype")
        word = "normal" if kind is None else kind.attributes.get("value") or _text(kind) or "normal"
        if word != "normal":
            self._fail(
                arc,
                f"an arc is of type {word}",
                "replace such arcs by plain ones; a read arc is one there and one back",
            )

    def _resolve(self, arc: Element, name: str) -> str:
        """The node that an id stands for, through references."""
        seen = set()
        while (node := self._nodes.get(name)) is not None and node.tag.startswith("reference"):
            if name in seen:
                self._fail(node, f"the references of {name} form a cycle")
            seen.add(name)
            name = self._attribute(node, "ref")
        if node is None:
            self._fail(arc, f"node {name} does not exist")
        return name

    def _count(self, element: Element, label: str, default: int) -> int:
        child = element.first(label)
        if child is None:
            return default
        text = _text(child)
        least = default
        if (number := read_count(text, least)) is None:
            reason = f"{label} {text[:40]!r} is not a number from {least} to {MOST}"
            self._fail(child, reason, "only uncoloured tokens can be read")
        return number

    def _plain_net(self, net: Element, structure: _Structure) -> Net:
        names = self._names(structure.tokens)
        places = tuple(Place(names[key], tokens) for key, tokens in structure.tokens.items())
        titles = self._names(structure.takes)
        transitions = tuple(
            Transition(
                titles[key],
                takes=tuple((names[place], count) for place, count in structure.takes[key].items()),
                gives=tuple((names[place], count) for place, count in structure.gives[key].items()),
            )
            for key in structure.takes
        )
        try:
            return compile_net(NetDeclaration(_title(net) or net.attributes.get("id", "net"), places, transitions))
        except PrecastError as error:
            self._fail(net, error.message, error.hint)

    def _names(self, keys: dict[str, int] | dict[str, Counter[str]]) -> dict[str, str]:
        """A unique name for each id: its label, followed by the id where two nodes share a label."""
        titles = {key: _title(self._nodes[key]) or key for key in keys}
        uses = Counter(titles.values())
        names = {key: title if uses[title] == 1 else f"{title} ({key})" for key, title in titles.items()}
        return names if len(set(names.values())) == len(names) else {key: key for key in keys}

    def _attribute(self, element: Element, name: str) -> str:
        if name not in element.attributes:
            self._fail(element, f"<{element.tag}> has no {name}")
        return element.attributes[name]

    def _fail(self, element: Element, reason: str, hint: str = "check the tool that wrote it") -> NoReturn:
        raise issues.NOT_PNML.error(self._source, element.span, reason=reason, hint=hint)


def _objects(parent: Element) -> Iterator[Element]:
    """All nodes and arcs of a net, those of pages inside pages included."""
    for child in parent.children:
        if child.tag == "page":
            yield from _objects(child)
        elif child.tag in NODES or child.tag == "arc":
            yield child


def _text(label: Element) -> str:
    """The text of a label: in <text>, or in <value> as older tools write it."""
    child = label.first("text") or label.first("value")
    return (child.text if child else label.text).strip()


def _title(element: Element) -> str:
    name = element.first("name")
    return _text(name) if name else ""


def _original(net: Element, structure: _Structure) -> Net | None:
    """The net from which our own export was made; None if the file is not ours, or if its plain net was changed since."""
    for tool in net.all("toolspecific"):
        notation = tool.first("notation")
        if notation and tool.attributes == {"tool": TOOL, "version": TOOL_VERSION}:
            try:
                original = parse(Source("toolspecific", notation.text))
            except PrecastError:
                return None
            return original if _exported(original) == structure else None
    return None


def _exported(net: Net) -> _Structure:
    """The structure of an export of this net."""
    plain = list(enumerate(list_firings(net)))
    return _Structure(
        {f"p{p}": tokens for p, tokens in enumerate(net.initial)},
        {f"t{f}": Counter({f"p{p}": weight for p, weight in firing.takes}) for f, firing in plain},
        {f"t{f}": Counter({f"p{p}": weight for p, weight in firing.gives}) for f, firing in plain},
    )
