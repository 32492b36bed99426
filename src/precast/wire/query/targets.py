"""Targets: which nodes are meant. A name, a glob, a list of both, or a query over what is known of the nodes.

    web1.example.com, db*.example.com
    role = 'db' and not (environment = 'test' or facts.os.family = 'Debian')

What stands on the left is a field; `facts` are the node's claims, everything else is known by the server. The same terms ask for
resources, where a reference such as Package[nginx] stands for a name; `has` brings both together. The page
docs/explanation/targets.md says it all once. A name that is asked for by itself must exist.
"""

from collections.abc import Iterator

import msgspec

from precast.base.spans import Span


class Field(msgspec.Struct, frozen=True):
    """What is asked for: `parts` as they are written, without dots."""

    span: Span
    parts: tuple[str, ...]

    @property
    def is_claim(self) -> bool:
        return self.parts[0] == "facts"

    def __str__(self) -> str:
        return ".".join(self.parts)


class Value(msgspec.Struct, frozen=True):
    """What it is compared with. A number or truth only if it is not quoted."""

    span: Span
    value: str | int | float | bool


class Named(msgspec.Struct, frozen=True):
    """A node's name, or a glob over names."""

    span: Span
    text: str
    is_glob: bool


class Referred(msgspec.Struct, frozen=True):
    """A resource by its type and title; `*` and `?` in the title make it a glob."""

    span: Span
    type: str
    title: str
    is_glob: bool


class Has(msgspec.Struct, frozen=True):
    """A node whose released catalog holds such a resource."""

    span: Span
    resource: "Term"


class Comparison(msgspec.Struct, frozen=True):
    """A field compared with a value."""

    span: Span
    field: Field
    sign: str
    value: Value


class Membership(msgspec.Struct, frozen=True):
    """A field that has one of some values."""

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


Term = Named | Referred | Has | Comparison | Membership | Existence | Not | And | Or


def walk(term: Term) -> Iterator[Term]:
    """The term and everything in it that is about the same thing: what a node has is not looked into."""
    waiting = [term]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, And | Or):
            waiting += one.terms
        elif isinstance(one, Not):
            waiting.append(one.term)


def rests_on_claims(term: Term) -> bool:
    """Whether the answer depends on facts."""
    return any(isinstance(one, Comparison | Membership | Existence) and one.field.is_claim for one in walk(term))


def is_list_of_names(term: Term) -> bool:
    """Whether it is nothing but names."""
    return all(isinstance(one, Or) or (isinstance(one, Named) and not one.is_glob) for one in walk(term))


def plain_names(term: Term) -> list[str]:
    """The names that are asked for by themselves, outside of any condition."""
    if isinstance(term, Or):
        return [name for one in term.terms for name in plain_names(one)]
    return [term.text] if isinstance(term, Named) and not term.is_glob else []
