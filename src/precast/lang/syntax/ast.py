"""The tree of a Puppet program: frozen nodes, each with its place in the text, without logic.

Nodes have the names of Puppet's own model, so that readers who know Puppet find them. A pass over the tree is one module with one
dispatch on `type(node)`. Spans refer to the whole source file, also inside interpolation, heredocs and EPP. The span of a definition
(class, define, function, node, type alias) is its header; the span of every other node covers all of it.

Names are as written, except that nested definitions have complete names: `class a { class b { } }` defines `a` and `a::b`. The
checker refuses defined names that begin with `::`.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from precast.base.spans import Source, Span

Form = Literal["regular", "virtual", "exported"]


class Node(Struct, frozen=True):
    """A node of the tree."""

    span: Span


# Literals


class LiteralUndef(Node, frozen=True):
    """`undef`."""


class LiteralDefault(Node, frozen=True):
    """`default`, as a value or as a case, selector or title."""


class LiteralBoolean(Node, frozen=True):
    value: bool


class LiteralInteger(Node, frozen=True):
    value: int
    radix: int


class LiteralFloat(Node, frozen=True):
    value: float


class LiteralString(Node, frozen=True):
    value: str


class LiteralRegexp(Node, frozen=True):
    """The pattern between the slashes, in Ruby's notation."""

    pattern: str


class QualifiedName(Node, frozen=True):
    """A bare word: a name in lower case, possibly with `::`. As a value it is a string."""

    value: str


class QualifiedReference(Node, frozen=True):
    """A name in upper case (`File`, `My::Type`), as written, without leading `::`: a type."""

    name: str


class ReservedWord(Node, frozen=True):
    """A word reserved for the future (`application`, `site`, `private`, …): an error wherever it is evaluated."""

    word: str


class ConcatenatedString(Node, frozen=True):
    """A string with interpolation: its value is the string form of all parts, joined."""

    parts: "tuple[Expression, ...]"


class Heredoc(Node, frozen=True):
    """A heredoc; `syntax` is the text after the colon of its tag, or empty."""

    syntax: str
    text: LiteralString | ConcatenatedString


class LiteralList(Node, frozen=True):
    elements: "tuple[Expression, ...]"


class KeyedEntry(Node, frozen=True):
    key: "Expression"
    value: "Expression"


class LiteralHash(Node, frozen=True):
    entries: tuple[KeyedEntry, ...]


class Variable(Node, frozen=True):
    """`$name`; digits for a match variable. The name keeps a leading `::`, which means only the top scope."""

    name: str


# Expressions


class Parenthesized(Node, frozen=True):
    expression: "Expression"


class Not(Node, frozen=True):
    operand: "Expression"


class Minus(Node, frozen=True):
    operand: "Expression"


class Splat(Node, frozen=True):
    """`*x`: the elements of an array, in place of one argument, element, case or title."""

    operand: "Expression"


class Arithmetic(Node, frozen=True):
    """`+ - * / % << >>`."""

    op: str
    left: "Expression"
    right: "Expression"


class Comparison(Node, frozen=True):
    """`== != < > <= >=`."""

    op: str
    left: "Expression"
    right: "Expression"


class Match(Node, frozen=True):
    """`=~ !~`."""

    op: str
    left: "Expression"
    right: "Expression"


