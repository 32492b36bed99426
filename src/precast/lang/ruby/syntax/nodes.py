"""The tree of Ruby code. Operators, indexing and attribute reads are calls, as in Ruby."""

from typing import Any

import msgspec

from precast.base.spans import Span


class Node(msgspec.Struct, frozen=True):
    """The base of all nodes: every node has a position."""

    span: Span


class Literal(Node, frozen=True):
    value: Any


class Text(Node, frozen=True):
    """Text between the tags of a template."""

    text: str


class Output(Node, frozen=True):
    """`<%= … %>`: writes a value to the output of a template."""

    value: Node


class Interpolation(Node, frozen=True):
    """A string, symbol or pattern with code in it."""

    kind: str
    pieces: tuple[Node, ...]
    flags: str = ""


class ArrayLiteral(Node, frozen=True):
    items: tuple[Node, ...]


class HashLiteral(Node, frozen=True):
    pairs: tuple[tuple[Node, Node], ...]


class RangeLiteral(Node, frozen=True):
    first: Node
    last: Node
    is_exclusive: bool


class Name(Node, frozen=True):
    """A local variable, or a method without arguments."""

    name: str


class Ivar(Node, frozen=True):
    name: str


class Global(Node, frozen=True):
    name: str


class Const(Node, frozen=True):
    name: str


class Splat(Node, frozen=True):
    value: Node


class Self(Node, frozen=True):
    """`self`."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a block or method: a name, or several names in parentheses.

    It may have a default, take the rest (`*`), be named (`name:`), take all further named ones (`**`), or be the block (`&`).
    """

    name: str = ""
    inner: "tuple[Parameter, ...]" = ()
    default: Node | None = None
    is_rest: bool = False
    is_key: bool = False
    is_key_rest: bool = False
    is_block: bool = False


class Block(Node, frozen=True):
    """`{ |a| … }`, `do … end`, `->(a) { … }`."""

    parameters: tuple[Parameter, ...]
    body: Node
    is_lambda: bool = False  # `return` ends it


class MethodDefinition(Node, frozen=True):
    """`def name(a) … end`, or `def self.name`: defines a method until the run ends."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Node
    is_of_self: bool = False


class ClassDefinition(Node, frozen=True):
    """`class Name < Parent … end`, `module Name … end`, or `class << self … end`, whose name is empty."""

    name: str
    parent: Node | None
    body: Node
    is_module: bool = False


class Yield(Node, frozen=True):
    args: tuple[Node, ...]


class Super(Node, frozen=True):
    """`super(…)`; without parentheses, which is None here, it passes the arguments of the method on."""

    args: tuple[Node, ...] | None


class Call(Node, frozen=True):
    receiver: Node | None
    name: str
    args: tuple[Node, ...] = ()
    block: Node | None = None  # a Block, or the value that `&` passes
    is_safe: bool = False


class And(Node, frozen=True):
    left: Node
    right: Node


class Or(Node, frozen=True):
    left: Node
    right: Node


class Not(Node, frozen=True):
    value: Node


class Defined(Node, frozen=True):
    value: Node


class If(Node, frozen=True):
    condition: Node
    then: Node
    otherwise: Node | None


class While(Node, frozen=True):
    condition: Node
    body: Node
    is_until: bool
    is_after: bool = False  # `begin … end while`, whose body runs once in any case


class For(Node, frozen=True):
    parameters: tuple[Parameter, ...]
    items: Node
    body: Node


class When(msgspec.Struct, frozen=True):
    values: tuple[Node, ...]
    body: Node


class Case(Node, frozen=True):
    subject: Node | None
    whens: tuple[When, ...]
    otherwise: Node | None


class Assign(Node, frozen=True):
    """An assignment to a Name, an Ivar, a Global, a Const, an element or an attribute. `operator` is set for `+=` and the like."""

    target: Node
    value: Node
    operator: str = ""


class Targets(Node, frozen=True):
    """Targets in parentheses inside of others: `a, (b, c) = …`."""

    targets: tuple[Node, ...]


class AssignMany(Node, frozen=True):
    targets: tuple[Node, ...]
    value: Node


class Jump(Node, frozen=True):
    """`next`, `break`, `return` or `retry`."""

    kind: str
    value: Node | None


class Rescue(msgspec.Struct, frozen=True):
    """`rescue A, B => target`: without classes it catches every StandardError."""

    classes: tuple[Node, ...]
    target: Node | None
    body: Node


class Begin(Node, frozen=True):
    """`begin … rescue … else … ensure … end`."""

    body: Node
    rescues: tuple[Rescue, ...]
    otherwise: Node | None = None
    ensure: Node | None = None


class Sequence(Node, frozen=True):
    statements: tuple[Node, ...]
