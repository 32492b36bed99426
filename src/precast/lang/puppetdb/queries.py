"""A query over the fleet, as a compile asks it and a server answers it.

PQL and AST that mean the same become the same query, so they are one question of a trace.
"""

from typing import Any, Final

import msgspec

from precast.base import canonical

# The first part is a column; further ones are keys of a hash or indexes of an array.
Field = tuple[str | int, ...]


class Comparison(msgspec.Struct, frozen=True, tag="compare"):
    """A field compared with a value: by =, <, <=, >, >= or ~."""

    sign: str
    field: Field
    value: Any


class IsNull(msgspec.Struct, frozen=True, tag="null"):
    """A field that has no value."""

    field: Field


class OneOf(msgspec.Struct, frozen=True, tag="values"):
    """Fields that together have one of several values."""

    fields: tuple[Field, ...]
    values: tuple[tuple[Any, ...], ...]


class InQuery(msgspec.Struct, frozen=True, tag="query"):
    """Fields that together are in the result of another query."""

    fields: tuple[Field, ...]
    query: "Query"


class Not(msgspec.Struct, frozen=True, tag="not"):
    term: "Term"


class And(msgspec.Struct, frozen=True, tag="and"):
    terms: "tuple[Term, ...]"


class Or(msgspec.Struct, frozen=True, tag="or"):
    terms: "tuple[Term, ...]"


Term = Comparison | IsNull | OneOf | InQuery | Not | And | Or


class Column(msgspec.Struct, frozen=True):
    """A column of the result: a field, or a function of a group: count, min, max, sum or avg."""

    field: Field = ()
    function: str = ""

    @property
    def name(self) -> str:
        return self.function or ".".join(map(str, self.field))


class Order(msgspec.Struct, frozen=True):
    """A column by which the result is sorted."""

    column: Column
    is_descending: bool = False


class Query(msgspec.Struct, frozen=True):
    """The rows of an entity that match, without columns all of the entity's."""

    entity: str
    where: Term | None = None
    columns: tuple[Column, ...] = ()
    group_by: tuple[Field, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0


def encode_query(query: Query) -> str:
    """The query as canonical JSON: the form in which it is asked."""
    return canonical.encode(query).decode()


def decode_query(text: str) -> Query:
    """Raises ValueError."""
    return _decoder.decode(text)


_decoder = msgspec.json.Decoder(Query)

FUNCTIONS: Final = ("count", "avg", "max", "min", "sum")
_NODE: Final = ("certname", "environment")
# The columns of each entity, and those of its columns whose contents a field may name.
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "nodes": ("certname", "catalog_environment", "facts_environment", "deactivated", "expired"),
    "facts": (*_NODE, "name", "value"),
    "fact_contents": (*_NODE, "name", "path", "value"),
    "inventory": (*_NODE, "facts", "trusted"),
    "resources": (*_NODE, "type", "title", "tags", "exported", "parameters"),
}
NESTED: Final[dict[str, tuple[str, ...]]] = {
    "nodes": (),
    "facts": ("value",),
    "fact_contents": (),
    "inventory": ("facts", "trusted"),
    "resources": ("parameters",),
}
# Conditions may also name these: one tag of a resource, and a fact of a node.
CONDITIONS: Final = {"resources": ("tag",), "nodes": ("fact",)}