class In(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class And(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class Or(Node, frozen=True):
    left: "Expression"
    right: "Expression"


class Assignment(Node, frozen=True):
    """`=`, and `+= -=` which are always an error. The checker has verified that the target can be assigned."""

    op: str
    target: "Expression"
    value: "Expression"


class Relationship(Node, frozen=True):
    """`-> ~> <- <~`, which group from the left: the value of `a -> b` is `b`."""

    op: str
    left: "Expression"
    right: "Expression"


class Access(Node, frozen=True):
    """`left[keys]`."""

    left: "Expression"
    keys: "tuple[Expression, ...]"


class Parameter(Node, frozen=True):
    """A parameter of a class, define, function, lambda or EPP template. `captures_rest` means `*$name`."""

    name: str
    type_expr: "Expression | None"
    default: "Expression | None"
    captures_rest: bool


class Lambda(Node, frozen=True):
    parameters: tuple[Parameter, ...]
    return_type: "Expression | None"
    body: "Block"


class Call(Node, frozen=True):
    """`name(…)`, `name …` as a statement, or `Type(…)`, which means `Type.new(…)`; the functor tells which."""

    functor: "Expression"
    arguments: "tuple[Expression, ...]"
    block: Lambda | None
    is_statement: bool


class CallMethod(Node, frozen=True):
    """`receiver.name(…)`."""

    receiver: "Expression"
    name: str
    arguments: "tuple[Expression, ...]"
    block: Lambda | None


class If(Node, frozen=True):
    """`elsif` is an If in `otherwise`."""

    condition: "Expression"
    then: "Block"
    otherwise: "Block | If | None"


class Unless(Node, frozen=True):
    condition: "Expression"
    then: "Block"
    otherwise: "Block | None"


class CaseOption(Node, frozen=True):
    values: "tuple[Expression, ...]"
    body: "Block"


class Case(Node, frozen=True):
    subject: "Expression"
    options: tuple[CaseOption, ...]


class SelectorEntry(Node, frozen=True):
    matching: "Expression"
    value: "Expression"


class Selector(Node, frozen=True):
    """`subject ? { … }`."""

    subject: "Expression"
    entries: tuple[SelectorEntry, ...]


class Block(Node, frozen=True):
    """Statements in order; the value is that of the last one, undef if there are none."""

    statements: "tuple[Expression, ...]"


# Resources


class AttributeOp(Node, frozen=True):
    """`name => value` or `name +> value`; the span is that of the name."""

    name: str
    op: str
    value: "Expression"


class AttributesOp(Node, frozen=True):
    """`* => hash`."""

    value: "Expression"


Operation: TypeAlias = AttributeOp | AttributesOp


class ResourceBody(Node, frozen=True):
    """One `title: attributes`; the title may be an array or `default`; its span is that of the title."""

    title: "Expression"
    operations: tuple[Operation, ...]


class Resource(Node, frozen=True):
    """`type { title: … }`; the type name is an expression that gives a name or a type (`file`, `'file'`, `$t`, `File`)."""

    form: Form
    type_name: "Expression"
    bodies: tuple[ResourceBody, ...]


class ResourceDefaults(Node, frozen=True):
    """`File { mode => … }`."""

    form: Form
    type_ref: "Expression"
    operations: tuple[Operation, ...]


class ResourceOverride(Node, frozen=True):
    """`File['/x'] { mode => … }`."""

    form: Form
    resources: "Expression"
    operations: tuple[Operation, ...]


class Collector(Node, frozen=True):
    """`File <| query |>` (virtual) or `File <<| query |>>` (exported).

    The query is an ordinary expression of `==`, `!=`, `and`, `or` and parentheses; None collects everything.
    """

    form: Form
    type_expr: "Expression"
    query: "Expression | None"
    operations: tuple[Operation, ...]


# Definitions


class HostClassDefinition(Node, frozen=True):
    name: str
    parameters: tuple[Parameter, ...]
    parent: str | None
    body: Block


class ResourceTypeDefinition(Node, frozen=True):
    """`define`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block


class NodeDefinition(Node, frozen=True):
    """Matches are LiteralString, ConcatenatedString, LiteralRegexp or LiteralDefault; dotted names are LiteralString."""

    matches: "tuple[Expression, ...]"
    parent: "Expression | None"
    body: Block


class FunctionDefinition(Node, frozen=True):
    name: str
    parameters: tuple[Parameter, ...]
    return_type: "Expression | None"
    body: Block


class PlanDefinition(Node, frozen=True):
    """A Bolt plan: only its name is stored, because plans in the Puppet language are not supported."""

    name: str


class TypeAliasDefinition(Node, frozen=True):
    """`type Name = expression`."""

    name: str
    type_expr: "Expression"


class TypeDefinition(Node, frozen=True):
    """`type Name inherits Parent { … }`, reserved in Puppet and never evaluated."""

    name: str
    parent: str | None


class TypeMapping(Node, frozen=True):
    """`type Runtime[…] = expression`."""

    type_expr: "Expression"
    mapping: "Expression"


Definition: TypeAlias = (
    HostClassDefinition
    | ResourceTypeDefinition
    | NodeDefinition
    | FunctionDefinition
    | PlanDefinition
    | TypeAliasDefinition
    | TypeDefinition
    | TypeMapping
)


# EPP


class RenderString(Node, frozen=True):
    """Text of a template, output as it is."""

    value: str


class RenderExpr(Node, frozen=True):
    """`<%= expression %>`."""

    expression: "Expression"


class EppExpression(Node, frozen=True):
    """A template; `parameters` is None if it declares none, and then it sees the caller's variables."""

    parameters: tuple[Parameter, ...] | None
    body: Block


# The parser accepts any node as an expression; the checker refuses invalid ones with a better message.
Expression: TypeAlias = Node


class Suspicion(Node, frozen=True):
    """A warning that Puppet gives while it reads the text."""

    message: str


class Program(Node, frozen=True):
    """A whole file. `definitions` are all of its definitions in the order of the text, nested ones too; `body` contains them as well."""

    source: Source
    body: Block | EppExpression
    definitions: tuple[Definition, ...]
    warnings: tuple[Suspicion, ...]
