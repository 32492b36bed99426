"""Reads untrusted XML into a small tree, with the position of every element.

The reader rejects a document type before it reads anything in it, so no entity is ever defined, expanded or fetched. Depth is bounded, so
callers may recurse through the tree.
"""

import xml.parsers.expat
from dataclasses import dataclass, field

from precast.base.spans import Source, Span
from precast.net import issues

MAX_DEPTH = 100


@dataclass(slots=True)
class Element:
    """An element without its namespace. `text` is all character data directly inside."""

    tag: str
    attributes: dict[str, str]
    span: Span
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["Element"]:
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> "Element | None":
        return next((child for child in self.children if child.tag == tag), None)


def read_tree(source: Source, data: bytes) -> Element:
    """The root element. Raises InputError NET-020 to NET-022, with the position in the source."""
    return _Reader(source, data).read()


class _Reader:
    def __init__(self, source: Source, data: bytes) -> None:
        self._source = source
        self._data = data
        self._open: list[Element] = []
        self._texts: list[list[str]] = []  # of the open elements, in pieces
        self._root: Element | None = None
        self._at = (0, 0)
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def read(self) -> Element:
        try:
            self._parser.Parse(self._data, True)
        except xml.parsers.expat.ExpatError as error:
            reason = xml.parsers.expat.errors.messages.get(error.code, str(error))
            raise issues.NOT_XML.error(self._source, self._span(), reason=reason) from None
        assert self._root is not None, "expat accepts no document without an element"
        return self._root

    def _span(self) -> Span:
        """The parser's position in characters of the source. Counting continues from the last position, so the total work is linear."""
        at_byte = max(self._parser.CurrentByteIndex, self._parser.ErrorByteIndex, 0)
        byte, char = self._at if self._at[0] <= at_byte else (0, 0)
        char += len(self._data[byte:at_byte].decode("utf-8", "replace"))
        self._at = (at_byte, char)
        char = min(char, len(self._source.text))
        return Span(char, char + 1)

    def _doctype(self, *_: object) -> None:
        raise issues.HAS_DOCTYPE.error(self._source, self._span())

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = Element(name.rpartition(":")[2], attributes, self._span())
        if len(self._open) >= MAX_DEPTH:
            raise issues.NOT_PNML.error(
                self._source,
                element.span,
                reason=f"elements are nested deeper than {MAX_DEPTH}",
                hint="flatten its pages",
            )
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)
        self._texts.append([])

    def _end(self, name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)
