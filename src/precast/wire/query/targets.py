"""The terms of targets. A target selects nodes by a name, a glob, a list of both, or a query over data of the nodes.

    web1.example.com, db*.example.com
    role = 'db' and not (environment = 'test' or facts.os.family = 'Debian')

The left side of a comparison is a field; `facts` are claims of the node, all other fields are known to the server. The same terms select
resources, where a reference such as Package[nginx] takes the place of a name; `has` combines both. docs/explanation/targets.md describes
the whole language. A name outside of any condition must exist.
"""

from collections.abc import Iterator

import msgspec

from precast.base.spans import Span


class Field(msgspec.Struct, frozen=True):
    """A field: its `parts` as they are written, without dots."""

    span: Span
    parts: tuple[str, ...]

    @property
    def is_claim(self) -> bool:
        return self.parts[0] == "facts"

    def __str__(self) -> str:
        return ".".join(self.parts)


class Value(msgspec.Struct, frozen=True):
    """The value of a comparison. Only an unquoted value is a number or boolean."""

    span: Span
    value: str | int | float | bool


class NodeName(msgspec.Struct, frozen=True):
    """A node's name, or a glob over names."""

    span: Span
    text: str
    is_glob: bool


class ResourceReference(msgspec.Struct, frozen=True):
    """A resource by its type and title; `*` and `?` in the title make it a glob."""

    span: Span
    type: str
    title: str
    is_glob: bool


class HasResource(msgspec.Struct, frozen=True):
    """A node whose released catalog contains a matching resource."""

    span: Span
    resource: "Term"


class Comparison(msgspec.Struct, frozen=True):
    """A field compared with a value."""

    span: Span
    field: Field
    sign: str
    value: Value


class Membership(msgspec.Struct, frozen=True):
    """A field that has one of several values."""

    span: Span
    field: Field
    values: tuple[Value, ...]


class Existence(msgspec.Struct, frozen=True):
    """A field that has a value."""

    span: Span
    field: Field


class Not(msgspec.Struct, frozen=True):
    span: Span
    term: "Term"


class And(msgspec.Struct, frozen=True):
    span: Span
    terms: "tuple[Term, ...]"


class Or(msgspec.Struct, frozen=True):
    span: Span
    terms: "tuple[Term, ...]"


Term = NodeName | ResourceReference | HasResource | Comparison | Membership | Existence | Not | And | Or


def walk(term: Term) -> Iterator[Term]:
    """Yield the term and its parts, but not the resource condition inside `has`."""
    waiting = [term]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, And | Or):
            waiting += part.terms
        elif isinstance(part, Not):
            waiting.append(part.term)


def rests_on_claims(term: Term) -> bool:
    """Whether the result depends on facts."""
    return any(isinstance(part, Comparison | Membership | Existence) and part.field.is_claim for part in walk(term))


def is_list_of_names(term: Term) -> bool:
    """Whether the term consists of names only."""
    return all(isinstance(part, Or) or (isinstance(part, NodeName) and not part.is_glob) for part in walk(term))


def plain_names(term: Term) -> list[str]:
    """List the names that stand outside of any condition."""
    if isinstance(term, Or):
        return [name for part in term.terms for name in plain_names(part)]
    return [term.text] if isinstance(term, NodeName) and not term.is_glob else []
