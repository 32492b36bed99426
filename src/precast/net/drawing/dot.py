"""Draws a net as DOT, for Graphviz and every viewer that reads it."""

from precast.net.drawing.picture import Picture, PictureLink, PictureNode

_SHAPES = {
    "step": 'shape=box style="rounded,filled" fillcolor="#e8f1fb"',
    "transition": 'shape=box style=filled fillcolor="#eeeeee"',
    "place": "shape=ellipse",
    "limit": "shape=ellipse peripheries=2",
}
_LINES = {
    "need": "",
    "arc": "",
    "read": "dir=both arrowtail=odot arrowhead=odot style=dotted",
    "failure": 'color="#b3261e" style=dashed',
    "skip": 'color="#8a6d00" style=dashed',
}


def write_dot(picture: Picture) -> str:
    """The DOT text of a picture."""
    lines = [f"digraph {quoted(picture.name)} {{", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    lines += [f"  n{n} [label={quoted(_label(node))} {_SHAPES[node.kind]}];" for n, node in enumerate(picture.nodes)]
    lines += [f"  n{link.source} -> n{link.target} [{_line(link)}];" for link in picture.links]
    return "\n".join([*lines, "}"]) + "\n"


def _label(node: PictureNode) -> str:
    holds = "holds " + ", ".join(node.tags) if node.tags else ""
    return "\n".join(part for part in (node.name, node.detail, holds) if part)


def _line(link: PictureLink) -> str:
    weight = f"label={link.weight}" if link.weight > 1 else ""
    return " ".join(part for part in (weight, _LINES[link.kind]) if part)


def quoted(text: str) -> str:
    """A text as a string of DOT."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", " ") + '"'
